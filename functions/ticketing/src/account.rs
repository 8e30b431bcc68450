//! What a member has of a match: one item, which every write on their seats goes
//! through. So a member has one live hold or unpaid order at a time, and never
//! more seats than allowed, from however many devices they ask.
//!
//! What is open counts only until its time is over: nobody has to close it.

use std::collections::BTreeSet;

use platform::clock::Instant;
use platform::table::{Read, Write, n, read, s, strings};
use platform::{App, Problem};
use serde::Deserialize;

use crate::ids::{HoldId, MatchId, Seat};
use crate::matches::Match;
use crate::refusal::Refusal;
use crate::{TABLE, keys};

/// An account as the table keeps it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Account {
    /// The hold or the order that was opened last.
    #[serde(default)]
    pub open_id: Option<String>,
    /// When the time of that is over.
    #[serde(default)]
    pub open_until_ms: i64,
    /// The seats of that.
    #[serde(default)]
    pub open_seats: BTreeSet<Seat>,
    /// How many seats are bought.
    #[serde(default)]
    pub bought: u32,
    /// Which.
    #[serde(default)]
    pub bought_seats: BTreeSet<Seat>,
    /// The seats that were given back last.
    #[serde(default)]
    pub freed_seats: BTreeSet<Seat>,
    /// When they were.
    #[serde(default)]
    pub freed_at_ms: i64,
}

/// The account of a member, as it is now: an empty one if there is none.
pub async fn get(app: &App, id: &MatchId, member_id: &str) -> Result<Account, Problem> {
    let item = app.table(TABLE).get(keys::account(id, member_id), Read::Consistent).await?;
    item.map_or_else(|| Ok(Account::default()), read)
}

impl Account {
    /// The hold or the order that is open at `now`.
    pub fn open(&self, now: Instant) -> Option<&str> {
        let is_live = self.open_until_ms > now.as_millis();
        self.open_id.as_deref().filter(|_| is_live)
    }

    /// Why `count` more seats of the match may not be held at `now`, if so.
    pub fn refusal(&self, the_match: &Match, count: u32, now: Instant) -> Option<Refusal> {
        if let Some(id) = self.open(now) {
            let until = Instant::from_millis(self.open_until_ms);
            return Some(Refusal::HoldExists { id: id.to_owned(), until });
        }
        let left = the_match.max_seats_per_member.saturating_sub(self.bought);
        (left < count).then_some(Refusal::SeatLimitExceeded { left })
    }
}

/// A set of seats.
pub fn set(seats: &[Seat]) -> platform::table::AttributeValue {
    strings(seats.iter().map(Seat::to_string))
}

/// Opens a hold for a member who has nothing open at `now` and has bought at most
/// `most_bought` seats.
pub fn open(
    key: platform::table::Key,
    hold: &HoldId,
    seats: &[Seat],
    until: Instant,
    now: Instant,
    most_bought: u32,
) -> Write {
    Write::update(key, "SET open_id = :hold, open_until_ms = :until, open_seats = :seats")
        .when("(attribute_not_exists(open_id) OR open_until_ms <= :now)")
        .when("(attribute_not_exists(bought) OR bought <= :most_bought)")
        .bind(":hold", s(hold.as_str()))
        .bind(":until", n(until.as_millis()))
        .bind(":seats", set(seats))
        .bind(":now", n(now.as_millis()))
        .bind(":most_bought", n(most_bought))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matches::tests::a_match;

    #[test]
    fn what_is_open_counts_until_the_millisecond_in_which_it_is_over() {
        let account = Account {
            open_id: Some("h".to_owned()),
            open_until_ms: 1_000,
            bought: 2,
            ..Account::default()
        };
        let refusal =
            |count, at_ms| account.refusal(&a_match(), count, Instant::from_millis(at_ms));
        let until = Instant::from_millis(1_000);
        assert_eq!(refusal(9, 999), Some(Refusal::HoldExists { id: "h".to_owned(), until }));
        assert_eq!(refusal(2, 1_000), None);
        assert_eq!(refusal(3, 1_000), Some(Refusal::SeatLimitExceeded { left: 2 }));
    }
}
