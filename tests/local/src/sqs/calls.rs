//! The JSON protocol: each call's request, and the response to it.

mod batch;
mod delete;
mod queue;
mod receive;
mod redrive;
mod send;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Queue, QueueError, Queues};

pub(super) use receive::Attempts;

/// Answers a call.
pub(super) async fn answer(
    queues: &Queues,
    operation: &str,
    body: &[u8],
) -> Result<Value, QueueError> {
    match operation {
        "SendMessage" => send::one(queues, body),
        "SendMessageBatch" => send::batch(queues, body),
        "ReceiveMessage" => receive::receive(queues, body).await,
        "DeleteMessage" => delete::one(queues, body),
        "DeleteMessageBatch" => delete::batch(queues, body),
        "ChangeMessageVisibility" => delete::hide(queues, body),
        "ChangeMessageVisibilityBatch" => delete::hide_batch(queues, body),
        "GetQueueAttributes" => queue::attributes(queues, body),
        "GetQueueUrl" => queue::url(queues, body),
        "ListQueues" => queue::list(queues, body),
        "ListDeadLetterSourceQueues" => queue::list_sources(queues, body),
        "PurgeQueue" => queue::purge(queues, body),
        "StartMessageMoveTask" => redrive::start(queues, body),
        other => Err(QueueError::UnsupportedOperation(other.to_owned())),
    }
}

/// Reads a request. An empty body is a request without parameters.
fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, QueueError> {
    let body = if body.is_empty() { b"{}" } else { body };
    Ok(serde_json::from_slice(body)?)
}

/// A parameter that must be there, and not empty.
fn required(name: &'static str, value: Option<String>) -> Result<String, QueueError> {
    value.filter(|value| !value.is_empty()).ok_or(QueueError::MissingParameter(name))
}

/// A number within its range.
fn within(name: &str, value: i64, least: u32, most: u32) -> Result<u32, QueueError> {
    let number = u32::try_from(value).ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| {
        let reason = format!("Must be between {least} and {most}, if provided.");
        QueueError::invalid(name, value, &reason)
    })
}

/// Which queue a call means.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Target {
    queue_url: Option<String>,
}

impl Target {
    /// The queue with the URL's last segment for its name, wherever the rest
    /// of the URL points.
    fn queue(self, queues: &Queues) -> Result<&Queue, QueueError> {
        let url = required("QueueUrl", self.queue_url)?;
        queues.queue(url.rsplit('/').next().unwrap_or_default())
    }
}
