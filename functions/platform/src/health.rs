//! `GET /health`: whether a function answers at all. It calls nothing.

use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::app::App;
use crate::http::{Reply, Request};
use crate::lambda::Function;
use crate::operation::Operation;
use crate::problem::Problem;

/// The function.
pub static FUNCTION: Function = Function::http("health", |a, r| Box::pin(handle(a, r)));

#[derive(Serialize, ToSchema)]
struct View {
    status: &'static str,
}

/// What the document says of it.
pub fn operation() -> Operation {
    Operation::new(FUNCTION, "GET /health", "Whether anything answers at all.")
        .alone()
        .answers::<View>(json!({ "status": "ok" }))
}

async fn handle(_: &App, _: Request) -> Result<Reply, Problem> {
    Reply::ok(&View { status: "ok" })
}
