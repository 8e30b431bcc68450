//! Events that arrive: from a table's change to a member's inbox, however often
//! a step on the way is repeated, refused or cut off.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod dead_letters;
mod delivery;
mod list_notifications;
mod notify;
mod orders;
mod read_notification;
mod relay;
mod schedules;
