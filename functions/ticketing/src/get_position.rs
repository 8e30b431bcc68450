//! `GET /matches/{matchId}/queue`: how far the bearer of a ticket has come.
//!
//! The ticket says who stands where, so only the lane is read, and that once a
//! second however many ask. Whoever asks also moves it on: there is no job.

use platform::problem::TOO_MANY_REQUESTS;
use platform::{App, Function, Operation, Problem, Reply, Request, auth, http};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::ids::MatchId;
use crate::queue::{self, Place};
use crate::refusal::Refusal;
use crate::{lane, matches, pace, ticket};

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
    let lane = lane::look(app, &match_, &ticket).await?;
    let nonce = ticket.nonce.clone();
    let place = Place::of(app, &match_, ticket, &lane).await?;
    pace::remember(app, nonce, place.poll_after_ms);
    let admitted = place.position == 0;
    Reply::ok(&View { place, admitted })
}
