//! The writes on seats. A seat is one item, and who has it stands in it: the hold
//! or the order that took it last, until when, and whether it is sold.
//!
//! An id that was taken off a seat never comes back to it. So a seat that was
//! seen without it once is somebody else's, or nobody's, for good.

use platform::clock::Instant;
use platform::table::{AttributeValue, Refusals, Write, n, s};
use serde::Deserialize;

use crate::ids::{HoldId, MatchId, OrderId, Seat};
use crate::{account, keys};

/// A seat as the table keeps it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct State {
    /// The hold that has it, while it is held.
    #[serde(default)]
    pub hold_id: Option<HoldId>,
    /// The order that has it, once it is ordered.
    #[serde(default)]
    pub order_id: Option<OrderId>,
    /// When the hold ends, or the time to pay.
    #[serde(default)]
    pub held_until_ms: Option<i64>,
    /// Whether it is sold.
    #[serde(default)]
    pub sold: bool,
}

impl State {
    /// Whether anybody may take it at `now`.
    pub fn is_free(&self, now: Instant) -> bool {
        !self.sold && self.held_until_ms.is_none_or(|until_ms| until_ms <= now.as_millis())
    }
}

/// Takes a seat that is free at `now` for a hold.
pub fn hold(id: &MatchId, seat: &Seat, hold: &HoldId, until: Instant, now: Instant) -> Write {
    Write::update(
        keys::seat(id, seat),
        "SET hold_id = :hold, held_until_ms = :until REMOVE order_id",
    )
    .when("attribute_not_exists(sold)")
    .when("(attribute_not_exists(held_until_ms) OR held_until_ms <= :now)")
    .bind(":hold", s(hold.as_str()))
    .bind(":until", n(until.as_millis()))
    .bind(":now", n(now.as_millis()))
}

/// Turns a seat of a hold that is live at `now` into one of an order.
pub fn order(
    id: &MatchId,
    seat: &Seat,
    hold: &HoldId,
    order: &OrderId,
    pay_by: Instant,
    now: Instant,
) -> Write {
    Write::update(
        keys::seat(id, seat),
        "SET order_id = :order, held_until_ms = :until REMOVE hold_id",
    )
    .when("hold_id = :hold AND held_until_ms > :now")
    .bind(":hold", s(hold.as_str()))
    .bind(":order", s(order.as_str()))
    .bind(":until", n(pay_by.as_millis()))
    .bind(":now", n(now.as_millis()))
}

/// Sells a seat that still bears the order, however long ago its time was over.
/// That it is sold once is for the order's version to say.
pub fn sell(id: &MatchId, seat: &Seat, order: &OrderId) -> Write {
    Write::update(keys::seat(id, seat), "SET sold = :true REMOVE held_until_ms")
        .when("order_id = :order")
        .bind(":order", s(order.as_str()))
        .bind(":true", AttributeValue::Bool(true))
}

/// Frees a seat that still bears the id, sold or not.
pub fn free(id: &MatchId, seat: &Seat, bearer: Bearer<'_>) -> Write {
    let (attribute, bearer) = match bearer {
        Bearer::Hold(id) => ("hold_id", id.as_str()),
        Bearer::Order(id) => ("order_id", id.as_str()),
    };
    Write::update(keys::seat(id, seat), "REMOVE hold_id, order_id, held_until_ms, sold")
        .when("#bearer = :bearer")
        .name("#bearer", attribute)
        .bind(":bearer", s(bearer))
}

/// What a seat is taken by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bearer<'a> {
    /// A hold.
    Hold(&'a HoldId),
    /// An order.
    Order(&'a OrderId),
}

impl Bearer<'_> {
    /// Its id.
    pub fn id(&self) -> &str {
        match self {
            Self::Hold(id) => id.as_str(),
            Self::Order(id) => id.as_str(),
        }
    }
}

/// Frees what a member has by a hold or an unpaid order: the account, and each
/// seat. Once the time is over some of it may be somebody else's, and is left
/// out.
pub struct Freeing<'a> {
    match_id: &'a MatchId,
    member_id: &'a str,
    bearer: Bearer<'a>,
    all: &'a [Seat],
    is_open: bool,
    left: Vec<&'a Seat>,
}

impl<'a> Freeing<'a> {
    /// All of `seats`, and the account.
    pub fn new(
        match_id: &'a MatchId,
        member_id: &'a str,
        bearer: Bearer<'a>,
        seats: &'a [Seat],
    ) -> Self {
        let left = seats.iter().collect();
        Self { match_id, member_id, bearer, all: seats, is_open: true, left }
    }

    /// The writes that free what is left.
    pub fn writes(&self, now: Instant) -> Vec<Write> {
        let account = keys::account(self.match_id, self.member_id);
        let close = || account::close(account, self.bearer.id(), self.all, now);
        let seats = self.left.iter().map(|seat| free(self.match_id, seat, self.bearer));
        self.is_open.then(close).into_iter().chain(seats).collect()
    }

    /// Leaves out what refused, `first` being the place of the first of these
    /// writes; whether anything did. It bears another id, or none, for good.
    pub fn leave_out(&mut self, refusals: &Refusals, first: usize) -> bool {
        let before = self.left.len() + usize::from(self.is_open);
        let first_seat = first + usize::from(self.is_open);
        self.is_open &= !refusals.includes(first);
        let places = (first_seat..).zip(std::mem::take(&mut self.left));
        let bear_it = places.filter(|(place, _)| !refusals.includes(*place));
        self.left = bear_it.map(|(_, seat)| seat).collect();
        self.left.len() + usize::from(self.is_open) < before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seat_is_free_from_the_millisecond_in_which_its_time_is_over() {
        let now = Instant::from_millis(1_000);
        let held = |until_ms| State { held_until_ms: Some(until_ms), ..State::default() };
        assert!(State::default().is_free(now));
        assert!(held(1_000).is_free(now) && held(999).is_free(now));
        assert!(!held(1_001).is_free(now));
        assert!(!State { sold: true, ..State::default() }.is_free(now));
    }
}
