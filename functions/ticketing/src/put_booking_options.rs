//! `PUT /matches/{matchId}/booking-options`: say how many seats of a match the
//! member wants, where, and for how much.
//!
//! Recommendations go by it. It takes a pass, so that only those who are in the
//! sale write.

use platform::{App, Function, Operation, Problem, Reply, Request, auth, http};

use crate::ids::MatchId;
use crate::matches;
use crate::options::{self, Options};
use crate::pass::{self, Age};
use crate::refusal::Refusal;

/// The function.
pub static FUNCTION: Function =
    Function::http("put-booking-options", |a, r| Box::pin(handle(a, r)));

/// What the document says of it.
pub fn operation() -> Operation {
    let summary = "Say how many seats of a match the member wants, where, and for how much.";
    Operation::new(FUNCTION, "PUT /matches/{matchId}/booking-options", summary)
        .for_members()
        .path::<MatchId>("matchId", "final")
        .header(pass::HEADER, "A pass for the match.")
        .body::<Options>(options::example())
        .puts::<Options>(options::example())
        .refuses([Refusal::MatchNotFound, Refusal::PassRequired])
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    let id: MatchId = http::path(&request, "matchId")?;
    let wanted: Options = http::body(&request)?;
    matches::get(app, &id).await?;
    pass::require(app, &request, &caller, &id, Age::Valid).await?;
    if options::write(app, &id, &caller.member_id, &wanted).await? {
        Reply::created(format!("/matches/{id}/booking-options"), &wanted)
    } else {
        Reply::ok(&wanted)
    }
}
