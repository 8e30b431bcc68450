//! `SendMessage` and `SendMessageBatch`
//! ([source](https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html)).

use serde::Deserialize;
use serde_json::{Value, json};

use super::batch::Batch;
use super::{Queue, QueueError, Queues, Target, read, required, within};
use crate::sqs::content::{
    Attributes, check_attributes, check_id, check_text, digest, digest_of_attributes, size,
};
use crate::sqs::deduplication::content_id;
use crate::sqs::sequence_number;
use crate::sqs::store::{Outgoing, Store};

/// The most that all messages of a batch may hold.
const MOST_BATCH_BYTES: usize = 1_048_576;

const LONGEST_DELAY_S: u32 = 900;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Message {
    message_body: Option<String>,
    delay_seconds: Option<i64>,
    message_group_id: Option<String>,
    message_deduplication_id: Option<String>,
    #[serde(default)]
    message_attributes: Attributes,
    #[serde(default)]
    message_system_attributes: Attributes,
}

pub(super) fn one(queues: &Queues, body: &[u8]) -> Result<Value, QueueError> {
    let queue = read::<Target>(body)?.queue(queues)?;
    let message: Message = read(body)?;
    let result = queues.store(|store| message.send(store, queue))?;
    queues.tell();
    Ok(result)
}

pub(super) fn batch(queues: &Queues, body: &[u8]) -> Result<Value, QueueError> {
    let queue = read::<Target>(body)?.queue(queues)?;
    let batch: Batch<Message> = read(body)?;
    batch.check("SendMessageBatchRequestEntry")?;
    let sent = batch.entries.iter().map(|entry| entry.request.size()).sum();
    if sent > MOST_BATCH_BYTES {
        return Err(QueueError::BatchRequestTooLong { most: MOST_BATCH_BYTES, sent });
    }
    let result = queues.store(|store| batch.each(|message| message.send(store, queue)))?;
    queues.tell();
    Ok(result)
}

impl Message {
    fn size(&self) -> usize {
        size(self.message_body.as_deref().unwrap_or_default(), &self.message_attributes)
    }

    fn send(self, store: &Store<'_>, queue: &Queue) -> Result<Value, QueueError> {
        let md5_of_attributes = digest_of_attributes(&self.message_attributes);
        let md5_of_system_attributes = digest_of_attributes(&self.message_system_attributes);
        let outgoing = self.outgoing(queue)?;
        let md5_of_body = outgoing.body_md5.clone();
        let sent = store.send(queue, outgoing)?;
        let mut result = json!({ "MessageId": sent.message_id, "MD5OfMessageBody": md5_of_body });
        let optional = [
            ("MD5OfMessageAttributes", md5_of_attributes),
            ("MD5OfMessageSystemAttributes", md5_of_system_attributes),
            ("SequenceNumber", queue.fifo.then(|| sequence_number(sent.sequence))),
        ];
        for (name, value) in optional {
            if let Some(value) = value {
                result[name] = json!(value);
            }
        }
        Ok(result)
    }

    /// The message to send, once nothing is wrong with it.
    fn outgoing(self, queue: &Queue) -> Result<Outgoing, QueueError> {
        let most = queue.maximum_message_bytes;
        if self.size() > most as usize {
            let reason = "One or more parameters are invalid. Reason: Message must be shorter than";
            return Err(QueueError::InvalidParameterValue(format!("{reason} {most} bytes.")));
        }
        let trace_header = self.trace_header()?;
        check_attributes(&self.message_attributes)?;
        let delay_s = delay(queue, self.delay_seconds)?;
        let group = group(queue, self.message_group_id)?;
        let body = required("MessageBody", self.message_body)?;
        check_text(&body)?;
        let deduplication_id = deduplication_id(queue, self.message_deduplication_id, &body)?;
        let attributes = &self.message_attributes;
        let attributes = (!attributes.is_empty()).then(|| serde_json::to_string(attributes));
        Ok(Outgoing {
            message_id: message_id(),
            group,
            deduplication_id,
            body_md5: digest(&body),
            body,
            attributes: attributes.transpose()?,
            trace_header,
            delay_s,
        })
    }

    /// The one system attribute that a sender may set.
    fn trace_header(&self) -> Result<Option<String>, QueueError> {
        for name in self.message_system_attributes.keys() {
            if name != "AWSTraceHeader" {
                let reason = format!("Message system attribute name '{name}' is invalid.");
                return Err(QueueError::InvalidParameterValue(reason));
            }
        }
        let header = self.message_system_attributes.get("AWSTraceHeader");
        Ok(header.and_then(|header| header.string_value.clone()))
    }
}

/// A message's id: a UUID.
pub(super) fn message_id() -> String {
    uuid::Builder::from_random_bytes(fastrand::u128(..).to_be_bytes()).into_uuid().to_string()
}

/// How long a message is hidden. A FIFO queue delays all of them or none.
fn delay(queue: &Queue, delay_s: Option<i64>) -> Result<u32, QueueError> {
    match delay_s {
        None => Ok(queue.delay_s),
        Some(delay_s) if queue.fifo && delay_s != 0 => {
            Err(QueueError::not_for_this_queue("DelaySeconds", delay_s))
        }
        Some(_) if queue.fifo => Ok(queue.delay_s),
        Some(delay_s) => within("DelaySeconds", delay_s, 0, LONGEST_DELAY_S),
    }
}

fn group(queue: &Queue, group: Option<String>) -> Result<Option<String>, QueueError> {
    match group {
        Some(group) => {
            check_id("MessageGroupId", &group)?;
            Ok(Some(group))
        }
        None if queue.fifo => Err(QueueError::MissingParameter("MessageGroupId")),
        None => Ok(None),
    }
}

fn deduplication_id(
    queue: &Queue,
    id: Option<String>,
    body: &str,
) -> Result<Option<String>, QueueError> {
    match id {
        Some(id) if !queue.fifo => {
            Err(QueueError::not_for_this_queue("MessageDeduplicationId", id))
        }
        Some(id) => {
            check_id("MessageDeduplicationId", &id)?;
            Ok(Some(id))
        }
        None if !queue.fifo => Ok(None),
        None if queue.content_based_deduplication => Ok(Some(content_id(body))),
        None => Err(QueueError::InvalidParameterValue(
            "The queue should either have ContentBasedDeduplication enabled or \
             MessageDeduplicationId provided explicitly"
                .to_owned(),
        )),
    }
}
