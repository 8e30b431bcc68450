//! `POST /matches/{matchId}/queue/pass`: change a ticket whose turn has come
//! into a pass.
//!
//! One conditional write of the member's entry decides until when the pass is
//! good. The pass follows from that, so a repeat gets the very same one, also
//! after a lost answer or from 64 callers at once.

use platform::clock::Instant;
use platform::problem::TOO_MANY_REQUESTS;
use platform::{App, Function, Operation, Problem, Reply, Request, auth, http};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::ids::MatchId;
use crate::matches::Match;
use crate::pass::{self, Pass};
use crate::refusal::Refusal;
use crate::ticket::{self, Ticket};
use crate::{entry, matches, pace, queue};

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
        .refuses([Problem::from(TOO_MANY_REQUESTS).retry_after(1)])
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    let match_id: MatchId = http::path(&request, "matchId")?;
    let ticket = ticket::require(app, &request, &caller, &match_id).await?;
    let match_ = matches::get(app, &match_id).await?;
    match_.require_open(app.clock.now())?;
    require_admitted(app, &match_, &ticket).await?;
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

/// Refuses a ticket whose turn has not come: no more often than it may be looked
/// at. One that was replaced must not wait for its turn.
async fn require_admitted(app: &App, match_: &Match, ticket: &Ticket) -> Result<(), Problem> {
    let now = app.clock.now();
    let position = queue::position(match_, ticket, now);
    if position == 0 {
        return Ok(());
    }
    pace::require(app, ticket)?;
    pace::remember(app, ticket, queue::poll_after_ms(app, match_.wait_ms(ticket.turn, now)));
    entry::require(app, ticket).await?;
    Err(Refusal::NotAdmitted { position }.into())
}
