//! `GET /orders/{orderId}`: an order of the caller. Somebody else's is none.

use platform::{App, Function, Problem, Reply, Request, auth, http};

use crate::ids::OrderId;
use crate::order;
use crate::refusal::Refusal;

/// The function.
pub static FUNCTION: Function = Function::http("get-order", |a, r| Box::pin(handle(a, r)));

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    let id: OrderId = http::path(&request, "orderId")?;
    let order = order::get(app, &caller.member_id, &id).await?.ok_or(Refusal::OrderNotFound)?;
    Reply::ok(&order.view(app.clock.now()))
}
