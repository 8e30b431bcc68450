//! `GET /orders/{orderId}`: an order of the caller. Somebody else's is none.

use platform::{App, Function, Operation, Problem, Reply, Request, auth, http};

use crate::ids::OrderId;
use crate::order;
use crate::refusal::Refusal;

/// The function.
pub static FUNCTION: Function = Function::http("get-order", |a, r| Box::pin(handle(a, r)));

/// What the document says of it.
pub fn operation() -> Operation {
    Operation::new(FUNCTION, "GET /orders/{orderId}", "An order of the caller's.")
        .for_members()
        .path::<OrderId>("orderId", "01941f29-7c00-7000-8000-0000000000c3")
        .answers::<order::View<'_>>(order::example())
        .refuses([Refusal::OrderNotFound])
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    let id: OrderId = http::path(&request, "orderId")?;
    let order = order::get(app, &caller.member_id, &id).await?.ok_or(Refusal::OrderNotFound)?;
    Reply::ok(&order.view(app.clock.now()))
}
