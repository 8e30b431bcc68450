//! Schedules: one file per operation, and what holds when many change one
//! calendar, when answers are lost, when clocks jump, and what it costs.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod calendar;
mod cost;
mod create_schedule;
mod delete_schedule;
mod faults;
mod get_schedule;
mod list_schedules;
mod model;
mod races;
mod reminders;
mod times;
mod update_schedule;
