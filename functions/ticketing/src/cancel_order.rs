//! `DELETE /orders/{orderId}`: cancel an order, so that its seats are free.
//!
//! Of one that was not paid in time, some seats may be somebody else's: each is
//! freed only if it still bears the order. Of one that was paid all are its own,
//! and the money has to go back.

use platform::clock::Instant;
use platform::table::{Patience, Refusals, WriteError};
use platform::{App, Function, Operation, Problem, Reply, Request, auth, http};

use crate::ids::OrderId;
use crate::order::{self, Order, Status};
use crate::refusal::Refusal;
use crate::seats::{self, Bearer, Freeing};
use crate::{TABLE, account, keys, matches};

/// The function.
pub static FUNCTION: Function = Function::http("cancel-order", |a, r| Box::pin(handle(a, r)));

/// The place of the order in both transactions: then comes what it has.
const ORDER: usize = 0;
const FIRST_FREED: usize = 1;

/// What the document says of it.
pub fn operation() -> Operation {
    let [_, closed] = Refusal::sale_examples();
    let summary = "Cancel an order, so that its seats are free.";
    Operation::new(FUNCTION, "DELETE /orders/{orderId}", summary)
        .for_members()
        .path::<OrderId>("orderId", "01941f29-7c00-7000-8000-0000000000c3")
        .answers_nothing()
        .refuses([Refusal::OrderNotFound, closed])
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    let id: OrderId = http::path(&request, "orderId")?;
    let mut patience = Patience::default();
    loop {
        let order = order::get(app, &caller.member_id, &id).await?.ok_or(Refusal::OrderNotFound)?;
        let is_done = match order.status {
            Status::PendingPayment => cancel_unpaid(app, &order, &mut patience).await?,
            Status::Paid => cancel_paid(app, &order, &mut patience).await?,
            Status::Cancelled | Status::RefundDue => true,
        };
        if is_done {
            return Ok(Reply::no_content());
        }
        if !patience.pause(app).await {
            return Err(Problem::busy("the order is contended past the budget"));
        }
    }
}

/// Whether the order is cancelled now; if not, it must be looked at anew.
async fn cancel_unpaid(app: &App, order: &Order, patience: &mut Patience) -> Result<bool, Problem> {
    let Order { match_id, member_id, order_id, seats, .. } = order;
    let mut freeing = Freeing::new(match_id, member_id, Bearer::Order(order_id), seats);
    loop {
        let now = app.clock.now();
        let mut writes = vec![order.at(Status::Cancelled, now).write()?];
        writes.extend(freeing.writes(now));
        match app.table(TABLE).transact(writes, patience).await {
            Ok(()) => return Ok(true),
            Err(WriteError::Refused(refusals)) if is_left_out(&mut freeing, &refusals) => {}
            Err(WriteError::Refused(_) | WriteError::Conflict(_)) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Whether nothing but what is not the order's any more has refused.
fn is_left_out(freeing: &mut Freeing<'_>, refusals: &Refusals) -> bool {
    !refusals.includes(ORDER) && freeing.leave_out(refusals, FIRST_FREED)
}

/// Likewise for an order that was paid.
async fn cancel_paid(app: &App, order: &Order, patience: &mut Patience) -> Result<bool, Problem> {
    let Order { match_id, member_id, order_id, seats, .. } = order;
    let now = app.clock.now();
    require_not_started(matches::get(app, match_id).await?.starts_at_ms, now)?;
    let account = keys::account(match_id, member_id);
    let mut writes =
        vec![order.at(Status::RefundDue, now).write()?, account::give_back(account, seats, now)];
    let bearer = Bearer::Order(order_id);
    writes.extend(seats.iter().map(|seat| seats::free(match_id, seat, bearer)));
    match app.table(TABLE).transact(writes, patience).await {
        Ok(()) => Ok(true),
        Err(WriteError::Refused(refusals)) if !refusals.includes(ORDER) => {
            Err(Problem::internal("a paid order does not have its seats"))
        }
        Err(WriteError::Refused(_) | WriteError::Conflict(_)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Refuses to take back tickets for a match that has begun.
fn require_not_started(starts_at_ms: i64, now: Instant) -> Result<(), Refusal> {
    if now.as_millis() < starts_at_ms {
        return Ok(());
    }
    Err(Refusal::SaleClosed { closed_at: Instant::from_millis(starts_at_ms), now })
}
