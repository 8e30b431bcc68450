//! SQS as hotseat uses it: batches in, batches out, and nothing taken for sent
//! that was not.
//!
//! Calls are not repeated here: whoever sends is itself an event source's
//! function and comes again, and a message sent twice is known by its
//! deduplication id.

use aws_sdk_sqs::error::DisplayErrorContext;
use aws_sdk_sqs::types::{
    ChangeMessageVisibilityBatchRequestEntry, DeleteMessageBatchRequestEntry,
    MessageSystemAttributeName, QueueAttributeName, SendMessageBatchRequestEntry,
};

use serde::Serialize;

use crate::app::App;
use crate::clock::Instant;
use crate::problem::Problem;

/// Messages in one `SendMessageBatch` or `ReceiveMessage`
/// ([quotas](https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html)).
pub const BATCH: usize = 10;

/// A queue, by the environment variable that holds its URL.
#[derive(Clone, Copy, Debug)]
pub struct QueueName(pub &'static str);

/// A message to send to a FIFO queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Order holds within a group.
    pub group: String,
    /// Known for five minutes: a second message with it is not kept.
    pub deduplication_id: String,
    /// What is sent.
    pub body: String,
}

impl Entry {
    /// A message with `value` in JSON.
    pub fn json(
        group: String,
        deduplication_id: String,
        value: &impl Serialize,
    ) -> Result<Self, serde_json::Error> {
        // The two characters that XML has not, and so no message may hold; in
        // JSON they can stand in strings only, where they may be escaped.
        let body = serde_json::to_string(value)?;
        let body = body.replace('\u{FFFE}', "\\ufffe").replace('\u{FFFF}', "\\uffff");
        Ok(Self { group, deduplication_id, body })
    }
}

/// A message of a batch that was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Untaken {
    /// Its place in the batch.
    pub place: usize,
    /// Whether it is the message's fault: it will not be taken later either.
    pub is_final: bool,
}

/// A message that was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// What was sent.
    pub body: String,
    /// Its id, which it keeps while it is in the queue.
    pub message_id: String,
    /// When it was sent.
    pub sent_at: Option<Instant>,
    receipt: String,
}

/// A call that failed. Messages may have been sent all the same.
#[derive(Debug, thiserror::Error)]
#[error("{operation}: {cause}")]
pub struct QueueError {
    operation: &'static str,
    cause: String,
}

impl From<QueueError> for Problem {
    fn from(error: QueueError) -> Self {
        Self::busy(error)
    }
}

/// A queue, and the App that calls it.
#[derive(Clone, Copy)]
pub struct Queue<'a> {
    client: &'a aws_sdk_sqs::Client,
    url: &'a str,
}

impl<'a> Queue<'a> {
    pub(crate) fn new(app: &'a App, QueueName(setting): QueueName) -> Result<Self, Problem> {
        let url = app.setting(setting);
        let missing = || Problem::internal(format!("no queue: set {setting} to its URL"));
        Ok(Self { client: &app.clients.sqs, url: url.ok_or_else(missing)? })
    }

    /// Sends at most [`BATCH`] messages, and says which were not taken. A failed
    /// call means that any of them may have been.
    pub async fn send(&self, entries: &[Entry]) -> Result<Vec<Untaken>, QueueError> {
        const OPERATION: &str = "SendMessageBatch";
        let batch = entries.iter().enumerate().map(|(place, entry)| {
            SendMessageBatchRequestEntry::builder()
                .id(place.to_string())
                .message_group_id(&entry.group)
                .message_deduplication_id(&entry.deduplication_id)
                .message_body(&entry.body)
                .build()
                .map_err(|error| QueueError { operation: OPERATION, cause: error.to_string() })
        });
        let batch = batch.collect::<Result<Vec<_>, _>>()?;
        let sent = self.client.send_message_batch().queue_url(self.url).set_entries(Some(batch));
        let sent = sent.send().await.map_err(failed(OPERATION))?;
        let failures = sent.failed.iter().map(|failure| {
            tracing::warn!(code = failure.code, cause = failure.message, "a message was refused");
            let place = failure.id.parse().map_err(|_| QueueError {
                operation: OPERATION,
                cause: format!("the unknown id {}", failure.id),
            })?;
            Ok(Untaken { place, is_final: failure.sender_fault })
        });
        failures.collect()
    }

    /// Up to [`BATCH`] messages, which nobody else gets for `hidden_s` seconds.
    pub async fn receive(&self, hidden_s: i32) -> Result<Vec<Received>, QueueError> {
        let received = self
            .client
            .receive_message()
            .queue_url(self.url)
            .max_number_of_messages(i32::try_from(BATCH).unwrap_or(10))
            .visibility_timeout(hidden_s)
            .message_system_attribute_names(MessageSystemAttributeName::SentTimestamp)
            .send()
            .await
            .map_err(failed("ReceiveMessage"))?;
        let messages = received.messages.unwrap_or_default().into_iter().map(|message| {
            let attributes = message.attributes.unwrap_or_default();
            let sent_at = attributes.get(&MessageSystemAttributeName::SentTimestamp);
            Received {
                body: message.body.unwrap_or_default(),
                message_id: message.message_id.unwrap_or_default(),
                sent_at: sent_at.and_then(|ms| ms.parse().ok()).map(Instant::from_millis),
                receipt: message.receipt_handle.unwrap_or_default(),
            }
        });
        Ok(messages.collect())
    }

    /// Removes messages that were received: at most [`BATCH`].
    pub async fn delete(&self, messages: &[Received]) -> Result<(), QueueError> {
        const OPERATION: &str = "DeleteMessageBatch";
        let batch = messages.iter().enumerate().map(|(place, message)| {
            DeleteMessageBatchRequestEntry::builder()
                .id(place.to_string())
                .receipt_handle(&message.receipt)
                .build()
                .map_err(|error| QueueError { operation: OPERATION, cause: error.to_string() })
        });
        let batch = batch.collect::<Result<Vec<_>, _>>()?;
        let sent = self.client.delete_message_batch().queue_url(self.url).set_entries(Some(batch));
        let deleted = sent.send().await.map_err(failed(OPERATION))?;
        match deleted.failed.first() {
            None => Ok(()),
            Some(failure) => Err(QueueError { operation: OPERATION, cause: failure.code.clone() }),
        }
    }

    /// Shows messages again that were received, to whoever asks next: at most
    /// [`BATCH`].
    pub async fn give_back(&self, messages: &[Received]) -> Result<(), QueueError> {
        const OPERATION: &str = "ChangeMessageVisibilityBatch";
        let batch = messages.iter().enumerate().map(|(place, message)| {
            ChangeMessageVisibilityBatchRequestEntry::builder()
                .id(place.to_string())
                .receipt_handle(&message.receipt)
                .visibility_timeout(0)
                .build()
                .map_err(|error| QueueError { operation: OPERATION, cause: error.to_string() })
        });
        let batch = batch.collect::<Result<Vec<_>, _>>()?;
        let sent = self.client.change_message_visibility_batch().queue_url(self.url);
        let changed = sent.set_entries(Some(batch)).send().await.map_err(failed(OPERATION))?;
        match changed.failed.first() {
            None => Ok(()),
            Some(failure) => Err(QueueError { operation: OPERATION, cause: failure.code.clone() }),
        }
    }

    /// About how many messages there are, hidden ones included.
    pub async fn count(&self) -> Result<u64, QueueError> {
        use QueueAttributeName::{
            ApproximateNumberOfMessages, ApproximateNumberOfMessagesDelayed,
            ApproximateNumberOfMessagesNotVisible,
        };
        let counts = [
            ApproximateNumberOfMessages,
            ApproximateNumberOfMessagesDelayed,
            ApproximateNumberOfMessagesNotVisible,
        ];
        let sent = self.client.get_queue_attributes().queue_url(self.url);
        let sent = sent.set_attribute_names(Some(counts.to_vec())).send().await;
        let attributes = sent.map_err(failed("GetQueueAttributes"))?.attributes.unwrap_or_default();
        Ok(counts.iter().filter_map(|name| attributes.get(name)?.parse::<u64>().ok()).sum())
    }
}

fn failed<E, R>(
    operation: &'static str,
) -> impl FnOnce(aws_sdk_sqs::error::SdkError<E, R>) -> QueueError
where
    E: std::error::Error + 'static,
    R: std::fmt::Debug,
{
    move |error| QueueError { operation, cause: DisplayErrorContext(error).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_holds_no_character_that_a_message_may_not_and_reads_the_same() {
        let text = "a\u{FFFE}b\u{FFFF}c\u{FFFD}\u{10FFFF}\0\"\\ufffe";
        let entry = Entry::json("g".into(), "d".into(), &text).unwrap();
        let allowed = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..);
        assert!(entry.body.chars().all(allowed), "{}", entry.body);
        assert_eq!(serde_json::from_str::<String>(&entry.body).unwrap(), text);
    }
}
