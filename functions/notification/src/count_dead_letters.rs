//! `GET /dead-letters`: how many events did not arrive, and since when.

use platform::auth;
use platform::clock::Instant;
use platform::{App, Function, Operation, Problem, Reply, Request};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::DEAD_LETTERS;

/// The function.
pub static FUNCTION: Function = Function::http("count-dead-letters", |a, r| Box::pin(handle(a, r)));

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct View {
    count: u64,
    /// Of a few: a queue does not say which of its messages is the oldest.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    oldest_at: Option<Instant>,
}

/// What the document says of it.
pub fn operation() -> Operation {
    let summary = "How many events did not arrive, and since when.";
    Operation::new(FUNCTION, "GET /dead-letters", summary)
        .for_staff()
        .answers::<View>(json!({ "count": 2, "oldestAt": "2030-02-01T09:00:00Z" }))
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
