//! `GET /matches/{matchId}/queue`: how far the bearer of a ticket has come.
//!
//! The ticket says whose turn is when, and the clock which have come, so nothing
//! is read. Only who is told to be admitted is looked up: a ticket that was
//! replaced meanwhile must promise nothing.

use platform::problem::TOO_MANY_REQUESTS;
use platform::{App, Function, Operation, Problem, Reply, Request, auth, http};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::ids::MatchId;
use crate::queue::{self, Place};
use crate::refusal::Refusal;
use crate::{entry, matches, pace, ticket};

/// The function.
pub static FUNCTION: Function = Function::http("get-position", |a, r| Box::pin(handle(a, r)));

#[derive(Serialize, ToSchema)]
struct View {
    #[serde(flatten)]
    place: Place,
    admitted: bool,
}

/// What the document says of it.
pub fn operation() -> Operation {
    let mut place = queue::example();
    place["admitted"] = json!(false);
    let summary = "How far the bearer of a ticket has come.";
    Operation::new(FUNCTION, "GET /matches/{matchId}/queue", summary)
        .for_members()
        .path::<MatchId>("matchId", "final")
        .header(ticket::HEADER, "The ticket that was told last.")
        .answers::<View>(place)
        .refuses([Refusal::TicketReplaced])
        .refuses(Refusal::sale_examples())
        .refuses([Problem::from(TOO_MANY_REQUESTS).retry_after(1)])
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    let match_id: MatchId = http::path(&request, "matchId")?;
    let ticket = ticket::require(app, &request, &caller, &match_id).await?;
    pace::require(app, &ticket)?;
    let match_ = matches::get(app, &match_id).await?;
    match_.require_open(app.clock.now())?;
    let place = Place::of(app, &match_, ticket.clone(), app.clock.now()).await?;
    pace::remember(app, &ticket, place.poll_after_ms);
    let admitted = place.position == 0;
    if admitted {
        entry::require(app, &ticket).await?;
    }
    Reply::ok(&View { place, admitted })
}
