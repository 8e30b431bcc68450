//! The map of a block: which of its seats are taken, and until when.
//!
//! It is one small item that count-seats keeps, so that whoever shows or
//! chooses seats need not read them one by one. A hold that lapses needs no
//! write: the map holds its end, and the clock does the rest.

use platform::clock::Instant;
use platform::table::{Item, bytes, n};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::layout::Block;

/// Bytes that say when a seat is free again, in milliseconds since 1970: enough
/// for 8,900 years.
const BYTES: usize = 6;

/// What stands for never.
const SOLD: i64 = (1 << 48) - 1;

/// What a seat is for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[schema(as = SeatState)]
pub enum State {
    /// Nobody has it.
    Free,
    /// Somebody has it for a while: held, or ordered and not paid yet.
    Held,
    /// Somebody has bought it.
    Sold,
}

/// A seat, as the table keeps it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Taken {
    /// Whether it was bought.
    #[serde(default)]
    pub sold: bool,
    /// Until when it is held.
    #[serde(default)]
    pub held_until_ms: Option<i64>,
}

/// A block's map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Map {
    /// Counts the times that it was written; 0 if it never was.
    pub version: u64,
    /// When the seats were read, by the clock of who did.
    pub counted_at_ms: i64,
    /// When each seat is free again, in the order of [`Block::place`].
    until_ms: Vec<i64>,
}

impl Map {
    /// The map of a block of which no seat was ever taken.
    pub fn empty(block: &Block) -> Self {
        Self { version: 0, counted_at_ms: 0, until_ms: vec![0; block.seats() as usize] }
    }

    /// The map in an item.
    pub fn of(block: &Block, item: &Item) -> Option<Self> {
        let number = |name: &str| item.get(name)?.as_n().ok()?.parse::<i64>().ok();
        let until = item.get("until")?.as_b().ok()?.as_ref();
        let until_ms: Vec<i64> = until
            .chunks_exact(BYTES)
            .map(|bytes| bytes.iter().fold(0, |sum, byte| sum << 8 | i64::from(*byte)))
            .collect();
        let version = u64::try_from(number("version")?).ok()?;
        let map = Self { version, counted_at_ms: number("counted_at_ms")?, until_ms };
        (map.until_ms.len() == block.seats() as usize).then_some(map)
    }

    /// What the item says of this map, beside its key.
    pub fn to_attributes(&self) -> Item {
        let until = self.until_ms.iter().flat_map(|until_ms| {
            let bytes = until_ms.to_be_bytes();
            bytes.into_iter().skip(size_of::<i64>() - BYTES)
        });
        Item::from([
            ("version".to_owned(), n(self.version)),
            ("counted_at_ms".to_owned(), n(self.counted_at_ms)),
            ("until".to_owned(), bytes(until.collect::<Vec<u8>>())),
        ])
    }

    /// Notes what the table keeps of the seat at a place.
    pub fn note(&mut self, place: usize, taken: &Taken) {
        let until_ms = if taken.sold { SOLD } else { taken.held_until_ms.unwrap_or_default() };
        if let Some(seat) = self.until_ms.get_mut(place) {
            *seat = until_ms.clamp(0, SOLD);
        }
    }

    /// Whether it says the same of every seat as `other`.
    pub fn agrees_with(&self, other: &Self) -> bool {
        self.until_ms == other.until_ms
    }

    /// What the seat at a place is at `now`.
    pub fn state(&self, place: usize, now: Instant) -> State {
        match self.until_ms.get(place) {
            Some(&SOLD) => State::Sold,
            Some(&until_ms) if until_ms > now.as_millis() => State::Held,
            _ => State::Free,
        }
    }

    /// How many seats are held and how many are sold at `now`.
    pub fn held_and_sold(&self, now: Instant) -> (u32, u32) {
        let states = (0..self.until_ms.len()).map(|place| self.state(place, now));
        states.fold((0, 0), |(held, sold), state| match state {
            State::Free => (held, sold),
            State::Held => (held + 1, sold),
            State::Sold => (held, sold + 1),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::tests::block;

    fn now() -> Instant {
        Instant::from_millis(1_893_456_000_000)
    }

    fn held(ms: i64) -> Taken {
        Taken { held_until_ms: Some(now().plus_millis(ms).as_millis()), ..Taken::default() }
    }

    #[test]
    fn a_held_seat_is_free_again_at_its_very_end() {
        let mut map = Map::empty(&block("A", 2, 2));
        map.note(0, &held(1));
        map.note(1, &held(0));
        map.note(2, &Taken { sold: true, held_until_ms: None });
        let states: Vec<State> = (0..4).map(|place| map.state(place, now())).collect();
        assert_eq!(states, [State::Held, State::Free, State::Sold, State::Free]);
        assert_eq!(map.held_and_sold(now()), (1, 1));
        assert_eq!(map.held_and_sold(now().plus_millis(1)), (0, 1));
        map.note(2, &Taken::default());
        assert_eq!(map.state(2, now()), State::Free);
        map.note(99, &held(1));
        assert_eq!(map.state(99, now()), State::Free, "there is no such seat");
    }

    #[test]
    fn a_map_survives_the_table_in_six_bytes_a_seat() {
        let block = block("A", 50, 100);
        let mut map = Map::empty(&block);
        map.note(7, &held(5));
        map.note(4_999, &Taken { sold: true, held_until_ms: None });
        (map.version, map.counted_at_ms) = (3, now().as_millis());
        let item = map.to_attributes();
        assert_eq!(item["until"].as_b().unwrap().as_ref().len(), 30_000);
        assert_eq!(Map::of(&block, &item), Some(map));
    }

    #[test]
    fn a_map_of_another_layout_is_none() {
        let item = Map::empty(&block("A", 2, 2)).to_attributes();
        assert_eq!(Map::of(&block("A", 2, 3), &item), None);
        assert_eq!(Map::of(&block("A", 2, 2), &Item::new()), None);
    }
}
