//! `POST /matches/{matchId}/queue/pass`: change a ticket whose turn has come
//! into a pass.
//!
//! One conditional write of the member's entry decides until when the pass is
//! good. The pass follows from that, so a repeat gets the very same one, also
//! after a lost answer or from 64 callers at once.

use platform::clock::Instant;
use platform::table::{Read, read};
use platform::{App, Function, Operation, Problem, Reply, Request, auth, http};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::entry::{self, Entry};
use crate::ids::MatchId;
use crate::matches::Match;
use crate::pass::{self, Pass};
use crate::refusal::Refusal;
use crate::ticket::{self, Ticket};
use crate::{TABLE, keys, lane, matches};

/// The function.
pub static FUNCTION: Function = Function::http("take-pass", |a, r| Box::pin(handle(a, r)));

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct View {
    pass: String,
    expires_at: Instant,
}

/// What the document says of it.
pub fn operation() -> Operation {
    let pass =
        json!({ "pass": "eyJtIjoiZmluYWwifQ.c2lnbmVk", "expiresAt": "2030-05-01T09:15:00Z" });
    let summary = "Change a ticket whose turn has come into a pass.";
    Operation::new(FUNCTION, "POST /matches/{matchId}/queue/pass", summary)
        .for_members()
        .path::<MatchId>("matchId", "final")
        .header(ticket::HEADER, "The ticket that was told last.")
        .creates::<View>(pass)
        .refuses([
            Refusal::PassRequired,
            Refusal::NotAdmitted { position: 41 },
            Refusal::TicketReplaced,
        ])
        .refuses(Refusal::sale_examples())
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    let match_id: MatchId = http::path(&request, "matchId")?;
    let ticket = ticket::require(app, &request, &caller, &match_id).await?;
    let match_ = matches::get(app, &match_id).await?;
    match_.require_open(app.clock.now())?;
    if !is_known_as_admitted(app, &ticket) {
        require_admitted(app, &match_, &ticket).await?;
    }
    let expires_at = entry::admit(app, &match_, &ticket).await?;
    let location = format!("/matches/{match_id}/queue");
    let Ticket { member_id, nonce, .. } = ticket;
    let pass = Pass { match_id, member_id, nonce, expires_at_ms: expires_at.as_millis() };
    if !pass.is_valid(app.clock.now()) {
        return Err(Refusal::PassRequired.into()); // it is over: the way in is the queue again
    }
    let pass = pass::signer(app).await?.write_json(&pass)?;
    Reply::created(location, &View { pass, expires_at })
}

/// Whether the ticket's turn has come by what it says itself, or by what this
/// environment remembers.
fn is_known_as_admitted(app: &App, ticket: &Ticket) -> bool {
    let in_lane = || lane::remembered(app, ticket).map(|lane| lane.cursor());
    ticket.position == 0 || in_lane().is_some_and(|cursor| ticket.number <= cursor)
}

/// Looks at the lane and at the member's entry, in one call: a ticket that was
/// replaced must not wait for its turn.
async fn require_admitted(app: &App, match_: &Match, ticket: &Ticket) -> Result<(), Problem> {
    let now = app.clock.now();
    let lane = keys::lane(&ticket.match_id, ticket.lane);
    let entry = keys::entry(&ticket.match_id, &ticket.member_id);
    let (lane, entry) = app.table(TABLE).get_beside(lane, Some(entry), Read::Consistent).await?;
    let entry: Option<Entry> = entry.map(read).transpose()?;
    entry.ok_or(Refusal::TicketReplaced)?.require(ticket)?;
    let lane = lane::go_on(app, match_, ticket, lane, now).await?;
    match lane.position(match_, ticket.number).min(ticket.position) {
        0 => Ok(()),
        position => Err(Refusal::NotAdmitted { position }.into()),
    }
}
