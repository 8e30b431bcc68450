//! An order as the table keeps it and as its member sees it.
//!
//! ```text
//!  PENDING_PAYMENT ── paid, its seats still its own ──► PAID ── cancelled ──┐
//!    │   └─ paid too late ────────────────────────────────────────────► REFUND_DUE
//!    └─ cancelled ──► CANCELLED ── paid all the same ───────────────────────┘
//! ```
//!
//! An order whose time to pay is over is `LAPSED` to whoever looks, and nothing
//! is written for that. It can still be paid while nobody took its seats.

use platform::clock::Instant;
use platform::table::{Item, Read, Write, item, n, read, s};
use platform::{App, Problem};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::hold::Hold;
use crate::ids::{HoldId, MatchId, OrderId, Seat, SeatName};
use crate::matches::Match;
use crate::{TABLE, keys};

/// Where an order stands, as far as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Status {
    /// It waits for its payment.
    PendingPayment,
    /// It is paid, and its seats are sold.
    Paid,
    /// It was cancelled before it was paid.
    Cancelled,
    /// It was paid, and the money has to go back.
    RefundDue,
}

/// Where an order stands, as its member sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[schema(as = OrderStatus)]
enum Shown {
    PendingPayment,
    Lapsed,
    Paid,
    Cancelled,
    RefundDue,
}

impl Status {
    /// Its name, as in `PENDING_PAYMENT`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PendingPayment => "PENDING_PAYMENT",
            Self::Paid => "PAID",
            Self::Cancelled => "CANCELLED",
            Self::RefundDue => "REFUND_DUE",
        }
    }
}

/// An order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Its id.
    pub order_id: OrderId,
    /// Of which match.
    pub match_id: MatchId,
    /// Whose.
    pub member_id: String,
    /// The hold that it came from.
    pub hold_id: HoldId,
    /// Which seats.
    pub seats: Vec<Seat>,
    /// What they cost together.
    pub amount: u64,
    /// Where it stands.
    pub status: Status,
    /// When its time to pay is over.
    pub pay_by_ms: i64,
    /// The payment that it has taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payment_id: Option<String>,
    /// When that was paid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paid_at_ms: Option<i64>,
    /// What became of the order when it took the payment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paid_as: Option<Status>,
    /// Counts changes.
    pub version: u64,
    /// When it changed last.
    pub updated_at_ms: i64,
}

/// An order as JSON.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct View<'a> {
    order_id: &'a OrderId,
    match_id: &'a MatchId,
    #[schema(value_type = Vec<SeatName>)]
    seats: &'a [Seat],
    amount: u64,
    status: Shown,
    pay_by: Instant,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    paid_at: Option<Instant>,
}

/// An order in the document's examples.
pub(crate) fn example() -> Value {
    json!({
        "orderId": "01941f29-7c00-7000-8000-0000000000c3",
        "matchId": "final",
        "seats": ["A-1-1", "A-1-2"],
        "amount": 18000,
        "status": "PENDING_PAYMENT",
        "payBy": "2030-05-01T09:10:00Z",
    })
}

impl Order {
    /// The order of a hold, placed at `now`.
    pub fn new(app: &App, member_id: &str, hold: &Hold, the_match: &Match, now: Instant) -> Self {
        let pay_by = now.plus_millis(i64::from(the_match.pay_minutes) * 60 * 1000);
        Self {
            order_id: OrderId::new(app),
            match_id: hold.match_id.clone(),
            member_id: member_id.to_owned(),
            hold_id: hold.hold_id.clone(),
            seats: hold.seats.clone(),
            amount: hold.amount,
            status: Status::PendingPayment,
            pay_by_ms: pay_by.as_millis(),
            payment_id: None,
            paid_at_ms: None,
            paid_as: None,
            version: 1,
            updated_at_ms: now.as_millis(),
        }
    }

    /// The item, with its key.
    pub fn to_item(&self) -> Result<Item, Problem> {
        item(keys::order(&self.member_id, &self.order_id), self)
    }

    /// What its member sees at `now`.
    pub fn view(&self, now: Instant) -> View<'_> {
        self.view_as(self.status, now)
    }

    /// What was seen of it when it stood at `status`.
    pub fn view_as(&self, status: Status, now: Instant) -> View<'_> {
        let is_over = self.pay_by_ms <= now.as_millis();
        View {
            order_id: &self.order_id,
            match_id: &self.match_id,
            seats: &self.seats,
            amount: self.amount,
            status: match status {
                Status::PendingPayment if is_over => Shown::Lapsed,
                Status::PendingPayment => Shown::PendingPayment,
                Status::Paid => Shown::Paid,
                Status::Cancelled => Shown::Cancelled,
                Status::RefundDue => Shown::RefundDue,
            },
            pay_by: Instant::from_millis(self.pay_by_ms),
            paid_at: self.paid_at_ms.map(Instant::from_millis),
        }
    }

    /// The order at its next version, standing at `status` from `now` on. Its
    /// times are in the order of its versions.
    #[must_use]
    pub fn at(&self, status: Status, now: Instant) -> Self {
        let updated_at_ms = now.as_millis().max(self.updated_at_ms);
        Self { status, version: self.version + 1, updated_at_ms, ..self.clone() }
    }

    /// The write that puts the order in the place of the version before it.
    pub fn write(&self) -> Result<Write, Problem> {
        let write = Write::put(self.to_item()?);
        Ok(write.when("version = :before").bind(":before", n(self.version - 1)))
    }
}

/// An order of a member, as it is now.
pub async fn get(app: &App, member_id: &str, id: &OrderId) -> Result<Option<Order>, Problem> {
    let item = app.table(TABLE).get(keys::order(member_id, id), Read::Consistent).await?;
    item.map(read).transpose()
}

/// Whose an order is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// The member.
    pub member_id: String,
    /// The match.
    pub match_id: MatchId,
}

impl Owner {
    /// The item that says whose `order` is.
    pub fn item_of(order: &Order) -> Result<Item, Problem> {
        let owner = Self { member_id: order.member_id.clone(), match_id: order.match_id.clone() };
        item(keys::owner(&order.order_id), &owner)
    }
}

/// The write that keeps that a payment was for the order, refused if it was for
/// any before.
pub fn note_payment(payment_id: &str, order: &OrderId) -> Write {
    let mut item = keys::payment(payment_id).into_item();
    item.insert("order_id".to_owned(), s(order.as_str()));
    Write::put(item).when("attribute_not_exists(pk)")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    const ID: &str = "01941f29-7c00-7000-8000-000000000001";

    pub(crate) fn an_order() -> Order {
        Order {
            order_id: ID.parse().unwrap(),
            match_id: "final".parse().unwrap(),
            member_id: "m-1".to_owned(),
            hold_id: ID.parse().unwrap(),
            seats: vec!["A-1-2".parse().unwrap(), "A-1-1".parse().unwrap()],
            amount: 10_000,
            status: Status::PendingPayment,
            pay_by_ms: 1_893_456_600_000,
            payment_id: None,
            paid_at_ms: None,
            paid_as: None,
            version: 1,
            updated_at_ms: 1_893_456_000_500,
        }
    }

    #[test]
    fn an_unpaid_order_lapses_on_the_millisecond_and_no_other_does() {
        let order = an_order();
        let shown = |order: &Order, at_ms| order.view(Instant::from_millis(at_ms)).status;
        assert_eq!(shown(&order, order.pay_by_ms - 1), Shown::PendingPayment);
        assert_eq!(shown(&order, order.pay_by_ms), Shown::Lapsed);
        for (status, expected) in [
            (Status::Paid, Shown::Paid),
            (Status::Cancelled, Shown::Cancelled),
            (Status::RefundDue, Shown::RefundDue),
        ] {
            let order = order.at(status, Instant::from_millis(0));
            assert_eq!(shown(&order, order.pay_by_ms), expected);
        }
    }

    #[test]
    fn a_version_is_never_earlier_than_the_one_before() {
        let order = an_order();
        let next = order.at(Status::Paid, Instant::from_millis(order.updated_at_ms - 7));
        assert_eq!((next.version, next.updated_at_ms), (2, order.updated_at_ms));
        let later = Instant::from_millis(order.updated_at_ms + 7);
        assert_eq!(order.at(Status::Paid, later).updated_at_ms, order.updated_at_ms + 7);
    }

    #[test]
    fn an_order_survives_the_table() {
        let order = an_order();
        assert_eq!(read::<Order>(order.to_item().unwrap()).unwrap(), order);
        let paid = Order {
            payment_id: Some("p-1".to_owned()),
            paid_at_ms: Some(-5),
            paid_as: Some(Status::Paid),
            ..order.at(Status::Paid, Instant::from_millis(0))
        };
        assert_eq!(read::<Order>(paid.to_item().unwrap()).unwrap(), paid);
        assert_eq!(paid.to_item().unwrap()["status"], s(Status::Paid.as_str()));
    }
}
