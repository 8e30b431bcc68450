//! A post's views, spread over stripes.
//!
//! A partition takes 1,000 write units a second, and so does an item
//! ([source](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/warm-throughput-scenarios.html)).
//! A view is one. Nearly every post gets by with one stripe; those that
//! are read more get more, long before theirs are at that limit.

use platform::App;
use platform::clock::Instant;
use platform::table::{Key, Patience, WriteError};
use serde::Deserialize;

use crate::ids::PostId;
use crate::post::Meta;
use crate::{TABLE, keys};

/// The most stripes of a post: 64,000 views a second.
pub const MOST_STRIPES: u32 = 64;

/// More views a second of a stripe than this call for more stripes.
const MOST_RATE: u64 = 250;

/// How many views a second a stripe is to have after that: so few that the
/// crowd may grow on meanwhile.
const WANTED_RATE: u64 = 100;

/// Fewer views than this since the last count tell no rate.
const FEWEST: u64 = 50;

/// The shortest time that a rate is taken over, in milliseconds: two instances
/// may count one after the other.
const SHORTEST_MS: i64 = 200;

/// How often a view is tried that was throttled.
const TRIES: u32 = 3;

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

/// Counts a view, on any stripe. No read fails because it is not counted: what
/// cannot be counted, or may not have been, is logged and metered.
///
/// A view that was throttled was not counted, and is tried again on any stripe.
/// One whose answer is lost may have been counted, and is not tried again.
pub async fn count(app: &App, post: &Meta) {
    let post_id = post.post_id;
    let mut patience = Patience::default();
    for tried in 0..TRIES {
        if tried > 0 && !patience.pause(app).await {
            break;
        }
        let stripe = app.random_below(post.view_stripes.into());
        let key = keys::views(post_id, u32::try_from(stripe).unwrap_or_default());
        match app.table(TABLE).add(key, "views", 1).await {
            Ok(()) => return,
            Err(WriteError::Busy(_)) => {}
            Err(WriteError::Unknown(cause)) => {
                tracing::warn!(%post_id, cause, "a view may not have been counted");
                return;
            }
            Err(error) => {
                tracing::error!(%post_id, %error, "views cannot be counted");
                return app.meter.dropped();
            }
        }
    }
    tracing::warn!(%post_id, "a view was not counted: throttled");
    app.meter.dropped();
}

/// How many stripes `post`, as it was last counted, should have when its views
/// are `sum` at `now`; `None` if it has enough.
///
/// Records tell no rate: a batch holds some views of a shard, for as long or as
/// short as it takes to fill it, and may come again. The sum does.
pub fn more_stripes(post: &Meta, sum: u64, now: Instant) -> Option<u32> {
    let views = sum.saturating_sub(post.views);
    let elapsed_ms = (now.as_millis() - post.counted_at_ms?).max(SHORTEST_MS);
    if views < FEWEST {
        return None;
    }
    let rate = views * 1_000 / elapsed_ms.unsigned_abs();
    if rate <= MOST_RATE * u64::from(post.view_stripes) {
        return None;
    }
    let wanted = rate.div_ceil(WANTED_RATE).next_power_of_two();
    let wanted = u32::try_from(wanted).unwrap_or(MOST_STRIPES).min(MOST_STRIPES);
    (wanted > post.view_stripes).then_some(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::post::{Post, Status};
    use crate::wanted::Wanted;

    /// A post that had 1,000 views when it was counted in the second 100.
    fn post(view_stripes: u32) -> Meta {
        let wanted = Wanted {
            title: "Hi".to_owned(),
            body: String::new(),
            tags: vec![],
            status: Status::Published,
        };
        let id = "01941f29-7c00-7000-8000-000000000001".parse().unwrap();
        let meta = Post::new(id, "m", wanted, Instant::from_millis(0)).meta;
        Meta { view_stripes, views: 1_000, counted_at_ms: Some(100_000), ..meta }
    }

    /// What so many views more lead to after so many milliseconds.
    fn after(post: &Meta, ms: i64, views: u64) -> Option<u32> {
        more_stripes(post, 1_000 + views, Instant::from_millis(100_000 + ms))
    }

    #[test]
    fn a_cold_post_keeps_one_stripe() {
        assert_eq!(after(&post(1), 0, 0), None);
        assert_eq!(after(&post(1), 1_000, 250), None);
        assert_eq!(after(&post(1), 100_000, 25_000), None);
        assert_eq!(after(&post(1), 1, 49), None, "too few to tell");
        assert_eq!(after(&post(1), -5, 50), None, "a clock that is behind");
        let never_counted = Meta { counted_at_ms: None, ..post(1) };
        assert_eq!(after(&never_counted, 1, 1_000_000), None);
    }

    #[test]
    fn stripes_grow_to_what_the_rate_wants_with_room_for_more() {
        assert_eq!(after(&post(1), 1_000, 251), Some(4));
        assert_eq!(after(&post(1), 250, 175), Some(8), "a quarter of a second of 700 a second");
        assert_eq!(after(&post(1), 3_000, 3_000), Some(16));
        assert_eq!(after(&post(16), 2_000, 16 * 500), None);
        assert_eq!(after(&post(16), 2_000, 16 * 600), Some(64));
        assert_eq!(after(&post(64), 1_000, 64_000), None);
    }

    #[test]
    fn a_window_that_comes_again_makes_nothing_grow() {
        assert_eq!(after(&post(1), 1, 0), None);
        assert_eq!(more_stripes(&post(1), 10, Instant::from_millis(100_001)), None);
    }
}
