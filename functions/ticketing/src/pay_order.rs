//! `POST /orders/{orderId}/payment`: take a payment that was confirmed. No
//! member sends it and no token comes with it: the body is signed.
//!
//! The money has come, whatever became of the order. So the answer is about the
//! money, and the same each time that a payment is told:
//!
//! | the order | the payment | answer |
//! |---|---|---|
//! | none such | | 404 `ORDER_NOT_FOUND` |
//! | any | another amount | 409 `AMOUNT_MISMATCH`, nothing changes |
//! | has taken this payment | the same again | 200, what it was answered first |
//! | has taken another payment | a further one | 409 `ORDER_PAID`, nothing changes |
//! | pending, in time or late, its seats still its own | | 200 `PAID`, the seats are sold |
//! | pending, some of its seats are somebody else's | | 200 `REFUND_DUE` |
//! | pending and late, and its member has too much else by now | | 200 `REFUND_DUE` |
//! | cancelled | | 200 `REFUND_DUE` |
//! | any that has taken none | was for another order | 409 `PAYMENT_REUSED`, nothing changes |
//!
//! An order takes one payment, and a payment is for one order: the signature
//! says nothing of the order, so nobody may send it on to another one.

use std::sync::Arc;

use garde::Validate;
use platform::clock::Instant;
use platform::table::{Key, Patience, Read, Refusals, Write, WriteError, read};
use platform::text::{self, Text};
use platform::{App, Function, Operation, Problem, Reply, Request, http};
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::account::{self, Account};
use crate::ids::OrderId;
use crate::matches::{self, Match};
use crate::order::{self, Order, Owner, Status, note_payment};
use crate::refusal::Refusal;
use crate::{TABLE, keys, seats, signature};

/// The function.
pub static FUNCTION: Function = Function::http("pay-order", |a, r| Box::pin(handle(a, r)));

/// Writes of the transaction, in order: a failed condition is known by its
/// place. Then come the seats.
const ORDER: usize = 0;
const PAYMENT: usize = 1;
const ACCOUNT: usize = 2;

#[derive(Deserialize, Validate, ToSchema)]
#[serde(rename_all = "camelCase")]
#[garde(allow_unvalidated)]
struct Body {
    #[garde(custom(text::title))]
    #[schema(value_type = text::Title)]
    payment_id: Text,
    amount: u64,
    paid_at: Instant,
}

/// What the document says of it.
pub fn operation() -> Operation {
    let payment = json!({
        "paymentId": "pay-7", "amount": 9000, "paidAt": "2030-05-01T09:08:00Z",
    });
    let mut paid = order::example();
    paid["status"] = json!("PAID");
    paid["paidAt"] = payment["paidAt"].clone();
    let summary = "Take a payment that was confirmed.";
    Operation::new(FUNCTION, "POST /orders/{orderId}/payment", summary)
        .for_signers()
        .path::<OrderId>("orderId", "01941f29-7c00-7000-8000-0000000000c3")
        .body::<Body>(payment)
        .answers::<order::View<'_>>(paid)
        .refuses([
            Refusal::OrderNotFound,
            Refusal::AmountMismatch { amount: 18_000 },
            Refusal::OrderPaid,
            Refusal::PaymentReused,
        ])
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    signature::require(app, &request).await?;
    let order_id: OrderId = http::path(&request, "orderId")?;
    let body: Body = http::body(&request)?;
    let item = app.table(TABLE).get(keys::owner(&order_id), Read::Consistent).await?;
    let owner: Owner = read(item.ok_or(Refusal::OrderNotFound)?)?;
    let the_match = matches::get(app, &owner.match_id).await?;
    Payment { app, body, order_id, owner, the_match }.take().await
}

/// A payment for an order that is there.
struct Payment<'a> {
    app: &'a App,
    body: Body,
    order_id: OrderId,
    owner: Owner,
    the_match: Arc<Match>,
}

/// What becomes of the order.
enum Outcome {
    /// Its seats are sold. The write is the account's.
    Sold(Write),
    /// The money goes back: because of the order alone, or because of what else
    /// the account has. Then the write checks that it still has.
    RefundDue(Option<Write>),
}

impl Payment<'_> {
    async fn take(&self) -> Result<Reply, Problem> {
        let mut patience = Patience::default();
        let mut has_lost_seats = false;
        loop {
            let (order, account) = self.look().await?;
            if let Some(answer) = self.answer(&order)? {
                return Ok(answer);
            }
            let now = self.app.clock.now();
            let outcome = self.outcome(&order, &account, has_lost_seats, now);
            let (paid, writes) = self.writes(&order, outcome, now)?;
            match self.app.table(TABLE).transact(writes, &mut patience).await {
                Ok(()) => return Reply::ok(&paid.view(now)),
                Err(WriteError::Refused(refusals)) => has_lost_seats = self.explain(refusals)?,
                Err(WriteError::Conflict(_)) => {}
                Err(error) => return Err(error.into()),
            }
            if !patience.pause(self.app).await {
                return Err(Problem::busy("the order is contended past the budget"));
            }
        }
    }

    fn account_key(&self) -> Key {
        keys::account(&self.owner.match_id, &self.owner.member_id)
    }

    async fn look(&self) -> Result<(Order, Account), Problem> {
        let order_key = keys::order(&self.owner.member_id, &self.order_id);
        let table = self.app.table(TABLE);
        let beside = Some(self.account_key());
        let (order, account) = table.get_beside(order_key, beside, Read::Consistent).await?;
        let order = order.ok_or_else(|| Problem::internal("an order is missing"))?;
        Ok((read(order)?, account.map(read).transpose()?.unwrap_or_default()))
    }

    /// The answer, if nothing has to change for it.
    fn answer(&self, order: &Order) -> Result<Option<Reply>, Problem> {
        if order.amount != self.body.amount {
            return Err(Refusal::AmountMismatch { amount: order.amount }.into());
        }
        let Some(payment_id) = &order.payment_id else { return Ok(None) };
        if payment_id != self.body.payment_id.as_str() {
            return Err(Refusal::OrderPaid.into());
        }
        let status = order.paid_as.unwrap_or(order.status);
        Reply::ok(&order.view_as(status, self.app.clock.now())).map(Some)
    }

    /// What becomes of an order that has taken no payment yet.
    fn outcome(
        &self,
        order: &Order,
        account: &Account,
        has_lost_seats: bool,
        now: Instant,
    ) -> Outcome {
        if order.status != Status::PendingPayment || has_lost_seats {
            return Outcome::RefundDue(None);
        }
        let key = self.account_key();
        if account.has_room(&self.the_match, &order.order_id, order.seats.len(), now) {
            return Outcome::Sold(account::buy(key, account, &order.order_id, &order.seats));
        }
        Outcome::RefundDue(Some(account::as_seen(Write::check(key), account)))
    }

    /// The order as it becomes, and the writes that make it so.
    fn writes(
        &self,
        order: &Order,
        outcome: Outcome,
        now: Instant,
    ) -> Result<(Order, Vec<Write>), Problem> {
        let (status, account, sold) = match outcome {
            Outcome::Sold(account) => (Status::Paid, Some(account), order.seats.as_slice()),
            Outcome::RefundDue(account) => (Status::RefundDue, account, [].as_slice()),
        };
        let paid = Order {
            payment_id: Some(self.body.payment_id.as_str().to_owned()),
            paid_at_ms: Some(self.body.paid_at.as_millis()),
            paid_as: Some(status),
            ..order.at(status, now)
        };
        let payment = note_payment(self.body.payment_id.as_str(), &order.order_id);
        let mut writes = vec![paid.write()?, payment];
        writes.extend(account);
        writes.extend(sold.iter().map(|seat| seats::sell(&order.match_id, seat, &order.order_id)));
        Ok((paid, writes))
    }

    /// Whether the order has lost seats, by the conditions that failed. If it,
    /// or the account, has changed, then that must be looked at anew first.
    fn explain(&self, mut refusals: Refusals) -> Result<bool, Problem> {
        if let Some(Some(item)) = refusals.take(PAYMENT) {
            let order_id = item.get("order_id").and_then(|id| id.as_s().ok());
            if order_id.is_none_or(|id| id != self.order_id.as_str()) {
                return Err(Refusal::PaymentReused.into());
            }
            return Ok(false); // it was told twice, and the other was faster
        }
        Ok(!refusals.includes(ORDER) && !refusals.includes(ACCOUNT))
    }
}
