//! How often a ticket is looked at, and who asks far too often.
//!
//! An environment remembers when each ticket was last here. Somebody who comes
//! much earlier than told is refused without a read, and that counts as having
//! been here: a client that hammers is not served until it stops.

use platform::cache::Cache;
use platform::clock::Instant;
use platform::problem::TOO_MANY_REQUESTS;
use platform::{App, Problem};

use crate::ticket::Ticket;

/// Refused is who comes before this part of the time that was told. Clients come
/// a little early, or twice when a page is loaded anew; not four times as often.
const TOLERATED_PART: i64 = 4;

/// How long a look is remembered, in milliseconds: longer than any is told to
/// wait.
const LIFETIME_MS: i64 = 15_000;

/// Entries whose tickets were here, each with how long it was told to wait.
struct Looks(Cache<String, (Instant, i64)>);

impl Default for Looks {
    fn default() -> Self {
        Self(Cache::new(10_000, LIFETIME_MS))
    }
}

/// Refuses a ticket that was here a moment ago.
pub fn require(app: &App, ticket: &Ticket) -> Result<(), Problem> {
    let (looks, now) = (app.memory::<Looks>(), app.clock.now());
    let Some((at, told_ms)) = looks.0.get(&ticket.nonce, now) else { return Ok(()) };
    if now.as_millis() - at.as_millis() >= told_ms / TOLERATED_PART {
        return Ok(());
    }
    looks.0.put(ticket.nonce.clone(), now, (now, told_ms));
    let retry_after_s = u32::try_from((told_ms + 999) / 1_000).unwrap_or(1);
    Err(Problem::from(TOO_MANY_REQUESTS).retry_after(retry_after_s))
}

/// Remembers that a ticket was here, and was told to come back after so long.
pub fn remember(app: &App, ticket: &Ticket, told_ms: u64) {
    let now = app.clock.now();
    let told_ms = i64::try_from(told_ms).unwrap_or(LIFETIME_MS);
    app.memory::<Looks>().0.put(ticket.nonce.clone(), now, (now, told_ms));
}
