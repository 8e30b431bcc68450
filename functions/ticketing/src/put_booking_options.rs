//! `PUT /matches/{matchId}/booking-options`: say how many seats of a match the
//! member wants, where, and for how much.
//!
//! Recommendations go by it. It takes a pass, so that only those who are in the
//! sale write.

use platform::{App, Function, Problem, Reply, Request, auth, http};

use crate::ids::MatchId;
use crate::matches;
use crate::options::{self, Options};
use crate::pass::{self, Age};

/// The function.
pub static FUNCTION: Function =
    Function::http("put-booking-options", |a, r| Box::pin(handle(a, r)));

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
