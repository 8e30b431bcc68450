//! What those who wait in the queue of a match are told.

use platform::clock::Instant;
use platform::{App, Problem};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::matches::Match;
use crate::ticket::{self, Ticket};

/// The shortest and the longest time between two looks at a position that is far
/// away, in milliseconds.
const POLL_MS: (u64, u64) = (1_000, 10_000);

/// Whoever waits no longer than this comes back when the turn has come: it is
/// known to the millisecond. So nobody is admitted late, and people come one
/// after the other, as their turns do.
const LAST_POLL_MS: u64 = 2_000;

/// Of how long somebody still has to wait one look takes up a tenth: far behind
/// there is nothing new to see.
const POLLS_PER_WAIT: u64 = 10;

/// Up to one part in so many is added to the time until the next look, at
/// random. People who entered together, as they do when a sale opens, would
/// otherwise come back together each time.
const JITTER_PART: u64 = 5;

/// Where somebody stands.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Place {
    /// The ticket to come back with.
    pub ticket: String,
    /// The position over all lanes: 0 if admitted.
    pub position: u64,
    /// How long it takes until then, in seconds.
    pub estimated_wait_seconds: u64,
    /// When to ask again, in milliseconds.
    pub poll_after_ms: u64,
}

/// A place in the document's examples.
pub(crate) fn example() -> Value {
    json!({
        "ticket": "eyJuIjo0MX0.c2lnbmVk",
        "position": 41,
        "estimatedWaitSeconds": 4,
        "pollAfterMs": 1000,
    })
}

/// The position of a ticket at `now`, never behind the one told last: 0 if its
/// turn has come.
pub fn position(match_: &Match, ticket: &Ticket, now: Instant) -> u64 {
    ticket.turn.saturating_sub(match_.turns(now)).min(ticket.position)
}

impl Place {
    /// The place of a ticket at `now`.
    pub async fn of(
        app: &App,
        match_: &Match,
        ticket: Ticket,
        now: Instant,
    ) -> Result<Self, Problem> {
        let position = position(match_, &ticket, now);
        let wait_ms = if position == 0 { 0 } else { match_.wait_ms(ticket.turn, now) };
        let ticket = Ticket { position, ..ticket };
        Ok(Self {
            ticket: ticket::signer(app).await?.write_json(&ticket)?,
            position,
            estimated_wait_seconds: wait_ms.div_ceil(1_000),
            poll_after_ms: poll_after_ms(app, wait_ms),
        })
    }
}

/// When somebody asks again who has so long to wait.
pub fn poll_after_ms(app: &App, wait_ms: u64) -> u64 {
    let (least_ms, most_ms) = POLL_MS;
    if (1..=LAST_POLL_MS).contains(&wait_ms) {
        return wait_ms;
    }
    let most_ms = most_ms * JITTER_PART / (JITTER_PART + 1);
    let after_ms = (wait_ms / POLLS_PER_WAIT).clamp(least_ms, most_ms);
    after_ms + app.random_below(after_ms / JITTER_PART + 1)
}
