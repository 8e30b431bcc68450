//! `POST /auth/logout`: end a session.
//!
//! Any token of the session will do, and one that is none of ours has no session
//! to end: the caller wants it gone, and it is
//! ([RFC 7009, 2.2](https://www.rfc-editor.org/rfc/rfc7009#section-2.2)).

use platform::{App, Function, Operation, Problem, Reply, Request, http};
use serde_json::json;

use crate::TABLE;
use crate::refresh_session::Body;
use crate::session::{self, RefreshKeys};

/// The function.
pub static FUNCTION: Function = Function::http("log-out", |a, r| Box::pin(handle(a, r)));

/// What the document says of it.
pub fn operation() -> Operation {
    Operation::new(FUNCTION, "POST /auth/logout", "End a session.")
        .body::<Body>(json!({ "refreshToken": "YWRhI3Nlc3Npb24jMQ" }))
        .answers_nothing()
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let body: Body = http::body(&request)?;
    let keys = RefreshKeys::of(app).await?;
    if let Some(token) = keys.read(body.refresh_token.expose()) {
        app.table(TABLE).commit(vec![session::end(&token)]).await?;
    }
    Ok(Reply::no_content())
}
