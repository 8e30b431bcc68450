//! Calls about queues: their attributes, their URLs, and emptying one.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Queue, QueueError, Queues, Target, read, required, within};
use crate::template::{DeduplicationScope, FifoThroughputLimit, queue_arn, queue_url};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Attributes {
    #[serde(default)]
    attribute_names: Vec<String>,
}

/// `GetQueueAttributes`.
pub(super) fn attributes(queues: &Queues, body: &[u8]) -> Result<Value, QueueError> {
    let queue = read::<Target>(body)?.queue(queues)?;
    let wanted: Attributes = read(body)?;
    let all = all_attributes(queues, queue)?;
    let mut found = Map::new();
    for name in wanted.attribute_names {
        if name == "All" {
            found.extend(all.clone().into_iter().filter(|(_, value)| !value.is_null()));
            continue;
        }
        let value = all.get(&name).ok_or_else(|| QueueError::InvalidAttributeName(name.clone()))?;
        if !value.is_null() {
            found.insert(name, value.clone());
        }
    }
    Ok(json!({ "Attributes": found }))
}

/// Every attribute, in text; null for one that this queue has not.
fn all_attributes(queues: &Queues, queue: &Queue) -> Result<Map<String, Value>, QueueError> {
    let counts = queues.store(|store| store.counts(queue))?;
    let opened_at = queues.opened_at.as_seconds().to_string();
    let redrive = queue.redrive.as_ref().map(|redrive| {
        let target = queue_arn(&redrive.dead_letter_queue);
        json!({ "deadLetterTargetArn": target, "maxReceiveCount": redrive.max_receive_count })
    });
    let scope = match queue.deduplication_scope {
        DeduplicationScope::Queue => "queue",
        DeduplicationScope::MessageGroup => "messageGroup",
    };
    let limit = match queue.fifo_throughput_limit {
        FifoThroughputLimit::PerQueue => "perQueue",
        FifoThroughputLimit::PerMessageGroupId => "perMessageGroupId",
    };
    let of_fifo = |value: &str| queue.fifo.then(|| value.to_owned());
    let attributes = [
        ("ApproximateNumberOfMessages", Some(counts.visible.to_string())),
        ("ApproximateNumberOfMessagesDelayed", Some(counts.delayed.to_string())),
        ("ApproximateNumberOfMessagesNotVisible", Some(counts.in_flight.to_string())),
        ("ContentBasedDeduplication", of_fifo(&queue.content_based_deduplication.to_string())),
        ("CreatedTimestamp", Some(opened_at.clone())),
        ("DeduplicationScope", of_fifo(scope)),
        ("DelaySeconds", Some(queue.delay_s.to_string())),
        ("FifoQueue", of_fifo("true")),
        ("FifoThroughputLimit", of_fifo(limit)),
        ("KmsDataKeyReusePeriodSeconds", None),
        ("KmsMasterKeyId", None),
        ("LastModifiedTimestamp", Some(opened_at)),
        ("MaximumMessageSize", Some(queue.maximum_message_bytes.to_string())),
        ("MessageRetentionPeriod", Some(queue.retention_s.to_string())),
        ("Policy", None),
        ("QueueArn", Some(queue_arn(&queue.name))),
        ("ReceiveMessageWaitTimeSeconds", Some(queue.receive_wait_s.to_string())),
        ("RedriveAllowPolicy", None),
        ("RedrivePolicy", redrive.map(|redrive| redrive.to_string())),
        ("SqsManagedSseEnabled", Some("true".to_owned())),
        ("VisibilityTimeout", Some(queue.visibility_timeout_s.to_string())),
    ];
    Ok(attributes.into_iter().map(|(name, value)| (name.to_owned(), json!(value))).collect())
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Named {
    queue_name: Option<String>,
}

/// `GetQueueUrl`.
pub(super) fn url(queues: &Queues, body: &[u8]) -> Result<Value, QueueError> {
    let name = required("QueueName", read::<Named>(body)?.queue_name)?;
    Ok(json!({ "QueueUrl": queue_url(&queues.queue(&name)?.name) }))
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Page {
    #[serde(default)]
    queue_name_prefix: String,
    max_results: Option<i64>,
    /// The name that the page before ended with.
    next_token: Option<String>,
}

impl Page {
    fn of(
        self,
        names: impl Iterator<Item = String>,
    ) -> Result<(Vec<String>, Option<String>), QueueError> {
        let most = self.max_results.map(|most| within("MaxResults", most, 1, 1_000));
        let most = most.transpose()?.unwrap_or(1_000) as usize;
        let after = self.next_token;
        let left = names.filter(|name| after.as_ref().is_none_or(|after| name > after));
        let mut page: Vec<_> =
            left.filter(|name| name.starts_with(&self.queue_name_prefix)).take(most + 1).collect();
        let more = page.len() > most;
        page.truncate(most);
        let next = page.last().cloned().filter(|_| more);
        Ok((page.iter().map(|name| queue_url(name)).collect(), next))
    }
}

/// `ListQueues`.
pub(super) fn list(queues: &Queues, body: &[u8]) -> Result<Value, QueueError> {
    let page: Page = read(body)?;
    let (urls, next) = page.of(queues.names().into_iter())?;
    Ok(json!({ "QueueUrls": urls, "NextToken": next }))
}

/// `ListDeadLetterSourceQueues`.
pub(super) fn list_sources(queues: &Queues, body: &[u8]) -> Result<Value, QueueError> {
    let queue = read::<Target>(body)?.queue(queues)?;
    let page: Page = read(body)?;
    let sources = queues.sources(queue).map(|source| source.name.clone());
    let (urls, next) = page.of(sources)?;
    Ok(json!({ "queueUrls": urls, "NextToken": next }))
}

/// `PurgeQueue`.
pub(super) fn purge(queues: &Queues, body: &[u8]) -> Result<Value, QueueError> {
    let queue = read::<Target>(body)?.queue(queues)?;
    queues.store(|store| store.purge(queue))?;
    queues.tell();
    Ok(json!({}))
}
