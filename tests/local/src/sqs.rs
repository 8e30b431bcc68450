//! SQS on this machine: standard and FIFO queues in one SQLite database.
//!
//! | operation | what is not as in the service |
//! |---|---|
//! | `SendMessage`, `SendMessageBatch` | no limit of the rate |
//! | `ReceiveMessage` | a standard queue gives each message once and in order; no limit of messages in flight |
//! | `DeleteMessage`, `ChangeMessageVisibility` and their batches | no limit of 12 hours for one receipt |
//! | `GetQueueAttributes` | the counts are exact |
//! | `GetQueueUrl`, `ListQueues`, `ListDeadLetterSourceQueues` | only a URL's last segment counts |
//! | `PurgeQueue` | at once, and as often as one likes |
//! | `StartMessageMoveTask` | done when it is answered |
//!
//! Everything else is `UnsupportedOperation`: queues are made by the template.
//! Time comes from the clock of the cloud; only a long poll waits on the runtime.

mod calls;
mod content;
mod database;
mod deduplication;
mod error;
mod groups;
mod receipt;
mod store;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use platform::clock::{Clock, Instant};
use rusqlite::Connection;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::dynamodb::StorageError;
use crate::link::{Answer, Call, Link, Lost};
use crate::template::{self, Queue};
use store::{Store, Stored, Taken, Wish};

pub(crate) use error::{QUERY_ERROR, QueueError, error, failed_entry, query_error};

/// Whether an operation's answer names queues by their URLs.
pub(crate) fn names_queues(operation: &str) -> bool {
    matches!(operation, "GetQueueUrl" | "ListQueues" | "ListDeadLetterSourceQueues")
}

/// An answer that names queues, with URLs at `host`.
pub(crate) fn at(host: &str, answer: &Answer) -> Answer {
    let body = String::from_utf8_lossy(&answer.body).replace(template::QUEUE_HOST, host);
    Answer { status: answer.status, body: body.into() }
}

/// Who sent every message, as `SenderId` tells.
const SENDER: &str = "local";

/// The queues of a cloud.
pub(crate) struct Queues {
    queues: BTreeMap<String, Queue>,
    database: Mutex<Connection>,
    attempts: calls::Attempts,
    clock: Clock,
    opened_at: Instant,
    /// Counts what changed.
    changes: watch::Sender<u64>,
}

/// A message that was received.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) message_id: String,
    pub(crate) receipt_handle: String,
    pub(crate) body: String,
    pub(crate) md5_of_body: String,
    /// What the queue says of it, as in `ApproximateReceiveCount`.
    pub(crate) attributes: BTreeMap<String, String>,
    /// What the sender says of it, as in
    /// `{"name": {"DataType": "String", "StringValue": "…"}}`.
    pub(crate) message_attributes: Value,
}

/// How much there is in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Depth {
    /// What can be received, in a FIFO queue also what waits for its turn.
    pub(crate) visible: u64,
    /// What was received and not deleted, and is hidden.
    pub(crate) in_flight: u64,
    /// What was sent and is not visible yet.
    pub(crate) delayed: u64,
    pub(crate) oldest_sent_at: Option<Instant>,
}

impl Queues {
    /// Opens the queues of a template. Messages in `data_dir` survive this
    /// process and a crash of it; without, they go when the queues are dropped.
    pub(crate) fn open(
        queues: &[template::Queue],
        clock: Clock,
        data_dir: Option<&Path>,
    ) -> Result<Self, StorageError> {
        let queues = queues.iter().map(|queue| (queue.name.clone(), queue.clone()));
        Ok(Self {
            queues: queues.collect(),
            database: Mutex::new(database::open(data_dir)?),
            attempts: calls::Attempts::default(),
            opened_at: clock.now(),
            clock,
            changes: watch::Sender::new(0),
        })
    }

    /// Up to `most` visible messages, hidden from now on for the queue's
    /// visibility time-out. What was received too many times already goes to
    /// the dead letters instead. A FIFO queue gives those of a group in order,
    /// and none of a group of which one is in flight.
    pub(crate) fn receive(&self, queue: &str, most: usize) -> Result<Vec<Received>, QueueError> {
        let queue = self.queue(queue)?;
        let wish = Wish { most, hidden_s: queue.visibility_timeout_s };
        let messages = self.take(queue, &wish)?.messages;
        Ok(messages.into_iter().map(|message| received(queue, message)).collect())
    }

    fn take(&self, queue: &Queue, wish: &Wish) -> Result<Taken, QueueError> {
        let redrive = queue.redrive.as_ref();
        let dead_letters = redrive.and_then(|to| self.queues.get(&to.dead_letter_queue));
        let taken = self.store(|store| store.receive(queue, dead_letters, wish))?;
        if taken.moved {
            self.tell();
        }
        Ok(taken)
    }

    /// Deletes a message that was received.
    pub(crate) fn delete(&self, queue: &str, receipt_handle: &str) -> Result<(), QueueError> {
        let queue = self.queue(queue)?;
        self.store(|store| store.delete(queue, receipt_handle))?;
        self.tell();
        Ok(())
    }

    /// A watch that sees when something was sent, deleted or made visible, on any
    /// queue, from now on.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// When the next hidden or delayed message of the queue becomes visible.
    pub(crate) fn next_visible_at(&self, queue: &str) -> Option<Instant> {
        let queue = self.queue(queue).ok()?;
        let next = self.store(|store| store.next_visible_at_ms(queue));
        next.ok().flatten().map(Instant::from_millis)
    }

    /// How much there is in a queue.
    pub(crate) fn depth(&self, queue: &str) -> Depth {
        let counts = self.queue(queue).and_then(|queue| self.store(|store| store.counts(queue)));
        let counts = counts.unwrap_or_default();
        Depth {
            visible: counts.visible,
            in_flight: counts.in_flight,
            delayed: counts.delayed,
            oldest_sent_at: counts.oldest_sent_at_ms.map(Instant::from_millis),
        }
    }

    /// The names of the queues.
    pub(crate) fn names(&self) -> Vec<String> {
        self.queues.keys().cloned().collect()
    }

    /// The queues as the status page shows them.
    pub(crate) fn status(&self) -> Value {
        let now_ms = self.clock.now().as_millis();
        let status = self.queues.keys().map(|name| {
            let depth = self.depth(name);
            let age_ms = depth.oldest_sent_at.map(|at| now_ms - at.as_millis());
            let status = json!({
                "visible": depth.visible,
                "in_flight": depth.in_flight,
                "delayed": depth.delayed,
                "oldest_age_s": age_ms.map(|ms| ms / 1000),
            });
            (name.clone(), status)
        });
        Value::Object(status.collect())
    }

    /// The queues whose dead letters go to `dead_letters`.
    fn sources<'a>(&'a self, dead_letters: &'a Queue) -> impl Iterator<Item = &'a Queue> {
        self.queues.values().filter(|queue| {
            let redrive = queue.redrive.as_ref();
            redrive.is_some_and(|redrive| redrive.dead_letter_queue == dead_letters.name)
        })
    }

    fn queue(&self, name: &str) -> Result<&Queue, QueueError> {
        self.queues.get(name).ok_or(QueueError::QueueDoesNotExist)
    }

    /// Does `work` at one moment: all of it, or nothing if it fails.
    fn store<T>(
        &self,
        work: impl FnOnce(&Store<'_>) -> Result<T, QueueError>,
    ) -> Result<T, QueueError> {
        let mut database = self.database();
        let now_ms = self.clock.now().as_millis();
        let transaction = database.transaction()?;
        let done = work(&Store { connection: &transaction, now_ms })?;
        transaction.commit()?;
        Ok(done)
    }

    fn database(&self) -> MutexGuard<'_, Connection> {
        self.database.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes those who wait for a change.
    fn tell(&self) {
        self.changes.send_modify(|count| *count += 1);
    }
}

fn received(queue: &Queue, message: Stored) -> Received {
    let receipt_handle = message.receipt().to_handle(&queue.name);
    let attributes = attributes_of(queue, &message);
    let message_attributes = message.attributes.as_deref();
    let message_attributes = message_attributes.and_then(|text| serde_json::from_str(text).ok());
    Received {
        receipt_handle,
        attributes,
        message_attributes: message_attributes.unwrap_or_else(|| json!({})),
        message_id: message.message_id,
        body: message.body,
        md5_of_body: message.body_md5,
    }
}

/// What the queue says of a message
/// ([source](https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ReceiveMessage.html)).
fn attributes_of(queue: &Queue, message: &Stored) -> BTreeMap<String, String> {
    let receives = message.receives + message.receives_before;
    let first_received_at_ms = message.first_received_at_ms.map(|ms| ms.to_string());
    let source = message.dead_letter_of.as_deref().map(template::queue_arn);
    let sequence = queue.fifo.then(|| sequence_number(message.sequence));
    let attributes = [
        ("ApproximateFirstReceiveTimestamp", first_received_at_ms),
        ("ApproximateReceiveCount", Some(receives.to_string())),
        ("AWSTraceHeader", message.trace_header.clone()),
        ("DeadLetterQueueSourceArn", source),
        ("MessageDeduplicationId", message.deduplication_id.clone()),
        ("MessageGroupId", message.group.clone()),
        ("SenderId", Some(SENDER.to_owned())),
        ("SentTimestamp", Some(message.sent_at_ms.to_string())),
        ("SequenceNumber", sequence),
    ];
    let known = attributes.into_iter().filter_map(|(name, value)| Some((name, value?)));
    known.map(|(name, value)| (name.to_owned(), value)).collect()
}

/// A FIFO message's number. As text they sort as they came.
fn sequence_number(sequence: i64) -> String {
    format!("{sequence:020}")
}

impl Link for Queues {
    /// Runs on the caller's thread, as the database of DynamoDB does.
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Answer, Lost>> {
        Box::pin(async move {
            tokio::task::yield_now().await;
            let answered = calls::answer(self, &call.operation, &call.body).await;
            Ok(match answered {
                Ok(body) => Answer { status: 200, body: body.to_string().into() },
                Err(error) => error.to_answer(),
            })
        })
    }
}

impl std::fmt::Debug for Queues {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queues").field("names", &self.names()).finish()
    }
}
