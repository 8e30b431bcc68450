//! `POST /dead-letters/redrive`: send again what did not arrive.
//!
//! A record that was parked is translated anew, by code that may have learned
//! how. What still cannot be understood stays where it is. A message is taken
//! out only after its event is on its way again: one that is sent twice changes
//! nothing twice.

use platform::auth;
use platform::events::Source;
use platform::queue::{BATCH, Entry, Queue, Received, Untaken};
use platform::{App, Function, Operation, Problem, Reply, Request};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::dead_letter::{DeadLetter, Envelope};
use crate::relay::translate;
use crate::{DEAD_LETTERS, EVENTS, SOURCES};

/// The function.
pub static FUNCTION: Function = Function::http("redrive", |a, r| Box::pin(handle(a, r)));

/// How long one call goes on, in milliseconds: well within its time-out.
const BUDGET_MS: i64 = 8_000;

/// How long a message that was taken is hidden from others, in seconds: longer
/// than one call goes on.
const HIDDEN_S: i32 = 30;

/// What came of a redrive.
#[derive(Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct Redriven {
    /// Messages that were sent again, or turned out to tell nothing.
    pub redriven: u64,
    /// Messages that still cannot be understood.
    pub left: u64,
}

/// What the document says of it.
pub fn operation() -> Operation {
    let redriven = json!({ "redriven": 2, "left": 0 });
    Operation::new(FUNCTION, "POST /dead-letters/redrive", "Send again what did not arrive.")
        .for_staff()
        .answers_with::<Redriven>(202, "What came of it.", redriven)
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    auth::caller(app, &request)?.require_staff()?;
    Reply::accepted(&redrive(app, SOURCES).await?)
}

/// Sends dead letters again, by `sources`, until none is left or time is up.
pub async fn redrive(app: &App, sources: &[Source]) -> Result<Redriven, Problem> {
    let dead_letters = app.queue(DEAD_LETTERS)?;
    let mut kept = Vec::new();
    let redriven = drain(app, sources, dead_letters, &mut kept).await;
    for messages in kept.chunks(BATCH) {
        if let Err(error) = dead_letters.give_back(messages).await {
            tracing::warn!(%error, "dead letters stay hidden for a while");
        }
    }
    Ok(Redriven { redriven: redriven?, left: kept.len() as u64 })
}

/// Sends them until none is left or time is up: how many. Those that were taken
/// and stay are `kept`.
async fn drain(
    app: &App,
    sources: &[Source],
    dead_letters: Queue<'_>,
    kept: &mut Vec<Received>,
) -> Result<u64, Problem> {
    let until = app.clock.now().plus_millis(BUDGET_MS);
    let mut redriven = 0;
    while app.clock.now() < until {
        let messages = dead_letters.receive(HIDDEN_S).await?;
        if messages.is_empty() {
            break;
        }
        let (mut done, mut outage) = (Vec::new(), None);
        for message in messages {
            let outcome = match outage {
                None => send_again(app, &message, sources).await,
                Some(_) => Ok(false),
            };
            match outcome {
                Ok(true) => done.push(message),
                Ok(false) => kept.push(message),
                Err(problem) => {
                    outage = Some(problem);
                    kept.push(message);
                }
            }
        }
        if !done.is_empty() {
            dead_letters.delete(&done).await?;
            redriven += done.len() as u64;
        }
        if let Some(problem) = outage {
            return Err(problem);
        }
    }
    Ok(redriven)
}

/// Sends what a dead letter tells. `false` if nobody knows what.
async fn send_again(app: &App, message: &Received, sources: &[Source]) -> Result<bool, Problem> {
    let envelope = match DeadLetter::read(&message.body) {
        DeadLetter::Event(envelope) => envelope,
        DeadLetter::Record(change) => match translate(app, &change, sources) {
            Ok(None) => return Ok(true),
            Ok(Some(event)) => {
                let record_id = change.id().unwrap_or_default().to_owned();
                Envelope { record_id, event }
            }
            Err(problem) => {
                let message_id = &message.message_id;
                tracing::warn!(message_id, cause = problem.cause(), "still not understood");
                return Ok(false);
            }
        },
        DeadLetter::Unknown => {
            tracing::warn!(message_id = message.message_id, "a dead letter of unknown form");
            return Ok(false);
        }
    };
    let entry = to_entry(&envelope, message)?;
    match app.queue(EVENTS)?.send(&[entry]).await?.first() {
        None => Ok(true),
        Some(Untaken { is_final: true, .. }) => Ok(false),
        Some(_) => Err(Problem::busy("the queue refused an event")),
    }
}

/// The record's own id may still be known from the time it was first sent, so
/// the message goes by its id among the dead letters.
fn to_entry(envelope: &Envelope, message: &Received) -> Result<Entry, Problem> {
    envelope.to_entry(&message.message_id).map_err(Problem::internal)
}
