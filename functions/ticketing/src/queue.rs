//! What those who wait in the queue of a match are told.

use platform::{App, Problem};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::lane::Lane;
use crate::matches::Match;
use crate::ticket::{self, Ticket};

/// The shortest and the longest time between two looks at a position, in
/// milliseconds: a lane moves once a second, and nobody should think that
/// nothing moves.
const POLL_MS: (u64, u64) = (1_000, 10_000);

/// Of how long somebody still has to wait one look takes up a tenth: far behind
/// there is nothing new to see, and whose turn comes learns it a tenth late.
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
    /// About how long it takes until then, in seconds.
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

impl Place {
    /// The place of a ticket in its lane, never behind the one told last.
    pub async fn of(
        app: &App,
        match_: &Match,
        ticket: Ticket,
        lane: &Lane,
    ) -> Result<Self, Problem> {
        let position = lane.position(match_, ticket.number).min(ticket.position);
        let wait_ms = if position == 0 { 0 } else { lane.wait_ms(match_, ticket.number) };
        let ticket = Ticket { position, ..ticket };
        Ok(Self {
            ticket: ticket::signer(app).await?.write_json(&ticket)?,
            position,
            estimated_wait_seconds: wait_ms.div_ceil(1_000),
            poll_after_ms: poll_after_ms(app, wait_ms),
        })
    }
}

fn poll_after_ms(app: &App, wait_ms: u64) -> u64 {
    let (least_ms, most_ms) = POLL_MS;
    let most_ms = most_ms * JITTER_PART / (JITTER_PART + 1);
    let after_ms = (wait_ms / POLLS_PER_WAIT).clamp(least_ms, most_ms);
    after_ms + app.random_below(after_ms / JITTER_PART + 1)
}
