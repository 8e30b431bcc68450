//! Matches, their queue, seats and orders: one file per operation, and what many
//! callers do at once.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod booking_options;
mod enter_queue;
mod get_position;
mod matches;
mod queue;
mod queue_faults;
mod queue_rate;
mod sale_opening;
mod take_pass;
