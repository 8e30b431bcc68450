//! The seats that a match has, block by block.
//!
//! A seat is not an item of the table until it is held for the first time. The
//! layout says which seats there are, and what they cost.

use garde::Validate;
use platform::text::{self, Text};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ids::{BlockId, Seat};

/// The most blocks of a match: their maps are read with one call
/// ([limit](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html)).
pub const MOST_BLOCKS: usize = 100;
/// The most seats of a block: its map, six bytes a seat, stays below 32 KB.
pub const MOST_SEATS: u32 = 5_000;
/// The highest price of a seat, in the smallest unit of its currency.
const MOST_PRICE: u64 = 1_000_000_000;

/// A block of seats that cost the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Block {
    /// The part of the stands that it belongs to.
    #[garde(custom(text::title))]
    #[schema(value_type = text::Title)]
    pub section: Text,
    /// Its id.
    #[garde(skip)]
    pub block: BlockId,
    /// How good the seats are: 1 is best.
    #[garde(range(min = 1, max = 100))]
    #[schema(minimum = 1, maximum = 100)]
    pub grade: u32,
    /// What a seat costs, in the smallest unit of the currency.
    #[garde(range(max = MOST_PRICE))]
    #[schema(maximum = 1_000_000_000)]
    pub price: u64,
    /// Rows, the first one nearest to the field.
    #[garde(range(min = 1, max = MOST_SEATS))]
    #[schema(minimum = 1, maximum = 5_000)]
    pub rows: u32,
    /// Seats in each row.
    #[garde(range(min = 1, max = MOST_SEATS))]
    #[schema(minimum = 1, maximum = 5_000)]
    pub seats_per_row: u32,
}

impl Block {
    /// How many seats it has.
    pub fn seats(&self) -> u32 {
        self.rows.saturating_mul(self.seats_per_row)
    }

    /// Whether `seat`, which is one of this block by its name, is there.
    pub fn has(&self, seat: &Seat) -> bool {
        (1..=self.rows).contains(&seat.row) && (1..=self.seats_per_row).contains(&seat.number)
    }

    /// The place of a seat among all of the block, from 0, row by row.
    pub fn place(&self, row: u32, number: u32) -> usize {
        ((row - 1) * self.seats_per_row + number - 1) as usize
    }

    /// The seat at a place, from 0.
    pub fn seat(&self, place: usize) -> Seat {
        let place = u32::try_from(place).unwrap_or(u32::MAX);
        let (row, number) = (place / self.seats_per_row, place % self.seats_per_row);
        Seat { block: self.block.clone(), row: row + 1, number: number + 1 }
    }
}

/// Refuses blocks that share an id, are too many, or too big.
pub fn check(blocks: &[Block], _: &()) -> garde::Result {
    if !(1..=MOST_BLOCKS).contains(&blocks.len()) {
        let message = format!("expected 1 to {MOST_BLOCKS} blocks, not {}", blocks.len());
        return Err(garde::Error::new(message));
    }
    if let Some(big) = blocks.iter().find(|block| block.seats() > MOST_SEATS) {
        let message = format!("block {} has more than {MOST_SEATS} seats", big.block);
        return Err(garde::Error::new(message));
    }
    let mut ids: Vec<&BlockId> = blocks.iter().map(|block| &block.block).collect();
    ids.sort_unstable();
    match ids.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(garde::Error::new(format!("two blocks are called {}", pair[0]))),
        None => Ok(()),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn block(id: &str, rows: u32, seats_per_row: u32) -> Block {
        Block {
            section: "North".into(),
            block: id.parse().unwrap(),
            grade: 1,
            price: 5_000,
            rows,
            seats_per_row,
        }
    }

    #[test]
    fn every_seat_has_a_place_of_its_own() {
        let block = block("A", 3, 4);
        assert_eq!(block.seats(), 12);
        for place in 0..12 {
            let seat = block.seat(place);
            assert!(block.has(&seat), "{seat}");
            assert_eq!(block.place(seat.row, seat.number), place);
        }
        assert_eq!(block.seat(4).to_string(), "A-2-1");
        for not_there in ["A-4-1", "A-1-5"] {
            assert!(!block.has(&not_there.parse().unwrap()), "{not_there}");
        }
    }

    #[test]
    fn a_layout_has_few_blocks_of_bounded_size_with_different_ids() {
        let (a, b) = (block("A", 1, 1), block("B", 50, 100));
        assert!(check(&[a.clone(), b], &()).is_ok());
        for bad in [
            vec![],
            vec![a.clone(), a.clone()],
            vec![block("A", 50, 101)],
            vec![block("A", 5_000, 5_000)],
            (0..=MOST_BLOCKS).map(|n| block(&n.to_string(), 1, 1)).collect(),
        ] {
            assert!(check(&bad, &()).is_err(), "{} blocks", bad.len());
        }
    }
}
