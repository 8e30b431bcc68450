//! `GET /openapi.json`: the API's document, for machines.

use platform::{App, Function, Operation, Problem, Reply, Request};
use serde_json::{Value, json};

use crate::document::Document;

/// The function.
pub static FUNCTION: Function = Function::http("get-openapi", |a, r| Box::pin(handle(a, r)));

/// What the document says of it.
pub fn operation() -> Operation {
    Operation::new(FUNCTION, "GET /openapi.json", "This document (OpenAPI 3.1).")
        .alone()
        .answers::<Value>(json!({ "openapi": "3.1.0" }))
}

async fn handle(app: &App, _: Request) -> Result<Reply, Problem> {
    Reply::ok(app.memory::<Document>().as_json())
}
