//! Why a schedule is refused, one variant per thing that a caller can act on.

use platform::ids::NotAUuid;
use platform::problem::{Kind, Problem, VERSION_MISMATCH};

use crate::ids::ScheduleId;

/// A rule that a request breaks.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The member has no such schedule.
    ScheduleNotFound,
    /// The member has another schedule then.
    ScheduleConflict {
        /// Which: of several, the last to begin.
        conflicts_with: ScheduleId,
    },
    /// The schedule is not at the version that was asked for.
    VersionMismatch {
        /// The version that it has.
        version: u64,
    },
}

const SCHEDULE_NOT_FOUND: Kind = Kind::new(404, "SCHEDULE_NOT_FOUND", "You have no such schedule.");
const SCHEDULE_CONFLICT: Kind =
    Kind::new(409, "SCHEDULE_CONFLICT", "You have another schedule at that time.");

impl Refusal {
    /// Another schedule in the way, in the document.
    pub(crate) fn conflict_example() -> Result<Self, NotAUuid> {
        let conflicts_with = "01941f29-7c00-7000-8000-000000000002".parse()?;
        Ok(Self::ScheduleConflict { conflicts_with })
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::ScheduleNotFound => SCHEDULE_NOT_FOUND.into(),
            Refusal::ScheduleConflict { conflicts_with } => {
                Self::from(SCHEDULE_CONFLICT).with("conflictsWith", conflicts_with.as_str())
            }
            Refusal::VersionMismatch { version } => {
                Self::from(VERSION_MISMATCH).with("version", version)
            }
        }
    }
}
