//! Identity: members, sessions and tokens.

pub mod time_zone;

use platform::Function;
use platform::table::TableName;

/// The functions of this system.
pub const FUNCTIONS: &[Function] = &[];

/// The table of this system.
pub const TABLE: TableName = TableName { setting: "IDENTITY_TABLE", default: "Identity" };
