//! The writes on seats. A seat is one item, and who has it stands in it: the hold
//! or the order that took it last, until when, and whether it is sold.
//!
//! An id that was taken off a seat never comes back to it. So a seat that was
//! seen without it once is somebody else's, or nobody's, for good.

use platform::clock::Instant;
use platform::table::{Write, n, s};
use serde::Deserialize;

use crate::ids::{HoldId, MatchId, OrderId, Seat};
use crate::keys;

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
