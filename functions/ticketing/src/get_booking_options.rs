//! `GET /matches/{matchId}/booking-options`: what the member wants of a match.
//!
//! Whoever has said nothing wants one seat, anywhere.

use platform::{App, Function, Problem, Reply, Request, auth, http};

use crate::ids::MatchId;
use crate::pass::{self, Age};
use crate::{matches, options};

/// The function.
pub static FUNCTION: Function =
    Function::http("get-booking-options", |a, r| Box::pin(handle(a, r)));

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    let id: MatchId = http::path(&request, "matchId")?;
    matches::get(app, &id).await?;
    pass::require(app, &request, &caller, &id, Age::Valid).await?;
    Reply::ok(&options::read(app, &id, &caller.member_id).await?.unwrap_or_default())
}
