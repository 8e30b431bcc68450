//! `GET /docs`: the API's document, for people.
//!
//! One page that needs nothing from elsewhere and runs no script, so that it is
//! there wherever the API is.

use platform::{App, Function, Operation, Problem, Reply, Request};
use serde_json::json;

use crate::document::Document;
use crate::page;

/// The function.
pub static FUNCTION: Function = Function::http("get-docs", |a, r| Box::pin(handle(a, r)));

/// What the document says of it.
pub fn operation() -> Operation {
    let page = json!({ "text/html": { "schema": { "type": "string" } } });
    Operation::new(FUNCTION, "GET /docs", "This document as a page.").alone().content(
        200,
        "The page.",
        page,
    )
}

async fn handle(app: &App, _: Request) -> Result<Reply, Problem> {
    Ok(Reply::html(page::of(app.memory::<Document>().as_json())))
}
