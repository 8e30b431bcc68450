//! The load scenarios, one file each.

pub(crate) mod hot_course;
