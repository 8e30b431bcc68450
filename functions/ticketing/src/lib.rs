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
//! | release-hold | read hold; delete hold, write account, n seats | not ordered; each still bears the hold | consistent, 1 RCU; 1 transaction, 4 + 2n WCU |
//! | place-order | read hold (and kept answer); write hold, account, order, owner, n seats (and kept answer) | not ordered; nothing else open; each seat bears the hold, and its time is not over | consistent, 1–2 RCU; 1 transaction, 8 + 2n (+ 2) WCU |
//! | pay-order | read owner; read order and account; write order, payment, account, n seats | `version` seen; none such yet; open with the order, or as seen; each seat bears the order | consistent, 3 RCU; 1 transaction, 6 + 2n WCU |
//! | cancel-order | read order; write order, account, n seats | `version` seen; each still bears the order | consistent, 1 RCU; 1 transaction, 4 + 2n WCU |
//! | get-order | read order | | consistent, 1 RCU |
//! | list-orders | query a member's partition, newest first | | consistent, 1 RCU each 4 KB |

pub mod account;
pub mod cancel_order;
pub mod events;
pub mod get_match;
pub mod get_order;
pub mod hold;
pub mod hold_seats;
pub mod ids;
pub mod keys;
pub mod layout;
pub mod list_matches;
pub mod list_orders;
pub mod matches;
pub mod order;
pub mod pass;
pub mod pay_order;
pub mod place_order;
pub mod put_match;
pub mod refusal;
pub mod release_hold;
pub mod seats;
pub mod served;
pub mod signature;

use platform::Function;
use platform::table::TableName;

/// The functions of this system.
pub const FUNCTIONS: &[Function] = &[
    put_match::FUNCTION,
    list_matches::FUNCTION,
    get_match::FUNCTION,
    hold_seats::FUNCTION,
    release_hold::FUNCTION,
    place_order::FUNCTION,
    pay_order::FUNCTION,
    cancel_order::FUNCTION,
    list_orders::FUNCTION,
    get_order::FUNCTION,
];

/// The table of this system.
pub const TABLE: TableName = TableName { setting: "TICKETING_TABLE", default: "Ticketing" };
