//! Posts: one file per operation, and how views are counted.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod cost;
mod count_views;
mod create_post;
mod delete_post;
mod faults;
mod get_post;
mod list_posts;
mod popular_posts;
mod posts;
mod races;
mod ranking;
mod stripes;
mod update_post;
