//! `GET /preferences`: which team and sections the member likes: none, for
//! whoever has said nothing.

use platform::{App, Function, Problem, Reply, Request, auth};

use crate::preferences;

/// The function.
pub static FUNCTION: Function = Function::http("get-preferences", |a, r| Box::pin(handle(a, r)));

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    Reply::ok(&preferences::read(app, &caller.member_id).await?.unwrap_or_default())
}
