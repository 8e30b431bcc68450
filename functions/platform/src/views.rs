//! Views of a thing, spread over stripes.
//!
//! A partition takes 1,000 write units a second, and so does an item
//! ([source](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/warm-throughput-scenarios.html)).
//! A view is one. Nearly every thing gets by with one stripe; those that
//! are read more get more, long before theirs are at that limit.

use std::fmt::Display;

use crate::app::App;
use crate::clock::Instant;
use crate::problem::Problem;
use crate::table::{Key, Patience, Table, Write, WriteError, n};

/// The most stripes of a thing: 64,000 views a second.
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

/// Counts a view of `thing` in the attribute `views` of any of its `stripes`,
/// whose keys `stripe_key` knows. No read fails because it is not counted: what
/// cannot be counted, or may not have been, is logged and metered.
///
/// A view that was throttled was not counted, and is tried again on any stripe.
/// One whose answer is lost may have been counted, and is not tried again.
pub async fn count(
    app: &App,
    table: Table<'_>,
    thing: &(impl Display + Sync),
    stripes: u32,
    stripe_key: impl Fn(u32) -> Key,
) {
    let mut patience = Patience::default();
    for tried in 0..TRIES {
        if tried > 0 && !patience.pause(app).await {
            break;
        }
        let stripe = app.random_below(stripes.into());
        let key = stripe_key(u32::try_from(stripe).unwrap_or_default());
        match table.add(key, "views", 1).await {
            Ok(()) => return,
            Err(WriteError::Busy(_)) => {}
            Err(WriteError::Unknown(cause)) => {
                tracing::warn!(%thing, cause, "a view may not have been counted");
                return;
            }
            Err(error) => {
                tracing::error!(%thing, %error, "views cannot be counted");
                return app.meter.dropped();
            }
        }
    }
    tracing::warn!(%thing, "a view was not counted: throttled");
    app.meter.dropped();
}

/// The views of a thing as they were last added up.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    /// How many they were.
    pub views: u64,
    /// Over how many stripes they are spread.
    pub stripes: u32,
    /// When that was, if ever.
    pub at_ms: Option<i64>,
}

impl Counted {
    /// How many stripes there should be when the views are `sum` at `now`;
    /// `None` if there are enough.
    ///
    /// Records tell no rate: a batch holds some views of a shard, for as long or
    /// as short as it takes to fill it, and may come again. The sum does.
    pub fn more_stripes(&self, sum: u64, now: Instant) -> Option<u32> {
        let views = sum.saturating_sub(self.views);
        let elapsed_ms = (now.as_millis() - self.at_ms?).max(SHORTEST_MS);
        if views < FEWEST {
            return None;
        }
        let rate = views * 1_000 / elapsed_ms.unsigned_abs();
        if rate <= MOST_RATE * u64::from(self.stripes) {
            return None;
        }
        let wanted = rate.div_ceil(WANTED_RATE).next_power_of_two();
        let wanted = u32::try_from(wanted).unwrap_or(MOST_STRIPES).min(MOST_STRIPES);
        (wanted > self.stripes).then_some(wanted)
    }

    /// Spreads the views that are to come over more stripes, if these are too
    /// few, in the attribute `view_stripes` of the item at `key`.
    pub async fn grow(
        &self,
        app: &App,
        table: Table<'_>,
        thing: &(impl Display + Sync),
        key: Key,
        sum: u64,
    ) -> Result<(), Problem> {
        let Some(wanted) = self.more_stripes(sum, app.clock.now()) else { return Ok(()) };
        let before = self.stripes;
        let write = Write::update(key, "SET view_stripes = :wanted")
            .when("view_stripes = :before")
            .bind(":wanted", n(wanted))
            .bind(":before", n(before));
        match table.update(write).await {
            Ok(()) => tracing::info!(%thing, before, wanted, "more stripes"),
            Err(WriteError::Refused(_)) => {} // another instance was faster
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thing that had 1,000 views when it was counted in the second 100.
    fn counted(stripes: u32) -> Counted {
        Counted { views: 1_000, stripes, at_ms: Some(100_000) }
    }

    /// What so many views more lead to after so many milliseconds.
    fn after(counted: &Counted, ms: i64, views: u64) -> Option<u32> {
        counted.more_stripes(1_000 + views, Instant::from_millis(100_000 + ms))
    }

    #[test]
    fn what_is_cold_keeps_one_stripe() {
        assert_eq!(after(&counted(1), 0, 0), None);
        assert_eq!(after(&counted(1), 1_000, 250), None);
        assert_eq!(after(&counted(1), 100_000, 25_000), None);
        assert_eq!(after(&counted(1), 1, 49), None, "too few to tell");
        assert_eq!(after(&counted(1), -5, 50), None, "a clock that is behind");
        let never_counted = Counted { at_ms: None, ..counted(1) };
        assert_eq!(after(&never_counted, 1, 1_000_000), None);
    }

    #[test]
    fn stripes_grow_to_what_the_rate_wants_with_room_for_more() {
        assert_eq!(after(&counted(1), 1_000, 251), Some(4));
        assert_eq!(after(&counted(1), 250, 175), Some(8), "a quarter of a second of 700 a second");
        assert_eq!(after(&counted(1), 3_000, 3_000), Some(16));
        assert_eq!(after(&counted(16), 2_000, 16 * 500), None);
        assert_eq!(after(&counted(16), 2_000, 16 * 600), Some(64));
        assert_eq!(after(&counted(64), 1_000, 64_000), None);
    }

    #[test]
    fn a_window_that_comes_again_makes_nothing_grow() {
        assert_eq!(after(&counted(1), 1, 0), None);
        assert_eq!(counted(1).more_stripes(10, Instant::from_millis(100_001)), None);
    }
}
