//! `ReceiveMessage`
//! ([source](https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ReceiveMessage.html)).

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::delete::LONGEST_HIDDEN_S;
use super::{Queue, QueueError, Queues, Target, read, within};
use crate::sqs::content::{Attributes, check_id, digest_of_attributes};
use crate::sqs::receipt::Receipt;
use crate::sqs::store::{Stored, Wish};
use crate::sqs::{Received, received};

const MOST_MESSAGES: u32 = 10;
const LONGEST_WAIT_S: u32 = 20;

/// How long the id of an attempt counts.
const ATTEMPT_MS: i64 = 5 * 60 * 1000;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Receive {
    max_number_of_messages: Option<i64>,
    visibility_timeout: Option<i64>,
    wait_time_seconds: Option<i64>,
    /// The older name of the next one.
    #[serde(default)]
    attribute_names: Vec<String>,
    #[serde(default)]
    message_system_attribute_names: Vec<String>,
    #[serde(default)]
    message_attribute_names: Vec<String>,
    receive_request_attempt_id: Option<String>,
}

pub(super) async fn receive(queues: &Queues, body: &[u8]) -> Result<Value, QueueError> {
    let queue = read::<Target>(body)?.queue(queues)?;
    let receive: Receive = read(body)?;
    let most = receive.max_number_of_messages.unwrap_or(1);
    let most = within("MaxNumberOfMessages", most, 1, MOST_MESSAGES)?;
    let hidden_s = receive.visibility_timeout.unwrap_or(queue.visibility_timeout_s.into());
    let hidden_s = within("VisibilityTimeout", hidden_s, 0, LONGEST_HIDDEN_S)?;
    let wait_s = receive.wait_time_seconds.unwrap_or(queue.receive_wait_s.into());
    let wait_s = within("WaitTimeSeconds", wait_s, 0, LONGEST_WAIT_S)?;
    let wish = Wish { most: most as usize, hidden_s };
    let attempt = receive.receive_request_attempt_id.as_deref();
    if let Some(attempt) = attempt {
        if !queue.fifo {
            return Err(QueueError::not_for_this_queue("ReceiveRequestAttemptId", attempt));
        }
        check_id("ReceiveRequestAttemptId", attempt)?;
        if let Some(messages) = queues.attempts.again(queues, queue, attempt, &wish)? {
            return Ok(receive.response(queue, messages));
        }
    }
    let messages = wait(queues, queue, &wish, wait_s).await?;
    if let Some(attempt) = attempt {
        queues.attempts.remember(queues, queue, attempt, &messages);
    }
    Ok(receive.response(queue, messages))
}

/// Takes messages, as soon as there are any.
async fn wait(
    queues: &Queues,
    queue: &Queue,
    wish: &Wish,
    wait_s: u32,
) -> Result<Vec<Stored>, QueueError> {
    let until = Instant::now() + Duration::from_secs(wait_s.into());
    loop {
        let mut changes = queues.changes();
        let messages = queues.take(queue, wish)?.messages;
        if !messages.is_empty() || Instant::now() >= until {
            return Ok(messages);
        }
        let next = queues.next_visible_at(&queue.name);
        let next_ms = next.map(|at| at.as_millis() - queues.clock.now().as_millis());
        let next_ms = next_ms.map(|ms| u64::try_from(ms.max(1)).unwrap_or(1));
        let next = next_ms.map(|ms| Instant::now() + Duration::from_millis(ms));
        let next = next.map_or(until, |next| next.min(until));
        let _ = tokio::time::timeout_at(next, changes.changed()).await; // either way, look again
    }
}

impl Receive {
    fn response(&self, queue: &Queue, messages: Vec<Stored>) -> Value {
        if messages.is_empty() {
            return json!({});
        }
        let messages = messages.into_iter().map(|message| self.show(received(queue, message)));
        json!({ "Messages": messages.collect::<Vec<_>>() })
    }

    /// A message with those of its attributes that were asked for.
    fn show(&self, message: Received) -> Value {
        let mut shown = json!({
            "MessageId": message.message_id,
            "ReceiptHandle": message.receipt_handle,
            "Body": message.body,
            "MD5OfBody": message.md5_of_body,
        });
        let attributes = message.attributes.into_iter().filter(|(name, _)| self.wants(name));
        let attributes: Map<_, _> = attributes.map(|(name, value)| (name, json!(value))).collect();
        if !attributes.is_empty() {
            shown["Attributes"] = Value::Object(attributes);
        }
        let attributes = serde_json::from_value(message.message_attributes);
        let mut attributes: Attributes = attributes.unwrap_or_default();
        attributes.retain(|name, _| self.wants_attribute(name));
        if let Some(digest) = digest_of_attributes(&attributes) {
            shown["MessageAttributes"] = json!(attributes);
            shown["MD5OfMessageAttributes"] = json!(digest);
        }
        shown
    }

    fn wants(&self, name: &str) -> bool {
        let names = self.attribute_names.iter().chain(&self.message_system_attribute_names);
        names.into_iter().any(|wanted| wanted == "All" || wanted == name)
    }

    /// A sender's attributes are also asked for by what they begin with.
    fn wants_attribute(&self, name: &str) -> bool {
        self.message_attribute_names.iter().any(|wanted| match wanted.strip_suffix(".*") {
            Some(prefix) => name.starts_with(prefix),
            None => wanted == "All" || wanted == name,
        })
    }
}

/// What was given to attempts that had an id: who did not hear the answer asks
/// again under it and gets the same.
#[derive(Debug, Default)]
pub(in crate::sqs) struct Attempts(Mutex<HashMap<(String, String), Given>>);

#[derive(Debug)]
struct Given {
    at_ms: i64,
    receipts: Vec<Receipt>,
}

impl Attempts {
    fn known(&self) -> MutexGuard<'_, HashMap<(String, String), Given>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remember(&self, queues: &Queues, queue: &Queue, id: &str, messages: &[Stored]) {
        if messages.is_empty() {
            return;
        }
        let receipts = messages.iter().map(Stored::receipt).collect();
        let given = Given { at_ms: queues.clock.now().as_millis(), receipts };
        self.known().insert((queue.name.clone(), id.to_owned()), given);
    }

    /// What was given to the attempt before, hidden anew, if all of it is still
    /// in flight.
    fn again(
        &self,
        queues: &Queues,
        queue: &Queue,
        id: &str,
        wish: &Wish,
    ) -> Result<Option<Vec<Stored>>, QueueError> {
        let now_ms = queues.clock.now().as_millis();
        let receipts = {
            let mut known = self.known();
            known.retain(|_, given| now_ms - given.at_ms < ATTEMPT_MS);
            match known.get(&(queue.name.clone(), id.to_owned())) {
                Some(given) => given.receipts.clone(),
                None => return Ok(None),
            }
        };
        queues.store(|store| {
            let mut messages = Vec::new();
            for receipt in &receipts {
                match store.find(queue, receipt.sequence)? {
                    Some(message) if store.is_held(&message, receipt) => messages.push(message),
                    _ => return Ok(None),
                }
            }
            for message in &messages {
                store.hide_for(queue, message, wish.hidden_s)?;
            }
            Ok(Some(messages))
        })
    }
}
