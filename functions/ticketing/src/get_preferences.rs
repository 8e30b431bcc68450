//! `GET /preferences`: which team and sections the member likes: none, for
//! whoever has said nothing.

use platform::{App, Function, Operation, Problem, Reply, Request, auth};

use crate::preferences::{self, Preferences};

/// The function.
pub static FUNCTION: Function = Function::http("get-preferences", |a, r| Box::pin(handle(a, r)));

/// What the document says of it.
pub fn operation() -> Operation {
    Operation::new(FUNCTION, "GET /preferences", "Which team and sections the member likes.")
        .for_members()
        .answers::<Preferences>(preferences::example())
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    Reply::ok(&preferences::read(app, &caller.member_id).await?.unwrap_or_default())
}
