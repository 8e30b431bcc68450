//! A member's one entry in the queue of a match.
//!
//! It says which ticket of the member is the newest, so that any others are worth
//! nothing, and, once that one's turn has come, until when its pass is good.

use platform::clock::Instant;
use platform::table::{Patience, Write, WriteError, n, read, s};
use platform::{App, Problem};
use serde::Deserialize;

use crate::matches::Match;
use crate::refusal::Refusal;
use crate::ticket::Ticket;
use crate::{TABLE, keys};

/// How long an entry lies in the table after the sale, in milliseconds. By then
/// nothing asks for it; this is for the sweep.
const KEPT_MS: i64 = 30 * 24 * 60 * 60 * 1000;

/// An entry, as the table keeps it.
#[derive(Debug, Deserialize)]
pub struct Entry {
    /// Names it. A later one sorts later.
    pub nonce: String,
    /// When its pass ends, once it has one.
    #[serde(default)]
    pub pass_expires_at_ms: Option<i64>,
}

/// Makes a new entry the member's newest, and tells its nonce.
///
/// An older one never takes the place of a newer one, also when it was sent
/// before and arrives late. So whoever is refused comes after the one that is
/// there, whatever the two clocks say.
pub async fn enter(app: &App, match_: &Match, member_id: &str) -> Result<String, Problem> {
    let mut patience = Patience::default();
    let mut nonce = app.new_id();
    loop {
        let write = replace(match_, member_id, &nonce, app.clock.now());
        match app.table(TABLE).update(write).await {
            Ok(()) => return Ok(nonce),
            Err(WriteError::Refused(mut refused)) => {
                let seen: Option<Entry> = refused.take(0).flatten().map(read).transpose()?;
                match seen {
                    Some(seen) if seen.nonce == nonce => return Ok(nonce), // its own, sent before
                    Some(seen) => nonce = app.new_id_after(&seen.nonce),
                    None => {}
                }
            }
            Err(error) => return Err(error.into()),
        }
        if !patience.pause(app).await {
            return Err(Problem::busy("the member keeps entering"));
        }
    }
}

fn replace(match_: &Match, member_id: &str, nonce: &str, now: Instant) -> Write {
    let sale_closes_at = Instant::from_millis(match_.sale_closes_at_ms);
    let set = "SET nonce = :nonce, entered_at_ms = :now, expires_at_s = :expires \
               REMOVE pass_expires_at_ms";
    Write::update(keys::entry(&match_.match_id, member_id), set)
        .when("(attribute_not_exists(nonce) OR nonce < :nonce)")
        .bind(":nonce", s(nonce))
        .bind(":now", n(now.as_millis()))
        .bind(":expires", n(sale_closes_at.plus_millis(KEPT_MS).as_seconds()))
}

impl Entry {
    /// Refuses a ticket that is not that of the entry.
    pub fn require(self, ticket: &Ticket) -> Result<Self, Refusal> {
        if self.nonce == ticket.nonce { Ok(self) } else { Err(Refusal::TicketReplaced) }
    }
}

/// When the pass of an admitted ticket ends. It is decided once: whoever asks
/// again, or at the same time, is told the same.
pub async fn admit(app: &App, match_: &Match, ticket: &Ticket) -> Result<Instant, Problem> {
    let expires_at = app.clock.now().plus_millis(i64::from(match_.pass_minutes) * 60_000);
    let key = keys::entry(&ticket.match_id, &ticket.member_id);
    let write = Write::update(key, "SET pass_expires_at_ms = :expires")
        .when("nonce = :nonce AND attribute_not_exists(pass_expires_at_ms)")
        .bind(":nonce", s(&ticket.nonce))
        .bind(":expires", n(expires_at.as_millis()));
    match app.table(TABLE).update(write).await {
        Ok(()) => Ok(expires_at),
        Err(WriteError::Refused(mut refused)) => {
            let seen: Option<Entry> = refused.take(0).flatten().map(read).transpose()?;
            let entry = seen.ok_or(Refusal::TicketReplaced)?.require(ticket)?;
            let expires_at_ms = entry.pass_expires_at_ms;
            let decided = expires_at_ms.ok_or_else(|| Problem::internal("refused for no reason"));
            decided.map(Instant::from_millis)
        }
        Err(error) => Err(error.into()),
    }
}
