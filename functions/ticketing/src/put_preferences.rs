//! `PUT /preferences`: say which team and sections the member likes, whatever
//! the match.

use platform::{App, Function, Operation, Problem, Reply, Request, auth, http};

use crate::preferences::{self, Preferences};

/// The function.
pub static FUNCTION: Function = Function::http("put-preferences", |a, r| Box::pin(handle(a, r)));

/// What the document says of it.
pub fn operation() -> Operation {
    let summary = "Say which team and sections the member likes.";
    Operation::new(FUNCTION, "PUT /preferences", summary)
        .for_members()
        .body::<Preferences>(preferences::example())
        .puts::<Preferences>(preferences::example())
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    let wanted: Preferences = http::body(&request)?;
    if preferences::write(app, &caller.member_id, &wanted).await? {
        Reply::created("/preferences", &wanted)
    } else {
        Reply::ok(&wanted)
    }
}
