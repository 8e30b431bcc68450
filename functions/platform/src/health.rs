//! `GET /health`: whether a function answers at all. It calls nothing.

use serde_json::json;

use crate::app::App;
use crate::http::{Reply, Request};
use crate::lambda::Function;
use crate::problem::Problem;

/// The function.
pub static FUNCTION: Function = Function::http("health", |a, r| Box::pin(handle(a, r)));

async fn handle(_: &App, _: Request) -> Result<Reply, Problem> {
    Reply::ok(&json!({ "status": "ok" }))
}
