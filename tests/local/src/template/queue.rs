//! `AWS::SQS::Queue`, with the defaults and ranges of
//! [the resource](https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-sqs-queue.html).

use std::ops::RangeInclusive;

use serde_json::Value;

use super::intrinsics::{ACCOUNT, REGION};
use super::{Place, TemplateError, invalid};

/// Where queues are in the local cloud. Only a URL's last segment counts.
pub(crate) const QUEUE_HOST: &str = "http://sqs.local";

/// An `AWS::SQS::Queue`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// The resource's name in the template, as in `EventsQueue`.
    pub logical_id: String,
    /// Its name here: the logical id without `Queue`, and `.fifo` if it is one.
    pub name: String,
    /// Whether the messages of a group keep their order.
    pub fifo: bool,
    /// Whether a message without a deduplication id has its body's hash for it.
    pub content_based_deduplication: bool,
    /// How long a message is hidden once it was received.
    pub visibility_timeout_s: u32,
    /// How long a message is kept.
    pub retention_s: u32,
    /// How long a message is hidden after it was sent.
    pub delay_s: u32,
    /// The largest message, its attributes included.
    pub maximum_message_bytes: u32,
    /// How long a receiver waits who does not say.
    pub receive_wait_s: u32,
    /// Where a deduplication id counts.
    pub deduplication_scope: DeduplicationScope,
    /// Where the limit of the rate counts.
    pub fifo_throughput_limit: FifoThroughputLimit,
    /// What becomes of a message that nobody can do anything with.
    pub redrive: Option<Redrive>,
}

/// Where a deduplication id counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeduplicationScope {
    /// In the whole queue.
    Queue,
    /// In a message's group.
    MessageGroup,
}

/// Where the limit of a FIFO queue's rate counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FifoThroughputLimit {
    /// In the whole queue.
    PerQueue,
    /// In a message's group.
    PerMessageGroupId,
}

/// A `RedrivePolicy`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redrive {
    /// The name of the queue that takes it.
    pub dead_letter_queue: String,
    /// How many times it is received before.
    pub max_receive_count: u32,
}

/// The physical name of a queue.
pub(super) fn queue_name(logical_id: &str, fifo: bool) -> String {
    let name = logical_id.strip_suffix("Queue").unwrap_or(logical_id);
    let suffix = if fifo { ".fifo" } else { "" };
    format!("{name}{suffix}")
}

/// Whether a queue's properties make it a FIFO queue.
pub(super) fn is_fifo(properties: &Value) -> bool {
    properties["FifoQueue"] == true
}

/// What `!Ref` gives for a queue.
pub(crate) fn queue_url(name: &str) -> String {
    format!("{QUEUE_HOST}/{ACCOUNT}/{name}")
}

/// What `!GetAtt Queue.Arn` gives.
pub(crate) fn queue_arn(name: &str) -> String {
    format!("arn:aws:sqs:{REGION}:{ACCOUNT}:{name}")
}

/// Refuses queues whose dead letters have nowhere to go.
pub(super) fn check(queues: &[Queue]) -> Result<(), TemplateError> {
    for queue in queues {
        let Some(redrive) = &queue.redrive else {
            continue;
        };
        let other = queues.iter().find(|other| other.name == redrive.dead_letter_queue);
        let problem = match other {
            None => "expected deadLetterTargetArn: !GetAtt <a queue>.Arn",
            Some(other) if other.fifo != queue.fifo => {
                "the dead letters of a FIFO queue go to a FIFO queue, others to another"
            }
            Some(_) => continue,
        };
        let place = format!("Resources.{}.RedrivePolicy", queue.logical_id);
        return Err(invalid(place, problem));
    }
    Ok(())
}

impl Place<'_> {
    pub(super) fn queue(&self, properties: &Value) -> Result<Queue, TemplateError> {
        let fifo = is_fifo(properties);
        let number = |property: &str, default: u32, range: RangeInclusive<u32>| {
            self.number(property, &properties[property], default, range)
        };
        let queue = Queue {
            logical_id: self.logical_id.to_owned(),
            name: queue_name(self.logical_id, fifo),
            fifo,
            content_based_deduplication: properties["ContentBasedDeduplication"] == true,
            visibility_timeout_s: number("VisibilityTimeout", 30, 0..=43_200)?,
            retention_s: number("MessageRetentionPeriod", 345_600, 60..=1_209_600)?,
            delay_s: number("DelaySeconds", 0, 0..=900)?,
            maximum_message_bytes: number("MaximumMessageSize", 1_048_576, 1_024..=1_048_576)?,
            receive_wait_s: number("ReceiveMessageWaitTimeSeconds", 0, 0..=20)?,
            deduplication_scope: self.one_of(
                "DeduplicationScope",
                properties,
                [
                    ("queue", DeduplicationScope::Queue),
                    ("messageGroup", DeduplicationScope::MessageGroup),
                ],
            )?,
            fifo_throughput_limit: self.one_of(
                "FifoThroughputLimit",
                properties,
                [
                    ("perQueue", FifoThroughputLimit::PerQueue),
                    ("perMessageGroupId", FifoThroughputLimit::PerMessageGroupId),
                ],
            )?,
            redrive: self.redrive(&properties["RedrivePolicy"])?,
        };
        let per_group = queue.fifo_throughput_limit == FifoThroughputLimit::PerMessageGroupId;
        if per_group && queue.deduplication_scope == DeduplicationScope::Queue {
            let problem = "perMessageGroupId needs DeduplicationScope: messageGroup";
            return Err(self.invalid("FifoThroughputLimit", problem));
        }
        Ok(queue)
    }

    fn redrive(&self, policy: &Value) -> Result<Option<Redrive>, TemplateError> {
        let policy = self.resolve("RedrivePolicy", policy)?;
        if policy.is_null() {
            return Ok(None);
        }
        let arn = policy["deadLetterTargetArn"].as_str().unwrap_or_default();
        let dead_letter_queue = arn.rsplit(':').next().unwrap_or_default().to_owned();
        let count = policy["maxReceiveCount"].as_u64().and_then(|count| count.try_into().ok());
        let max_receive_count = count.filter(|count| (1..=1_000).contains(count));
        let max_receive_count = max_receive_count.ok_or_else(|| {
            self.invalid("RedrivePolicy", "expected maxReceiveCount from 1 to 1,000")
        })?;
        Ok(Some(Redrive { dead_letter_queue, max_receive_count }))
    }

    fn number(
        &self,
        property: &str,
        value: &Value,
        default: u32,
        range: RangeInclusive<u32>,
    ) -> Result<u32, TemplateError> {
        let number = match self.resolve(property, value)? {
            Value::Null => Some(default),
            value => value.as_u64().and_then(|number| number.try_into().ok()),
        };
        number.filter(|number| range.contains(number)).ok_or_else(|| {
            let problem = format!("expected a number from {} to {}", range.start(), range.end());
            self.invalid(property, problem)
        })
    }

    /// One of two words; the first if there is none.
    fn one_of<T: Copy>(
        &self,
        property: &str,
        properties: &Value,
        words: [(&str, T); 2],
    ) -> Result<T, TemplateError> {
        let value = self.resolve(property, &properties[property])?;
        let [(first, default), (second, _)] = words;
        if value.is_null() {
            return Ok(default);
        }
        let known = words.iter().find(|(word, _)| value == *word);
        let problem = || self.invalid(property, format!("expected {first} or {second}"));
        known.map(|(_, meaning)| *meaning).ok_or_else(problem)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Template;
    use super::*;

    const SMALL: &str = "
Parameters:
  Most: { Type: Number, Default: 5 }
Resources:
  WorkQueue:
    Type: AWS::SQS::Queue
  EventsQueue:
    Type: AWS::SQS::Queue
    Properties:
      FifoQueue: true
      ContentBasedDeduplication: true
      DeduplicationScope: messageGroup
      FifoThroughputLimit: perMessageGroupId
      VisibilityTimeout: 90
      MessageRetentionPeriod: 1209600
      DelaySeconds: 1
      MaximumMessageSize: 2048
      ReceiveMessageWaitTimeSeconds: 20
      RedrivePolicy:
        deadLetterTargetArn: !GetAtt EventsDeadLetterQueue.Arn
        maxReceiveCount: !Ref Most
  EventsDeadLetterQueue:
    Type: AWS::SQS::Queue
    Properties: { FifoQueue: true }
";

    fn problem(from: &str, to: &str) -> String {
        assert!(SMALL.contains(from), "{from}");
        Template::parse(&SMALL.replace(from, to)).unwrap_err().to_string()
    }

    #[test]
    fn a_queue_has_what_the_template_says_and_the_defaults() {
        let queues = Template::parse(SMALL).unwrap().queues;
        let find = |name: &str| queues.iter().find(|queue| queue.name == name).unwrap();
        let work = Queue {
            logical_id: "WorkQueue".to_owned(),
            name: "Work".to_owned(),
            fifo: false,
            content_based_deduplication: false,
            visibility_timeout_s: 30,
            retention_s: 4 * 24 * 60 * 60,
            delay_s: 0,
            maximum_message_bytes: 1024 * 1024,
            receive_wait_s: 0,
            deduplication_scope: DeduplicationScope::Queue,
            fifo_throughput_limit: FifoThroughputLimit::PerQueue,
            redrive: None,
        };
        assert_eq!(find("Work"), &work);
        let events = Queue {
            logical_id: "EventsQueue".to_owned(),
            name: "Events.fifo".to_owned(),
            fifo: true,
            content_based_deduplication: true,
            visibility_timeout_s: 90,
            retention_s: 14 * 24 * 60 * 60,
            delay_s: 1,
            maximum_message_bytes: 2048,
            receive_wait_s: 20,
            deduplication_scope: DeduplicationScope::MessageGroup,
            fifo_throughput_limit: FifoThroughputLimit::PerMessageGroupId,
            redrive: Some(Redrive {
                dead_letter_queue: "EventsDeadLetter.fifo".to_owned(),
                max_receive_count: 5,
            }),
        };
        assert_eq!(find("Events.fifo"), &events);
    }

    #[test]
    fn what_is_no_setting_of_a_queue_is_named_with_its_place() {
        let high = problem("VisibilityTimeout: 90", "VisibilityTimeout: 43201");
        assert!(high.contains("Resources.EventsQueue.VisibilityTimeout"), "{high}");
        assert!(problem("DelaySeconds: 1", "DelaySeconds: soon").contains("0 to 900"));
        assert!(problem("DeduplicationScope: messageGroup", "").contains("FifoThroughputLimit"));
        assert!(problem("Scope: messageGroup", "Scope: group").contains("queue or messageGroup"));
        assert!(problem("maxReceiveCount: !Ref Most", "").contains("maxReceiveCount"));
        let elsewhere = problem("!GetAtt EventsDeadLetterQueue.Arn", "here");
        assert!(elsewhere.contains("Resources.EventsQueue.RedrivePolicy"), "{elsewhere}");
        let standard = problem("!GetAtt EventsDeadLetterQueue.Arn", "!GetAtt WorkQueue.Arn");
        assert!(standard.contains("go to a FIFO queue"), "{standard}");
    }
}
