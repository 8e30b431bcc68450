//! What a member has of a match: one item, which every write on their seats goes
//! through. So a member has one live hold or unpaid order at a time, and never
//! more seats than allowed, from however many devices they ask.
//!
//! What is open counts only until its time is over: nobody has to close it.

use std::collections::BTreeSet;
use std::sync::Arc;

use platform::clock::Instant;
use platform::table::{AttributeValue, Key, Read, Write, n, read, s, strings};
use platform::{App, Problem};
use serde::Deserialize;

use crate::hold::Hold;
use crate::ids::{HoldId, MatchId, OrderId, Seat};
use crate::layout::Block;
use crate::map::{Map, Taken};
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
    /// The limit that was kept when it was opened.
    #[serde(default)]
    pub open_limit: u32,
    /// How many seats are bought.
    #[serde(default)]
    pub bought: u32,
    /// Which.
    #[serde(default)]
    pub bought_seats: BTreeSet<Seat>,
    /// What was given back last.
    #[serde(default)]
    freed_1: Option<Freed>,
    #[serde(default)]
    freed_2: Option<Freed>,
    #[serde(default)]
    freed_3: Option<Freed>,
    #[serde(default)]
    freed_4: Option<Freed>,
    /// What was given back fifth last. Only those of the last moments matter, and
    /// nobody gives back more often than that meanwhile.
    #[serde(default)]
    freed_5: Option<Freed>,
}

/// Makes room for what is given back now.
const FREE: &str = "freed_5 = if_not_exists(freed_4, :none), \
                    freed_4 = if_not_exists(freed_3, :none), \
                    freed_3 = if_not_exists(freed_2, :none), \
                    freed_2 = if_not_exists(freed_1, :none), freed_1 = :freed";

/// Seats that were given back together.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
struct Freed {
    at_ms: i64,
    seats: BTreeSet<Seat>,
}

/// A member's account of a match, as it is now.
pub async fn get(app: &App, match_id: &MatchId, member_id: &str) -> Result<Account, Problem> {
    let item = app.table(TABLE).get(keys::account(match_id, member_id), Read::Consistent).await?;
    Ok(item.map(read).transpose()?.unwrap_or_default())
}

impl Account {
    /// A block's map as its member sees it at `now`, with what they did themselves: maps
    /// lag by the stream.
    pub fn noted_on(&self, map: &Arc<Map>, block: &Block, now: Instant) -> Arc<Map> {
        let freed = [&self.freed_5, &self.freed_4, &self.freed_3, &self.freed_2, &self.freed_1];
        let freed = freed.into_iter().flatten().filter(|freed| freed.at_ms >= map.counted_at_ms);
        let free = freed.flat_map(|freed| &freed.seats).map(|seat| (seat, Taken::default()));
        let held = Taken { sold: false, held_until_ms: Some(self.open_until_ms) };
        let open = self.open(now).is_some().then_some(&self.open_seats);
        let held = open.into_iter().flatten().map(|seat| (seat, held.clone()));
        let sold = Taken { sold: true, held_until_ms: None };
        let sold = self.bought_seats.iter().map(|seat| (seat, sold.clone()));
        let own = free.chain(held).chain(sold).filter(|(seat, _)| seat.block == block.block);
        let mut noted = Arc::clone(map);
        for (seat, taken) in own {
            Arc::make_mut(&mut noted).note(block.place(seat.row, seat.number), &taken);
        }
        noted
    }

    /// The hold or the order that is open at `now`.
    pub fn open(&self, now: Instant) -> Option<&str> {
        let is_live = self.open_until_ms > now.as_millis();
        self.open_id.as_deref().filter(|_| is_live)
    }

    /// Whether the `count` seats of an order, beside what is bought and what else
    /// is open at `now`, are within the limit: the one that the match has, or the
    /// one that they were held under if nothing was opened since.
    pub fn has_room(&self, the_match: &Match, order: &OrderId, count: usize, now: Instant) -> bool {
        let limit = the_match.max_seats_per_member;
        let (limit, open) = match self.open_id.as_deref() {
            Some(id) if id == order.as_str() => (limit.max(self.open_limit), 0),
            _ => (limit, self.open(now).map_or(0, |_| self.open_seats.len())),
        };
        let bought = usize::try_from(self.bought).unwrap_or(usize::MAX);
        let all = bought.saturating_add(open).saturating_add(count);
        u32::try_from(all).is_ok_and(|all| all <= limit)
    }

    /// Why `count` more seats of the match may not be held at `now`, if so.
    pub fn refusal(&self, the_match: &Match, count: usize, now: Instant) -> Option<Refusal> {
        if let Some(id) = self.open(now) {
            let until = Instant::from_millis(self.open_until_ms);
            return Some(Refusal::HoldExists { id: id.to_owned(), until });
        }
        let left = the_match.max_seats_per_member.saturating_sub(self.bought);
        let is_enough = u32::try_from(count).is_ok_and(|count| count <= left);
        (!is_enough).then_some(Refusal::SeatLimitExceeded { left })
    }
}

fn set(seats: &[Seat]) -> AttributeValue {
    strings(seats.iter().map(Seat::to_string))
}

/// Opens a hold that is live from `now` on, for a member who has nothing open, and
/// with it has no more seats than the match allows: `None` if `hold` alone is more.
pub fn open(key: Key, hold: &Hold, the_match: &Match, now: Instant) -> Option<Write> {
    let count = u32::try_from(hold.seats.len()).ok()?;
    let most_bought = the_match.max_seats_per_member.checked_sub(count)?;
    let open = "SET open_id = :hold, open_until_ms = :until, open_seats = :seats, \
                open_limit = :limit";
    let write = Write::update(key, open)
        .when("(attribute_not_exists(open_id) OR open_until_ms <= :now)")
        .when("(attribute_not_exists(bought) OR bought <= :most_bought)")
        .bind(":hold", s(hold.hold_id.as_str()))
        .bind(":until", n(hold.held_until_ms))
        .bind(":seats", set(&hold.seats))
        .bind(":limit", n(the_match.max_seats_per_member))
        .bind(":now", n(now.as_millis()))
        .bind(":most_bought", n(most_bought));
    Some(write)
}

/// Turns the open hold into an order.
pub fn order(key: Key, hold: &HoldId, order: &OrderId, pay_by: Instant) -> Write {
    Write::update(key, "SET open_id = :order, open_until_ms = :until")
        .when("open_id = :hold")
        .bind(":hold", s(hold.as_str()))
        .bind(":order", s(order.as_str()))
        .bind(":until", n(pay_by.as_millis()))
}

/// Closes the hold or the order `id`, whose seats are given back at `now`.
pub fn close(key: Key, id: &str, seats: &[Seat], now: Instant) -> Write {
    let close = "REMOVE open_id, open_until_ms, open_seats, open_limit";
    let close = Write::update(key, format!("SET {FREE} {close}")).when("open_id = :id");
    free(close, seats, now).bind(":id", s(id))
}

/// Binds what [`FREE`] notes.
fn free(write: Write, seats: &[Seat], now: Instant) -> Write {
    let freed = [("at_ms".to_owned(), n(now.as_millis())), ("seats".to_owned(), set(seats))];
    write.bind(":freed", AttributeValue::M(freed.into())).bind(":none", AttributeValue::Null(true))
}

/// Buys the seats of an order, for the account `seen`. If that is what is open, it
/// is closed.
pub fn buy(key: Key, seen: &Account, order: &OrderId, seats: &[Seat]) -> Write {
    let is_open = seen.open_id.as_deref() == Some(order.as_str());
    let close = if is_open { " REMOVE open_id, open_until_ms, open_seats, open_limit" } else { "" };
    let buy = "SET bought = if_not_exists(bought, :zero) + :count ADD bought_seats :seats";
    as_seen(Write::update(key, format!("{buy}{close}")), seen)
        .bind(":zero", n(0))
        .bind(":count", n(seats.len()))
        .bind(":seats", set(seats))
}

/// Refuses unless the account is still what was `seen`. What is open has one end
/// as long as it is open, so its id tells that too.
pub fn as_seen(write: Write, seen: &Account) -> Write {
    let write = match &seen.open_id {
        None => write.when("attribute_not_exists(open_id)"),
        Some(id) => write.when("open_id = :seen_open").bind(":seen_open", s(id)),
    };
    let write = match seen.bought {
        0 => write.when("(attribute_not_exists(bought) OR bought = :seen_bought)"),
        _ => write.when("bought = :seen_bought"),
    };
    write.bind(":seen_bought", n(seen.bought))
}

/// Gives bought seats back at `now`. The order's own version lets that happen
/// once; the condition stays because an account with less than nothing could not
/// be read any more.
pub fn give_back(key: Key, seats: &[Seat], now: Instant) -> Write {
    let give_back = format!("SET bought = bought - :count, {FREE} DELETE bought_seats :seats");
    free(Write::update(key, give_back).when("bought >= :count"), seats, now)
        .bind(":count", n(seats.len()))
        .bind(":seats", set(seats))
}

#[cfg(test)]
mod tests {
    use platform::table::{Item, read};

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

    const ORDER: &str = "01941f29-7c00-7000-8000-000000000001";

    #[test]
    fn bought_seats_open_seats_and_those_of_an_order_are_counted_together() {
        let account = Account {
            open_id: Some("h".to_owned()),
            open_until_ms: 1_000,
            open_seats: ["A-1-1".parse().unwrap()].into(),
            open_limit: 9,
            bought: 2,
            ..Account::default()
        };
        let order: OrderId = ORDER.parse().unwrap();
        let at = Instant::from_millis;
        let has_room = |count, at_ms| account.has_room(&a_match(), &order, count, at(at_ms));
        assert!(has_room(1, 999) && !has_room(2, 999));
        assert!(has_room(2, 1_000) && !has_room(3, 1_000));
        assert!(!has_room(usize::MAX, 1_000));
    }

    #[test]
    fn an_open_order_has_the_limit_that_it_was_held_under_but_is_not_above_it() {
        let account = |open_limit, bought| Account {
            open_id: Some(ORDER.to_owned()),
            open_until_ms: 1_000,
            open_seats: ["A-1-1".parse().unwrap()].into(),
            open_limit,
            bought,
            ..Account::default()
        };
        let order: OrderId = ORDER.parse().unwrap();
        for at_ms in [999, 1_000] {
            let has_room = |account: Account, count| {
                account.has_room(&a_match(), &order, count, Instant::from_millis(at_ms))
            };
            assert!(has_room(account(1, 0), 4) && !has_room(account(1, 0), 5));
            assert!(has_room(account(6, 0), 6) && !has_room(account(6, 3), 4));
        }
    }

    #[test]
    fn an_account_is_read_as_it_is_written() {
        let item: Item = [
            ("open_id".to_owned(), s("h")),
            ("open_until_ms".to_owned(), n(7)),
            ("open_seats".to_owned(), set(&["A-1-2".parse().unwrap()])),
            ("bought".to_owned(), n(1)),
            ("pk".to_owned(), s("MATCH#final#MEMBER#m")),
        ]
        .into();
        let account: Account = read(item).unwrap();
        assert_eq!(account.open(Instant::from_millis(6)), Some("h"));
        assert_eq!(account.open_seats.first().unwrap().to_string(), "A-1-2");
        assert_eq!((account.bought, account.freed_1), (1, None));
    }
}
