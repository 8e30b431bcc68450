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
//! | enter-queue | claim entry; next number of a lane; turn of the entry | none, its pass over, or a claim that lapsed; ; that claim | 3 updates, 1 WCU each |
//! | enter-queue, into a lane with nobody in it | its end | lies in the past | 1 more update, 1 WCU |
//! | enter-queue, again | claim entry | refused | 1 WCU |
//! | get-position | | | nothing; when admitted, read entry: consistent, 1 RCU |
//! | take-pass, too early | read entry | | consistent, 1 RCU, as often as one may ask |
//! | take-pass | set the end of the pass in the entry | newest entry, no pass yet | update, 1 WCU |
//! | list-seat-groups, list-seats, recommend-seats | read the map of each block | | eventual, 0.5 RCU each 4 KB, remembered 1 s |
//! | recommend-seats | read options and preferences | | consistent, 2 RCU in 1 call |
//! | recommend-seats, after a lost race | query the block's seats | | consistent, 1 RCU each 4 KB |
//! | list-seat-groups, list-seats, recommend-seats | read account | | consistent, 1 RCU |
//! | count-seats | read map, then query the block's seats; write map | `version` seen | consistent, 1 RCU each 4 KB; 1 WCU each KB of the map |
//! | get-booking-options, get-preferences | read one item | | consistent, 1 RCU |
//! | put-booking-options, put-preferences | read it; write it unless it says the same | `version` seen | consistent, 1 RCU; 1 transaction, 2 WCU |
//! | `wishes::of` | read both | | consistent, 2 RCU in 1 call |
//! | hold-seats | write account, hold, n seats (and kept answer) | nothing open and few enough bought; each seat unsold, and free or lapsed | 1 transaction, 4 + 2n (+ 2) WCU |
//! | release-hold | read hold; delete hold, write account, n seats | not ordered; each still bears the hold | consistent, 1 RCU; 1 transaction, 4 + 2n WCU |
//! | place-order | read hold (and kept answer); write hold, account, order, owner, n seats (and kept answer) | not ordered; nothing else open; each seat bears the hold, and its time is not over | consistent, 1–2 RCU; 1 transaction, 8 + 2n (+ 2) WCU |
//! | pay-order | read owner; read order and account; write order, payment, account, n seats | `version` seen; none such yet; open with the order, or as seen; each seat bears the order | consistent, 3 RCU; 1 transaction, 6 + 2n WCU |
//! | cancel-order | read order; write order, account, n seats | `version` seen; each still bears the order | consistent, 1 RCU; 1 transaction, 4 + 2n WCU |
//! | get-order | read order | | consistent, 1 RCU |
//! | list-orders | query a member's partition, newest first | | consistent, 1 RCU each 4 KB |

pub mod account;
pub mod cancel_order;
pub mod choose;
pub mod count_seats;
pub mod enter_queue;
pub mod entry;
pub mod events;
pub mod get_booking_options;
pub mod get_match;
pub mod get_order;
pub mod get_position;
pub mod get_preferences;
pub mod hold;
pub mod hold_seats;
pub mod ids;
pub mod keys;
pub mod lane;
pub mod layout;
pub mod list_matches;
pub mod list_orders;
pub mod list_seat_groups;
pub mod list_seats;
pub mod map;
pub mod maps;
pub mod matches;
pub mod options;
pub mod order;
pub mod pace;
pub mod pass;
pub mod pay_order;
pub mod place_order;
pub mod preferences;
pub mod put_booking_options;
pub mod put_match;
pub mod put_preferences;
pub mod queue;
pub mod recommend_seats;
pub mod refusal;
pub mod release_hold;
pub mod seats;
pub mod served;
pub mod signature;
pub mod take_pass;
pub mod ticket;
pub mod turns;
pub mod wishes;

use platform::table::TableName;
use platform::{Function, Operation};

/// The functions of this system.
pub static FUNCTIONS: &[Function] = &[
    put_match::FUNCTION,
    list_matches::FUNCTION,
    get_match::FUNCTION,
    enter_queue::FUNCTION,
    get_position::FUNCTION,
    take_pass::FUNCTION,
    list_seat_groups::FUNCTION,
    list_seats::FUNCTION,
    recommend_seats::FUNCTION,
    count_seats::FUNCTION,
    put_booking_options::FUNCTION,
    get_booking_options::FUNCTION,
    put_preferences::FUNCTION,
    get_preferences::FUNCTION,
    hold_seats::FUNCTION,
    release_hold::FUNCTION,
    place_order::FUNCTION,
    pay_order::FUNCTION,
    cancel_order::FUNCTION,
    list_orders::FUNCTION,
    get_order::FUNCTION,
];

/// What the document says of them.
pub fn operations() -> Vec<Operation> {
    vec![
        put_match::operation(),
        list_matches::operation(),
        get_match::operation(),
        enter_queue::operation(),
        get_position::operation(),
        take_pass::operation(),
        list_seat_groups::operation(),
        list_seats::operation(),
        recommend_seats::operation(),
        put_booking_options::operation(),
        get_booking_options::operation(),
        put_preferences::operation(),
        get_preferences::operation(),
        hold_seats::operation(),
        release_hold::operation(),
        place_order::operation(),
        pay_order::operation(),
        cancel_order::operation(),
        list_orders::operation(),
        get_order::operation(),
    ]
}

/// The table of this system.
pub const TABLE: TableName = TableName { setting: "TICKETING_TABLE", default: "Ticketing" };
