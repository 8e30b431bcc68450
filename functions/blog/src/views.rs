//! A post's views, spread over stripes.
//!
//! A partition takes 1,000 write units a second, and so does an item
//! ([source](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/warm-throughput-scenarios.html)).
//! A view is one. Nearly every post gets by with one stripe; those that
//! are read more get more, long before theirs are at that limit.

use std::collections::HashSet;

use platform::App;
use platform::clock::Instant;
use platform::table::{Key, Patience, WriteError};
use serde::Deserialize;

use crate::ids::PostId;
use crate::post::Meta;
use crate::posts::LIFETIME_MS;
use crate::{TABLE, keys};

/// The most stripes of a post: 64,000 views a second.
pub const MOST_STRIPES: u32 = 64;

/// More views a second of a stripe than this call for more stripes.
const MOST_RATE: u64 = 250;

/// How many views a second a stripe is to have after that: so few that the
/// crowd may grow on meanwhile.
const WANTED_RATE: u64 = 100;

/// For so long after the stripes of a post grew, environments may go on with
/// the old number, which they remember; and records tell seconds only.
const SETTLING_MS: i64 = LIFETIME_MS + 1_000;

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
/// A view that was throttled was not counted, and is tried on another stripe.
/// One whose answer is lost may have been, and is not.
pub async fn count(app: &App, post: &Meta) {
    let post_id = post.post_id;
    let mut patience = Patience::default();
    for _ in 0..TRIES {
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
        if !patience.pause(app).await {
            break;
        }
    }
    tracing::warn!(%post_id, "a view was not counted: throttled");
    app.meter.dropped();
}

/// One view, as its record tells it.
#[derive(Clone, Copy, Debug)]
pub struct Viewed {
    /// On which stripe.
    pub stripe: u32,
    /// When, to the second.
    pub at: Instant,
}

/// How many stripes `post` should have by the views of a window; `None` if it
/// has enough.
///
/// Only views from after the last growth tell: what came before, or comes again,
/// has led to that one. A window may hold the views of some stripes only, so
/// the rate is that of a stripe.
pub fn more_stripes(post: &Meta, views: &[Viewed]) -> Option<u32> {
    let since_ms = post.grown_at_ms.map_or(i64::MIN, |at_ms| at_ms.saturating_add(SETTLING_MS));
    let views = views.iter().filter(|view| view.at.as_millis() >= since_ms);
    let (first, last) =
        (views.clone().map(|view| view.at).min()?, views.clone().map(|view| view.at).max()?);
    let seconds = 1 + (last.as_millis() - first.as_millis()).unsigned_abs() / 1_000;
    let stripes = views.clone().map(|view| view.stripe).collect::<HashSet<_>>().len() as u64;
    let rate = views.count() as u64 / (seconds * stripes);
    if rate <= MOST_RATE {
        return None;
    }
    let wanted = (u64::from(post.view_stripes) * rate).div_ceil(WANTED_RATE).next_power_of_two();
    let wanted = u32::try_from(wanted).unwrap_or(MOST_STRIPES).min(MOST_STRIPES);
    (wanted > post.view_stripes).then_some(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::post::{Post, Status};
    use crate::wanted::Wanted;

    fn post(view_stripes: u32, grown_at_s: Option<i64>) -> Meta {
        let wanted = Wanted {
            title: "Hi".to_owned(),
            body: String::new(),
            tags: vec![],
            status: Status::Published,
        };
        let id = "01941f29-7c00-7000-8000-000000000001".parse().unwrap();
        let meta = Post::new(id, "m", wanted, Instant::from_millis(0)).meta;
        Meta { view_stripes, grown_at_ms: grown_at_s.map(|at_s| at_s * 1_000), ..meta }
    }

    /// So many views a second of each stripe.
    fn views(stripes: u32, seconds: std::ops::Range<i64>, rate: usize) -> Vec<Viewed> {
        let seconds = seconds.map(|at_s| Instant::from_millis(at_s * 1_000));
        let each = seconds.flat_map(|at| (0..stripes).map(move |stripe| Viewed { stripe, at }));
        each.flat_map(|view| std::iter::repeat_n(view, rate)).collect()
    }

    #[test]
    fn a_cold_post_keeps_one_stripe() {
        assert_eq!(more_stripes(&post(1, None), &[]), None);
        assert_eq!(more_stripes(&post(1, None), &views(1, 0..1, 250)), None);
        assert_eq!(more_stripes(&post(1, None), &views(1, 0..100, 250)), None);
    }

    #[test]
    fn stripes_grow_to_what_the_rate_wants_with_room_for_more() {
        assert_eq!(more_stripes(&post(1, None), &views(1, 0..1, 251)), Some(4));
        assert_eq!(more_stripes(&post(1, None), &views(1, 0..3, 1_000)), Some(16));
        assert_eq!(more_stripes(&post(16, None), &views(16, 0..2, 250)), None);
        assert_eq!(more_stripes(&post(16, None), &views(16, 0..2, 300)), Some(64));
        assert_eq!(more_stripes(&post(64, None), &views(64, 0..1, 1_000)), None);
    }

    #[test]
    fn some_of_the_stripes_tell_the_rate_of_all() {
        assert_eq!(more_stripes(&post(8, None), &views(2, 0..2, 300)), Some(32));
        assert_eq!(more_stripes(&post(8, None), &views(2, 0..2, 250)), None);
    }

    #[test]
    fn a_window_that_comes_again_makes_nothing_grow_again() {
        let window = views(1, 10..12, 1_000);
        assert_eq!(more_stripes(&post(1, None), &window), Some(16));
        assert_eq!(more_stripes(&post(16, Some(12)), &window), None);
        assert_eq!(more_stripes(&post(16, Some(12)), &views(1, 17..18, 1_000)), None);
        assert_eq!(more_stripes(&post(16, Some(12)), &views(16, 18..19, 300)), Some(64));
    }
}
