//! The ids of ticketing. Staff choose those of matches and blocks, the server
//! makes those of holds and orders, and a seat is named by where it is.

use std::num::NonZeroU32;

use platform::operation;
use serde::{Deserialize, Serialize};

platform::slug_id! {
    /// A match.
    MatchId
}

platform::slug_id! {
    /// A block of seats of a match.
    BlockId
}

platform::uuid_id! {
    /// Seats that are held.
    HoldId
}

platform::uuid_id! {
    /// Seats that were ordered.
    OrderId
}

/// A seat of a match: block, row and number, as in `A-3-12`. A block's id may
/// hold hyphens too, so it is read from the end.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Seat {
    /// Its block.
    pub block: BlockId,
    /// Its row, from 1.
    pub row: u32,
    /// Its place in the row, from 1.
    pub number: u32,
}

platform::schema! {
    /// The name of a [`Seat`], in the document.
    pub SeatName =
        operation::pattern("^[A-Za-z0-9_-]{1,64}-[1-9][0-9]{0,8}-[1-9][0-9]{0,8}$")
}

/// Text that names no seat.
#[derive(Debug, thiserror::Error)]
#[error("expected a seat as in A-3-12: block, row and number")]
pub struct NotASeat;

impl std::str::FromStr for Seat {
    type Err = NotASeat;

    fn from_str(text: &str) -> Result<Self, NotASeat> {
        let mut parts = text.rsplitn(3, '-');
        let (number, row, block) = (parts.next(), parts.next(), parts.next());
        let block = block.ok_or(NotASeat)?.parse().map_err(|_| NotASeat)?;
        Ok(Self { block, row: place(row)?, number: place(number)? })
    }
}

/// A row or a number, written in one way only: a seat has one name.
fn place(text: Option<&str>) -> Result<u32, NotASeat> {
    let text = text.ok_or(NotASeat)?;
    let is_plain = text.bytes().all(|b| b.is_ascii_digit()) && !text.starts_with('0');
    let number = text.parse::<NonZeroU32>().map_err(|_| NotASeat)?;
    if is_plain { Ok(number.get()) } else { Err(NotASeat) }
}

impl TryFrom<String> for Seat {
    type Error = NotASeat;

    fn try_from(text: String) -> Result<Self, NotASeat> {
        text.parse()
    }
}

impl From<Seat> for String {
    fn from(seat: Seat) -> Self {
        seat.to_string()
    }
}

impl std::fmt::Display for Seat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}-{}", self.block, self.row, self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seat_is_named_by_block_row_and_number() {
        let seat: Seat = "North-1-3-12".parse().unwrap();
        assert_eq!((seat.block.as_str(), seat.row, seat.number), ("North-1", 3, 12));
        assert_eq!(seat.to_string(), "North-1-3-12");
        for bad in [
            "",
            "-",
            "A",
            "A-1",
            "A-1-",
            "-1-1",
            "A--1",
            "A-0-1",
            "A-1-0",
            "A-01-1",
            "A-1-+1",
            "A-1-1 ",
            "A#-1-1",
            "A-1-4294967296",
            "é-1-1",
        ] {
            assert!(bad.parse::<Seat>().is_err(), "{bad:?}");
        }
    }
}
