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
//! | enter-queue | next number of a lane; newest entry | ; older than this one | 2 updates at once, 1 WCU each |
//! | get-position | read lane; move its cursor | ; `ticked_at_ms` seen | consistent, 1 RCU, once a second; update, 1 WCU a lane and second |
//! | take-pass, too early | read lane and entry; move its cursor | ; `ticked_at_ms` seen | consistent, 2 RCU in 1 call; as above |
//! | take-pass | set the end of the pass in the entry | newest entry, no pass yet | update, 1 WCU |
//! | get-booking-options, get-preferences | read one item | | consistent, 1 RCU |
//! | put-booking-options, put-preferences | read it; write it unless it says the same | `version` seen | consistent, 1 RCU; 1 transaction, 2 WCU |
//! | `wishes::of` | read both | | consistent, 2 RCU in 1 call |

pub mod enter_queue;
pub mod entry;
pub mod get_booking_options;
pub mod get_match;
pub mod get_position;
pub mod get_preferences;
pub mod ids;
pub mod keys;
pub mod lane;
pub mod layout;
pub mod list_matches;
pub mod matches;
pub mod options;
pub mod pace;
pub mod pass;
pub mod preferences;
pub mod put_booking_options;
pub mod put_match;
pub mod put_preferences;
pub mod queue;
pub mod refusal;
pub mod take_pass;
pub mod ticket;
pub mod wishes;

use platform::Function;
use platform::table::TableName;

/// The functions of this system.
pub const FUNCTIONS: &[Function] = &[
    put_match::FUNCTION,
    list_matches::FUNCTION,
    get_match::FUNCTION,
    enter_queue::FUNCTION,
    get_position::FUNCTION,
    take_pass::FUNCTION,
    put_booking_options::FUNCTION,
    get_booking_options::FUNCTION,
    put_preferences::FUNCTION,
    get_preferences::FUNCTION,
];

/// The table of this system.
pub const TABLE: TableName = TableName { setting: "TICKETING_TABLE", default: "Ticketing" };
