//! `POST /matches/{matchId}/queue`: stand in the queue of a match whose sale is
//! open, at its end.
//!
//! Three writes one after the other, and no read: the member's one entry is
//! claimed, a lane gives its next turn, and the entry notes it. Whoever stands in
//! the queue already, and whoever repeats this after a lost answer, is told the
//! same place again by the first of them: nobody has two, and nobody can try for
//! a better one.

use platform::problem::TOO_MANY_REQUESTS;
use platform::{App, Function, Operation, Problem, Reply, Request, auth, http};

use crate::entry::Taken;
use crate::ids::MatchId;
use crate::queue::{self, Place};
use crate::refusal::Refusal;
use crate::ticket::Ticket;
use crate::{entry, matches};

/// The function.
pub static FUNCTION: Function = Function::http("enter-queue", |a, r| Box::pin(handle(a, r)));

/// What the document says of it.
pub fn operation() -> Operation {
    let summary = "Stand in the queue of a match, at its end. Who stands there keeps the place.";
    Operation::new(FUNCTION, "POST /matches/{matchId}/queue", summary)
        .for_members()
        .path::<MatchId>("matchId", "final")
        .creates::<Place>(queue::example())
        .refuses([Refusal::MatchNotFound])
        .refuses(Refusal::sale_examples())
        .refuses([Problem::from(TOO_MANY_REQUESTS).retry_after(entry::RETRY_AFTER_S)])
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    let match_id: MatchId = http::path(&request, "matchId")?;
    let match_ = matches::get(app, &match_id).await?;
    match_.require_open(app.clock.now())?;
    let member_id = caller.member_id;
    let Taken { nonce, turn } = entry::enter(app, &match_, &member_id).await?;
    let location = format!("/matches/{match_id}/queue");
    let ticket = Ticket { match_id, member_id, turn, nonce, position: u64::MAX };
    Reply::created(location, &Place::of(app, &match_, ticket, app.clock.now()).await?)
}
