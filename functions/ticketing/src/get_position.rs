//! `GET /matches/{matchId}/queue`: how far the bearer of a ticket has come.
//!
//! The ticket says who stands where, so only the lane is read, and that once a
//! second however many ask. Whoever asks also moves it on: there is no job.

use platform::{App, Function, Problem, Reply, Request, auth, http};
use serde::Serialize;

use crate::ids::MatchId;
use crate::queue::Place;
use crate::{lane, matches, pace, ticket};

/// The function.
pub static FUNCTION: Function = Function::http("get-position", |a, r| Box::pin(handle(a, r)));

#[derive(Serialize)]
struct View {
    #[serde(flatten)]
    place: Place,
    admitted: bool,
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
