//! `POST /matches/{matchId}/queue`: stand in the queue of a match whose sale is
//! open, at its end.
//!
//! Two writes at the same time, and no read: any lane gives its next number, and
//! the member's one entry takes the name of the new ticket, so that an older
//! ticket is worth nothing. If one of the two fails there is no ticket, and what
//! the other has left is a gap in a lane, or a name that nobody bears.

use futures_util::future::join;
use platform::{App, Function, Operation, Problem, Reply, Request, auth, http};

use crate::ids::MatchId;
use crate::queue::{self, Place};
use crate::refusal::Refusal;
use crate::ticket::Ticket;
use crate::{entry, lane, matches};

/// The function.
pub static FUNCTION: Function = Function::http("enter-queue", |a, r| Box::pin(handle(a, r)));

/// What the document says of it.
pub fn operation() -> Operation {
    let summary = "Stand in the queue of a match, at its end.";
    Operation::new(FUNCTION, "POST /matches/{matchId}/queue", summary)
        .for_members()
        .path::<MatchId>("matchId", "final")
        .creates::<Place>(queue::example())
        .refuses([Refusal::MatchNotFound])
        .refuses(Refusal::sale_examples())
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    let match_id: MatchId = http::path(&request, "matchId")?;
    let match_ = matches::get(app, &match_id).await?;
    match_.require_open(app.clock.now())?;
    let member_id = caller.member_id;
    let (number, nonce) =
        join(lane::enter(app, &match_), entry::enter(app, &match_, &member_id)).await;
    let ((lane, now_there), nonce) = (number?, nonce?);
    let number = now_there.tail;
    let location = format!("/matches/{match_id}/queue");
    let ticket = Ticket { match_id, member_id, lane, number, nonce, position: u64::MAX };
    Reply::created(location, &Place::of(app, &match_, ticket, &now_there).await?)
}
