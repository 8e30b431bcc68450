//! Matches, their queue, seats and orders: one file per operation, and what many
//! callers do at once.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod cancel_order;
mod cost;
mod faults;
mod hold_seats;
mod matches;
mod model;
mod orders;
mod pay_order;
mod place_order;
mod races;
mod release_hold;
