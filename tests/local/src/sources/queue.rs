//! A function on a queue.
//!
//! What succeeded is deleted. What failed stays hidden until the queue's
//! visibility time-out is over, and the queue moves it to its dead letters when
//! it was received too often
//! ([error handling](https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html)).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use platform::clock::Instant;
use serde_json::{Map, Value, json};
use tokio::sync::watch;

use super::answer::{Verdict, judge};
use super::{Counts, Ground, Reader, Work};
use crate::pool::Pool;
use crate::sqs::{QueueError, Received};
use crate::template::{QueueSource, REGION, queue_arn};

/// Reads a queue for a function.
pub(super) struct QueueReader {
    name: String,
    rules: QueueSource,
    /// The most batches that run at once.
    most_at_once: usize,
    pool: Arc<Pool>,
    ground: Arc<Ground>,
    changes: watch::Receiver<u64>,
    /// Whether the next batch is handled and not deleted.
    crashes: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    running: usize,
    /// Since when messages wait for others to fill a batch.
    gathering_since: Option<Instant>,
    idle: Option<Idle>,
    counts: Counts,
}

/// How it was when there was nothing to receive.
#[derive(Clone, Copy)]
struct Idle {
    changes: u64,
    next_visible_at: Option<Instant>,
}

impl QueueReader {
    pub(super) fn new(rules: QueueSource, pool: Arc<Pool>, ground: Arc<Ground>) -> Self {
        let most_at_once = rules.most_at_once.unwrap_or(usize::MAX).min(pool.most());
        Self {
            name: format!("{} {}", pool.name(), rules.queue),
            changes: ground.queues.changes(),
            rules,
            most_at_once,
            pool,
            ground,
            crashes: AtomicBool::new(false),
            state: Mutex::default(),
        }
    }

    /// The next batch, if one can begin now.
    fn receive(&self, state: &mut State, now: Instant) -> Result<Vec<Received>, QueueError> {
        let queues = &self.ground.queues;
        loop {
            let changes = *self.changes.borrow();
            if state.running >= self.most_at_once || !self.may_have_more(state, changes, now) {
                return Ok(Vec::new());
            }
            if self.rules.window_ms > 0 && !self.has_gathered(state, changes, now) {
                return Ok(Vec::new());
            }
            let received = queues.receive(&self.rules.queue, self.rules.batch_size)?;
            state.gathering_since = None;
            if received.is_empty() {
                let next_visible_at = queues.next_visible_at(&self.rules.queue);
                state.idle = Some(Idle { changes, next_visible_at });
                return Ok(received);
            }
            let (wanted, others): (Vec<_>, Vec<_>) =
                received.into_iter().partition(|message| self.passes(message));
            state.counts.filtered += others.len() as u64;
            for message in others {
                self.delete(&message);
            }
            if !wanted.is_empty() {
                return Ok(wanted);
            }
        }
    }

    fn may_have_more(&self, state: &mut State, changes: u64, now: Instant) -> bool {
        let is_idle = state.idle.is_some_and(|idle| {
            idle.changes == changes && idle.next_visible_at.is_none_or(|at| now < at)
        });
        if !is_idle {
            state.idle = None;
        }
        !is_idle
    }

    /// Whether there are enough messages for a batch, or they have waited long
    /// enough.
    fn has_gathered(&self, state: &mut State, changes: u64, now: Instant) -> bool {
        let visible = self.ground.queues.depth(&self.rules.queue).visible;
        if visible == 0 {
            let next_visible_at = self.ground.queues.next_visible_at(&self.rules.queue);
            state.idle = Some(Idle { changes, next_visible_at });
            state.gathering_since = None;
            return false;
        }
        let since = *state.gathering_since.get_or_insert(now);
        visible >= self.rules.batch_size as u64 || since.plus_millis(self.rules.window_ms) <= now
    }

    /// Whether a message passes the filters. Its body counts as JSON, if it is
    /// some ([rules](https://docs.aws.amazon.com/lambda/latest/dg/with-sqs-filtering.html)).
    fn passes(&self, message: &Received) -> bool {
        if self.rules.filters.is_empty() {
            return true;
        }
        let mut record = self.record(message);
        if let Ok(body @ Value::Object(_)) = serde_json::from_str(&message.body) {
            record["body"] = body;
        }
        self.rules.filters.pass(&record)
    }

    /// Hands a batch over, and says whether all of it succeeded.
    async fn run(self: Arc<Self>, messages: Vec<Received>) -> bool {
        let records: Vec<_> = messages.iter().map(|message| self.record(message)).collect();
        let outcome = self.pool.invoke_event(json!({ "Records": records })).await;
        let place = |id: &str| messages.iter().position(|message| message.message_id == id);
        let (function, reports) = (self.pool.name(), self.rules.reports_failures);
        let verdict = judge(function, &outcome.response, reports, place);
        let is_lost = self.crashes.swap(false, Ordering::SeqCst) || self.ground.comes_again();
        if !is_lost {
            let failed = match &verdict {
                Verdict::Done => &[],
                Verdict::Partly(places) => places.as_slice(),
                Verdict::Failed => &Vec::from_iter(0..messages.len()),
            };
            for (_, message) in messages.iter().enumerate().filter(|(at, _)| !failed.contains(at)) {
                self.delete(message);
            }
        }
        let mut state = self.state();
        state.running -= 1;
        state.idle = None; // the rest of a group may be had now
        state.counts.record(messages.len(), verdict == Verdict::Done);
        verdict == Verdict::Done && !is_lost
    }

    fn delete(&self, message: &Received) {
        let deleted = self.ground.queues.delete(&self.rules.queue, &message.receipt_handle);
        if let Err(error) = deleted {
            tracing::error!(source = self.name, %error, "cannot delete a message");
        }
    }

    /// A message as Lambda hands it over
    /// ([example](https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html#example-standard-queue-message-event)).
    fn record(&self, message: &Received) -> Value {
        json!({
            "messageId": message.message_id,
            "receiptHandle": message.receipt_handle,
            "body": message.body,
            "attributes": message.attributes,
            "messageAttributes": message_attributes(&message.message_attributes),
            "md5OfBody": message.md5_of_body,
            "eventSource": "aws:sqs",
            "eventSourceARN": queue_arn(&self.rules.queue),
            "awsRegion": REGION,
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lambda has the sender's attributes in another form than the queue.
fn message_attributes(attributes: &Value) -> Map<String, Value> {
    let attributes = attributes.as_object().into_iter().flatten();
    let attributes = attributes.map(|(name, attribute)| {
        let mut fields = Map::from_iter([
            ("stringListValues".to_owned(), json!([])),
            ("binaryListValues".to_owned(), json!([])),
            ("dataType".to_owned(), attribute["DataType"].clone()),
        ]);
        for (from, to) in [("StringValue", "stringValue"), ("BinaryValue", "binaryValue")] {
            if let Some(value) = attribute.get(from) {
                fields.insert(to.to_owned(), value.clone());
            }
        }
        (name.clone(), Value::Object(fields))
    });
    attributes.collect()
}

impl Reader for QueueReader {
    fn name(&self) -> &str {
        &self.name
    }

    fn next(self: Arc<Self>) -> Option<Work> {
        let messages = {
            let mut state = self.state();
            let received = self.receive(&mut state, self.ground.clock.now());
            let messages = received
                .inspect_err(|error| {
                    tracing::error!(source = self.name, %error, "cannot receive messages");
                })
                .ok()
                .filter(|messages| !messages.is_empty())?;
            state.running += 1;
            messages
        };
        Some(Box::pin(self.run(messages)))
    }

    fn due_at(&self) -> Option<Instant> {
        let state = self.state();
        if state.running >= self.most_at_once {
            return None;
        }
        let window_ends = state.gathering_since.map(|at| at.plus_millis(self.rules.window_ms));
        let next_visible_at = state.idle.and_then(|idle| idle.next_visible_at);
        window_ends.into_iter().chain(next_visible_at).min()
    }

    fn changed(&self) -> BoxFuture<'static, ()> {
        let (mut changes, idle) = (self.changes.clone(), self.state().idle);
        let seen = idle.map_or_else(|| *changes.borrow(), |idle| idle.changes);
        Box::pin(async move {
            // an error means that the queues are gone, and so is this reader
            let _ = changes.wait_for(|count| *count != seen).await;
        })
    }

    fn lose_next_checkpoint(&self) {
        self.crashes.store(true, Ordering::SeqCst);
    }

    fn counts(&self) -> Counts {
        self.state().counts
    }
}
