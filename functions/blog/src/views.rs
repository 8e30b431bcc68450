//! A post's views, spread over stripes.

use platform::App;
use platform::table::Key;
use platform::views::{self, Counted};
use serde::Deserialize;

pub use platform::views::MOST_STRIPES;

use crate::ids::PostId;
use crate::post::Meta;
use crate::{TABLE, keys};

/// A stripe, as the table keeps it.
#[derive(Clone, Debug, Deserialize)]
pub struct Stripe {
    pk: String,
    /// The views that it has counted.
    pub views: u64,
}

impl Stripe {
    /// Whose views it counts.
    pub fn post(&self) -> Option<PostId> {
        keys::parse_views(&self.pk).map(|(id, _)| id)
    }
}

/// The keys of a post's stripes.
pub fn stripes(id: PostId, count: u32) -> impl Iterator<Item = Key> {
    (0..count).map(move |stripe| keys::views(id, stripe))
}

/// Counts a view of `post`, on any stripe.
pub async fn count(app: &App, post: &Meta) {
    let (id, table) = (post.post_id, app.table(TABLE));
    views::count(app, table, &id, post.view_stripes, |stripe| keys::views(id, stripe)).await;
}

/// The views of `post` as they were last added up.
pub fn counted(post: &Meta) -> Counted {
    Counted { views: post.views, stripes: post.view_stripes, at_ms: post.counted_at_ms }
}
