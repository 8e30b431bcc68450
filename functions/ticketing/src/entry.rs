//! A member's one entry in the queue of a match.
//!
//! It says which turn is the member's, so that whoever enters again, from however
//! many devices, has the place that they had; and, once the turn has come, until
//! when its pass is good. Only when that is over does a new entry take its place,
//! and older tickets are worth nothing.
//!
//! An entry is claimed first, then a lane gives a turn, then the entry notes it:
//! of many callers at once one takes a turn, and none is wasted. A claim whose
//! turn was never noted, because answers were lost, lapses after a moment.

use platform::clock::Instant;
use platform::problem::TOO_MANY_REQUESTS;
use platform::table::{Patience, Read, Write, WriteError, n, read, s};
use platform::{App, Problem};
use serde::Deserialize;

use crate::matches::Match;
use crate::refusal::Refusal;
use crate::ticket::Ticket;
use crate::{TABLE, keys, lane};

/// How long an entry lies in the table after the sale, in milliseconds. By then
/// nothing asks for it; this is for the sweep.
const KEPT_MS: i64 = 30 * 24 * 60 * 60 * 1000;

/// How long a claim keeps others from entering for the same member, in
/// milliseconds: many times as long as entering takes. Whoever is slower than
/// that loses the turn that was taken, and gets that of the other one.
const CLAIM_MS: i64 = 3_000;

/// When to come back while another request enters for the member, in seconds.
pub const RETRY_AFTER_S: u32 = 3;

/// An entry, as the table keeps it.
#[derive(Debug, Deserialize)]
pub struct Entry {
    /// Names it.
    pub nonce: String,
    /// The turn that it has, once that is noted.
    #[serde(default)]
    pub turn: Option<u64>,
    /// When its pass ends, once it has one.
    #[serde(default)]
    pub pass_expires_at_ms: Option<i64>,
}

/// A place in the queue.
#[derive(Debug, PartialEq, Eq)]
pub struct Taken {
    /// Names the entry.
    pub nonce: String,
    /// When it is the member's turn.
    pub turn: u64,
}

/// What became of a claim.
enum Claim {
    /// The entry is this request's, and wants a turn.
    Made,
    /// The member has a place.
    Has(Taken),
    /// Another request is entering for the member.
    UnderWay,
}

/// The member's place in the queue: the one that they have, or a new one at the
/// end.
pub async fn enter(app: &App, match_: &Match, member_id: &str) -> Result<Taken, Problem> {
    let mut patience = Patience::default();
    let nonce = app.new_id();
    loop {
        match claim(app, match_, member_id, &nonce).await? {
            Claim::Has(taken) => return Ok(taken),
            Claim::Made => {
                let taken = Taken { nonce: nonce.clone(), turn: lane::enter(app, match_).await? };
                if note(app, match_, member_id, &taken).await? {
                    return Ok(taken);
                }
            }
            Claim::UnderWay => {}
        }
        if !patience.pause(app).await {
            return Err(Problem::from(TOO_MANY_REQUESTS).retry_after(RETRY_AFTER_S));
        }
    }
}

/// Claims the entry, unless the member has a place whose pass is not over, or is
/// getting one.
async fn claim(app: &App, match_: &Match, member_id: &str, nonce: &str) -> Result<Claim, Problem> {
    let (now, closes_at) = (app.clock.now(), Instant::from_millis(match_.sale_closes_at_ms));
    let set = "SET nonce = :nonce, entered_at_ms = :now, expires_at_s = :expires \
               REMOVE turn, pass_expires_at_ms";
    let write = Write::update(keys::entry(&match_.match_id, member_id), set)
        .when(
            "(attribute_not_exists(nonce) OR pass_expires_at_ms <= :now \
             OR (attribute_not_exists(turn) AND entered_at_ms <= :lapsed))",
        )
        .bind(":nonce", s(nonce))
        .bind(":now", n(now.as_millis()))
        .bind(":lapsed", n(now.plus_millis(-CLAIM_MS).as_millis()))
        .bind(":expires", n(closes_at.plus_millis(KEPT_MS).as_seconds()));
    let seen: Option<Entry> = match app.table(TABLE).update(write).await {
        Ok(()) => return Ok(Claim::Made),
        Err(WriteError::Refused(mut refused)) => refused.take(0).flatten().map(read).transpose()?,
        Err(error) => return Err(error.into()),
    };
    Ok(match seen {
        Some(Entry { nonce, turn: Some(turn), .. }) => Claim::Has(Taken { nonce, turn }),
        Some(seen) if seen.nonce == nonce => Claim::Made, // its own, sent before
        Some(_) | None => Claim::UnderWay,
    })
}

/// Notes the turn of an entry. `false` if the entry has another one, or is
/// another one, by now: whoever looks again sees which.
async fn note(app: &App, match_: &Match, member_id: &str, taken: &Taken) -> Result<bool, Problem> {
    let write = Write::update(keys::entry(&match_.match_id, member_id), "SET turn = :turn")
        .when("nonce = :nonce AND attribute_not_exists(turn)")
        .bind(":nonce", s(&taken.nonce))
        .bind(":turn", n(taken.turn));
    match app.table(TABLE).update(write).await {
        Ok(()) => Ok(true),
        Err(WriteError::Refused(_)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

impl Entry {
    /// Refuses a ticket that is not that of the entry.
    pub fn require(self, ticket: &Ticket) -> Result<Self, Refusal> {
        if self.nonce == ticket.nonce { Ok(self) } else { Err(Refusal::TicketReplaced) }
    }
}

/// Refuses a ticket that was replaced.
pub async fn require(app: &App, ticket: &Ticket) -> Result<(), Problem> {
    let key = keys::entry(&ticket.match_id, &ticket.member_id);
    let item = app.table(TABLE).get(key, Read::Consistent).await?;
    let entry: Entry = read(item.ok_or(Refusal::TicketReplaced)?)?;
    entry.require(ticket)?;
    Ok(())
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
