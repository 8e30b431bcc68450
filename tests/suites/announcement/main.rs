//! Announcements: one file per operation, and what happens at once.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod announcements;
mod checklist;
mod closing;
mod cost;
mod count_announcements;
mod faults;
mod favorites;
mod get_announcement;
mod get_home;
mod list_announcements;
mod put_announcement;
mod races;
