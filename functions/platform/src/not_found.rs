//! Whatever no other route takes: a 404 in the form of every other refusal,
//! which API Gateway by itself would not give.

use crate::app::App;
use crate::http::{Reply, Request};
use crate::lambda::Function;
use crate::problem::{Problem, ROUTE_NOT_FOUND};

/// The function.
pub static FUNCTION: Function = Function::http("not-found", |a, r| Box::pin(handle(a, r)));

async fn handle(_: &App, request: Request) -> Result<Reply, Problem> {
    let detail = format!("{} {}", request.method(), request.uri().path());
    Err(Problem::from(ROUTE_NOT_FOUND).detail(detail))
}
