//! Matches, their queue, seats and orders: one file per operation, and what many
//! callers do at once.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod booking_options;
mod cancel_order;
mod cost;
mod count_seats;
mod enter_queue;
mod faults;
mod get_position;
mod hold_seats;
mod matches;
mod model;
mod orders;
mod overtaken;
mod pay_order;
mod place_order;
mod queue;
mod queue_faults;
mod queue_rate;
mod races;
mod recommend_seats;
mod release_hold;
mod sale_opening;
mod take_pass;
