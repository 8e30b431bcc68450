//! Posts: one file per operation, and how views are counted.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod create_post;
mod delete_post;
mod get_post;
mod list_posts;
mod popular_posts;
mod posts;
mod update_post;
