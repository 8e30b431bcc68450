//! Schedules: calendars without overlaps, and reminders.
//!
//! The schedules of one member never overlap. So of all that begin before the
//! end of a new one, the last to begin is the only one that can reach into it,
//! and one read of one index entry tells. What that read saw is still so when
//! the schedule is written, because whatever takes up time raises the version
//! of the member's calendar, which is read first and guards the write.
//!
//! # Access patterns
//!
//! | caller | operation | guard | consistency, units |
//! |---|---|---|---|
//! | create-schedule | read calendar (and kept answer), query `starts` for two; write calendar, schedule, reminder | calendar's `version` seen; no such schedule | consistent, 2–3 RCU; 1 transaction, 8–10 WCU |
//! | update-schedule | read calendar and schedule, query `starts` for two; write calendar, schedule, reminder | `version` of both seen | consistent, 3 RCU; 1 transaction, 10 WCU |
//! | update-schedule, no later end and no earlier start | the same without query and calendar | `version` seen | consistent, 2 RCU; 1 transaction, 4 WCU |
//! | delete-schedule | delete schedule and reminder | it is there, with the `version` asked for | 1 transaction, 6 WCU |
//! | get-schedule | read schedule | | consistent, 1 RCU |
//! | list-schedules | query `starts` for a page and for the one before; read schedules | | consistent, 2 RCU and 1 each |
//! | each with a local time | read the member's zone, in `Identity` | | consistent, 1 RCU |
//! | send-reminders | query 8 partitions of `index1`; write each reminder that is due | `due_at_ms` is the one in the index, and the index key is there | eventual, 8 × 0.5 RCU a page; 1 transaction each, 3 WCU |
//!
//! Units are for contents of up to a kilobyte: each kilobyte more takes two
//! write units more. Everything of a member lies in one partition, which nobody
//! else writes; reminders that wait are spread over eight in the index.

pub mod calendar;
pub mod create_schedule;
pub mod delete_schedule;
pub mod events;
pub mod get_schedule;
pub mod ids;
pub mod keys;
pub mod list_schedules;
pub mod refusal;
pub mod reminder;
pub mod schedule;
pub mod send_reminders;
pub mod update_schedule;
pub mod wanted;

use platform::table::TableName;
use platform::{Function, Operation};

pub use ids::ScheduleId;

/// The functions of this system.
pub static FUNCTIONS: &[Function] = &[
    create_schedule::FUNCTION,
    list_schedules::FUNCTION,
    get_schedule::FUNCTION,
    update_schedule::FUNCTION,
    delete_schedule::FUNCTION,
    send_reminders::FUNCTION,
];

/// What the document says of them.
pub fn operations() -> Vec<Operation> {
    vec![
        create_schedule::operation(),
        list_schedules::operation(),
        get_schedule::operation(),
        update_schedule::operation(),
        delete_schedule::operation(),
    ]
}

/// The table of this system.
pub const TABLE: TableName = TableName { setting: "SCHEDULE_TABLE", default: "Schedule" };
