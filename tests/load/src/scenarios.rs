//! The load scenarios, one file each, and what comes of them.

pub(crate) mod herd;
pub(crate) mod home;
pub(crate) mod hot_course;
pub(crate) mod hour;
pub(crate) mod mixed_flow;
pub(crate) mod popular_posts;
pub(crate) mod relay;
pub(crate) mod ticket_open;

use crate::invariants::Invariant;
use crate::record::Samples;
use crate::report::{Details, Phase};
use crate::status::Status;

/// What came of a run.
pub(crate) struct Outcome {
    /// Each phase with what was recorded, the measured one first.
    pub(crate) phases: Vec<Phase>,
    /// Whether all were through before the run was stopped.
    pub(crate) is_complete: bool,
    /// Requests whose outcome nobody ever knew.
    pub(crate) unknown_outcomes: u64,
    /// Requests of setting up and reading back.
    pub(crate) aside: Vec<Samples>,
    /// Functions that nobody called, but that had work with what was done.
    pub(crate) behind: &'static [&'static str],
    /// The status page before and after. `None` without one.
    pub(crate) status: Option<(Status, Status)>,
    /// What must be true.
    pub(crate) invariants: Vec<Invariant>,
    /// What only this scenario has.
    pub(crate) details: Details,
}
