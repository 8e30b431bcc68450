//! `GET /matches/{matchId}`: a match, its blocks, and what the clock says about
//! its sale.
//!
//! An environment remembers it for five seconds. Staff, who alone change it,
//! read it anew.

use platform::{App, Function, Operation, Problem, Reply, Request, auth, http};

use crate::ids::MatchId;
use crate::matches::{self, MatchView};
use crate::refusal::Refusal;

/// The function.
pub static FUNCTION: Function = Function::http("get-match", |a, r| Box::pin(handle(a, r)));

/// What the document says of it.
pub fn operation() -> Operation {
    Operation::new(FUNCTION, "GET /matches/{matchId}", "A match, its blocks and its sale.")
        .for_anyone_with_token()
        .path::<MatchId>("matchId", "final")
        .answers::<MatchView>(matches::example())
        .tells_version()
        .refuses([Refusal::MatchNotFound])
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let id: MatchId = http::path(&request, "matchId")?;
    let is_staff = auth::caller(app, &request).is_ok_and(|caller| caller.is_staff());
    let found = if is_staff {
        matches::get_fresh(app, &id).await?.ok_or(Refusal::MatchNotFound)?
    } else {
        matches::get(app, &id).await?
    };
    Ok(Reply::ok(&found.view(app.clock.now()))?.etag(found.version))
}
