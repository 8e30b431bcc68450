//! Matches, their waiting queue, seats, holds and orders.
//!
//! Nobody may pay for a seat that somebody else has. So each seat is one item,
//! each change of seats is one transaction over all of them, and whatever the
//! clock decides (a sale opens, a hold lapses) is worked out from the time.
//!
//! # Access patterns
//!
//! | caller | operation | guard | consistency, units |
//! |---|---|---|---|
//! | put-match | read match; write match | `version` seen | consistent, 1 RCU each 4 KB; 1 transaction, 2 WCU each KB, 2 for `index1` |
//! | get-match, and all below | read match | | consistent, 1 RCU each 4 KB, remembered 5 s |
//! | list-matches | query `index1` | | eventual, remembered 1 s |
//! | hold-seats | write account, hold, n seats (and kept answer) | nothing open and few enough bought; each seat unsold, and free or lapsed | 1 transaction, 4 + 2n (+ 2) WCU |

pub mod account;
pub mod get_match;
pub mod hold;
pub mod hold_seats;
pub mod ids;
pub mod keys;
pub mod layout;
pub mod list_matches;
pub mod matches;
pub mod pass;
pub mod put_match;
pub mod refusal;
pub mod seats;
pub mod served;

use platform::Function;
use platform::table::TableName;

/// The functions of this system.
pub const FUNCTIONS: &[Function] =
    &[put_match::FUNCTION, list_matches::FUNCTION, get_match::FUNCTION, hold_seats::FUNCTION];

/// The table of this system.
pub const TABLE: TableName = TableName { setting: "TICKETING_TABLE", default: "Ticketing" };
