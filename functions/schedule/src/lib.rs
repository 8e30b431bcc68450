//! Schedules: calendars without overlaps, and reminders.

use platform::Function;
use platform::table::TableName;

/// The functions of this system.
pub const FUNCTIONS: &[Function] = &[];

/// The table of this system.
pub const TABLE: TableName = TableName { setting: "SCHEDULE_TABLE", default: "Schedule" };
