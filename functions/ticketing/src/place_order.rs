//! `POST /orders`: turn a hold into an order.
//!
//! One transaction over exactly the held seats: each must still bear the hold,
//! and its time must not be over. A hold makes one order, so whoever asks again
//! gets that one, as it stands: also when its time to pay is over, since it can
//! still be paid while nobody took its seats.

use garde::Validate;
use platform::clock::Instant;
use platform::idempotency::Idempotency;
use platform::table::{Item, Patience, Read, Refusals, Write, WriteError, n, s};
use platform::{App, Function, Operation, Problem, Reply, Request, auth, http};
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::hold::{Hold, KEPT_MS};
use crate::ids::{HoldId, OrderId};
use crate::order::{self, Order, Owner, Status};
use crate::pass::{self, Age};
use crate::refusal::Refusal;
use crate::{TABLE, account, keys, matches, seats};

/// The function.
pub static FUNCTION: Function = Function::http(NAME, |a, r| Box::pin(handle(a, r)));

const NAME: &str = "place-order";

/// Writes of the transaction, in order: a failed condition is known by its
/// place. After the owner come the seats, and the kept answer.
const HOLD: usize = 0;
const FIRST_SEAT: usize = 4;

#[derive(Deserialize, Validate, ToSchema)]
#[serde(rename_all = "camelCase")]
#[garde(allow_unvalidated)]
struct Body {
    hold_id: HoldId,
}

/// What the document says of it.
pub fn operation() -> Operation {
    Operation::new(FUNCTION, "POST /orders", "Turn a hold into an order.")
        .for_members()
        .keyed()
        .header(pass::HEADER, "A pass for the match, which may be over.")
        .body::<Body>(json!({ "holdId": "01941f29-7c00-7000-8000-0000000000c2" }))
        .creates::<order::View<'_>>(order::example())
        .refuses([
            Refusal::HoldNotFound,
            Refusal::PassRequired,
            Refusal::HoldLapsed,
            Refusal::OrderPaid,
            Refusal::OrderCancelled,
        ])
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    let body: Body = http::body(&request)?;
    let idempotency = Idempotency::of(&request, &caller, NAME)?;
    let hold_key = keys::hold(&caller.member_id, &body.hold_id);
    let kept_key = idempotency.as_ref().map(Idempotency::key);
    let table = app.table(TABLE);
    let (hold, kept) = table.get_beside(hold_key, kept_key, Read::Consistent).await?;
    if let Some(served) = replay(app, idempotency.as_ref(), kept)? {
        return Ok(served);
    }
    let hold = Hold::known(hold, app.clock.now())?.ok_or(Refusal::HoldNotFound)?;
    pass::require(app, &request, &caller, &hold.match_id, Age::Any).await?;
    if let Some(id) = &hold.order_id {
        return placed_before(app, &caller.member_id, id, idempotency.as_ref()).await;
    }
    let now = app.clock.now();
    require_live(&hold, now)?;
    let the_match = matches::get(app, &hold.match_id).await?;
    let order = Order::new(app, &caller.member_id, &hold, &the_match, now);
    let reply = created(&order, now)?;
    Attempt { app, hold, order, reply, idempotency }.place().await
}

fn created(order: &Order, now: Instant) -> Result<Reply, Problem> {
    Reply::created(format!("/orders/{}", order.order_id), &order.view(now))
}

/// Spares a write that each seat would refuse, since a hold may also lapse later.
fn require_live(hold: &Hold, now: Instant) -> Result<(), Refusal> {
    if hold.held_until_ms > now.as_millis() { Ok(()) } else { Err(Refusal::HoldLapsed) }
}

/// The order that the hold has made already. That is an answer too, which a
/// repeat under the same key gets again.
async fn placed_before(
    app: &App,
    member_id: &str,
    id: &OrderId,
    idempotency: Option<&Idempotency>,
) -> Result<Reply, Problem> {
    let order = order::get(app, member_id, id).await?;
    let order = order.ok_or_else(|| Problem::internal("a hold's order is missing"))?;
    let now = app.clock.now();
    let reply = match order.status {
        Status::PendingPayment => created(&order, now)?,
        Status::Paid => return Err(Refusal::OrderPaid.into()),
        Status::Cancelled | Status::RefundDue => return Err(Refusal::OrderCancelled.into()),
    };
    let Some(key) = idempotency else { return Ok(reply) };
    match app.table(TABLE).commit(vec![key.write(&reply, now)?]).await {
        Ok(()) => Ok(reply),
        Err(WriteError::Refused(mut refusals)) => {
            let kept = refusals.take(0).flatten(); // somebody was faster under this key
            Ok(replay(app, idempotency, kept)?.unwrap_or(reply))
        }
        Err(error) => Err(error.into()),
    }
}

fn replay(
    app: &App,
    idempotency: Option<&Idempotency>,
    kept: Option<Item>,
) -> Result<Option<Reply>, Problem> {
    match (idempotency, kept) {
        (Some(idempotency), Some(kept)) => idempotency.replay(kept, app.clock.now()),
        _ => Ok(None),
    }
}

/// One attempt to turn one hold into one order.
struct Attempt<'a> {
    app: &'a App,
    hold: Hold,
    order: Order,
    reply: Reply,
    idempotency: Option<Idempotency>,
}

impl Attempt<'_> {
    async fn place(&self) -> Result<Reply, Problem> {
        let mut patience = Patience::default();
        loop {
            let writes = self.writes(self.app.clock.now())?;
            match self.app.table(TABLE).transact(writes, &mut patience).await {
                Ok(()) => return Ok(self.reply.clone()),
                Err(WriteError::Refused(refusals)) => {
                    if let Some(reply) = self.explain(refusals).await? {
                        return Ok(reply);
                    }
                }
                Err(WriteError::Conflict(_)) => {}
                Err(error) => return Err(error.into()),
            }
            if !patience.pause(self.app).await {
                return Err(Problem::busy("the seats are contended past the budget"));
            }
        }
    }

    fn writes(&self, now: Instant) -> Result<Vec<Write>, Problem> {
        let Order { order_id, match_id, member_id, .. } = &self.order;
        let (hold_id, pay_by) = (&self.hold.hold_id, Instant::from_millis(self.order.pay_by_ms));
        let ordered = "SET order_id = :order, expires_at_s = :expires";
        let mut writes = vec![
            Write::update(keys::hold(member_id, hold_id), ordered)
                .when("attribute_exists(pk) AND attribute_not_exists(order_id)")
                .bind(":order", s(order_id.as_str()))
                .bind(":expires", n(pay_by.plus_millis(KEPT_MS).as_seconds())),
            account::order(keys::account(match_id, member_id), hold_id, order_id, pay_by),
            // Whatever comes twice meets the hold first; an id does not come twice.
            Write::put(self.order.to_item()?).when("attribute_not_exists(pk)"),
            Write::put(Owner::item_of(&self.order)?).when("attribute_not_exists(pk)"),
        ];
        let turn = |seat| seats::order(match_id, seat, hold_id, order_id, pay_by, now);
        writes.extend(self.order.seats.iter().map(turn));
        if let Some(idempotency) = &self.idempotency {
            writes.push(idempotency.write(&self.reply, now)?);
        }
        Ok(writes)
    }

    /// Why conditions failed, by the items that they met; or the answer, if the
    /// hold was ordered meanwhile. `None` if it is worth another try.
    async fn explain(&self, mut refusals: Refusals) -> Result<Option<Reply>, Problem> {
        if let Some(kept) = refusals.take(FIRST_SEAT + self.order.seats.len()) {
            return replay(self.app, self.idempotency.as_ref(), kept);
        }
        let Some(hold) = refusals.take(HOLD) else {
            return Err(Refusal::HoldLapsed.into()); // the account, or a seat, bears it no longer
        };
        let hold = Hold::known(hold, self.app.clock.now())?.ok_or(Refusal::HoldNotFound)?;
        match &hold.order_id {
            Some(id) if *id == self.order.order_id => Ok(Some(self.reply.clone())),
            Some(id) => {
                let (member_id, key) = (&self.order.member_id, self.idempotency.as_ref());
                placed_before(self.app, member_id, id, key).await.map(Some)
            }
            None => Err(Problem::internal("a hold refused without a reason")),
        }
    }
}
