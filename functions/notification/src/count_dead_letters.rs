//! `GET /dead-letters`: how many events did not arrive, and since when.

use platform::auth;
use platform::clock::Instant;
use platform::{App, Function, Problem, Reply, Request};
use serde::Serialize;

use crate::DEAD_LETTERS;

/// The function.
pub static FUNCTION: Function = Function::http("count-dead-letters", |a, r| Box::pin(handle(a, r)));

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct View {
    count: u64,
    /// Of a few: a queue does not say which of its messages is the oldest.
    #[serde(skip_serializing_if = "Option::is_none")]
    oldest_at: Option<Instant>,
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    auth::caller(app, &request)?.require_staff()?;
    let queue = app.queue(DEAD_LETTERS)?;
    let count = queue.count().await?;
    let oldest_at = match count {
        0 => None,
        // A look that hides nothing: whoever asks next gets the same.
        _ => queue.receive(0).await?.iter().filter_map(|message| message.sent_at).min(),
    };
    Reply::ok(&View { count, oldest_at })
}
