//! What an execution environment remembers for a while, on the App's clock.
//!
//! A standard environment serves one request at a time and is frozen in
//! between, so nothing here works in the background: an entry that is too old
//! is simply not there.

use std::hash::Hash;

use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};

use crate::clock::Instant;

/// What an entry is thought to weigh, to make room for those that were evicted.
const TYPICAL_BYTES: u64 = 4_000;

fn one<V>(_: &V) -> u64 {
    1
}

/// Values with the time they were read, forgotten after a lifetime.
#[derive(Debug)]
pub struct Cache<K: Eq + Hash, V: Clone> {
    entries: quick_cache::sync::Cache<K, (Instant, V), Weigh<V>>,
    lifetime_ms: i64,
}

/// What an entry weighs.
#[derive(Clone, Copy, Debug)]
struct Weigh<V>(fn(&V) -> u64);

impl<K, V> Weighter<K, (Instant, V)> for Weigh<V> {
    fn weight(&self, _: &K, (_, value): &(Instant, V)) -> u64 {
        (self.0)(value)
    }
}

impl<K: Eq + Hash + Clone, V: Clone> Cache<K, V> {
    /// A cache of at most `capacity` entries, each valid for `lifetime_ms`.
    pub fn new(capacity: usize, lifetime_ms: i64) -> Self {
        let entries =
            quick_cache::sync::Cache::with_weighter(capacity, capacity as u64, Weigh(one));
        Self { entries, lifetime_ms }
    }

    /// A cache of entries that weigh at most `most_bytes` together, by
    /// `weigh`, each valid for `lifetime_ms`.
    pub fn of_bytes(most_bytes: u64, lifetime_ms: i64, weigh: fn(&V) -> u64) -> Self {
        // One shard, so that an entry may take up all the room. An environment
        // serves one request at a time, so nobody waits for it.
        let options = OptionsBuilder::new()
            .shards(1)
            .estimated_items_capacity(usize::try_from(most_bytes / TYPICAL_BYTES).unwrap_or(1))
            .weight_capacity(most_bytes)
            .build();
        let (hasher, lifecycle) = (DefaultHashBuilder::default(), Default::default());
        let entries = match options {
            Ok(options) => {
                let weigh = Weigh(weigh);
                quick_cache::sync::Cache::with_options(options, weigh, hasher, lifecycle)
            }
            // Only if a capacity were missing above.
            Err(_) => quick_cache::sync::Cache::with_weighter(1, most_bytes, Weigh(weigh)),
        };
        Self { entries, lifetime_ms }
    }

    /// The value of `key`, if it was read less than the lifetime before `now`.
    pub fn get(&self, key: &K, now: Instant) -> Option<V> {
        let (read_at, value) = self.entries.get(key)?;
        let age_ms = now.as_millis() - read_at.as_millis();
        (0..self.lifetime_ms).contains(&age_ms).then_some(value)
    }

    /// Remembers what was read. `read_at` is the time before the read began,
    /// so that a value is never younger than it claims.
    pub fn put(&self, key: K, read_at: Instant, value: V) {
        self.entries.insert(key, (read_at, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_lives_for_its_lifetime_and_not_a_millisecond_longer() {
        let cache = Cache::new(10, 5_000);
        let read_at = Instant::from_millis(1_000);
        cache.put("a", read_at, 1);
        assert_eq!(cache.get(&"a", read_at.plus_millis(4_999)), Some(1));
        assert_eq!(cache.get(&"a", read_at.plus_millis(5_000)), None);
        assert_eq!(cache.get(&"b", read_at), None);
    }

    #[test]
    fn entries_weigh_no_more_than_the_cache_may() {
        let now = Instant::from_millis(0);
        let cache: Cache<u32, Vec<u8>> = Cache::of_bytes(1_000, 5_000, |v| v.len() as u64);
        cache.put(0, now, vec![0; 900]);
        assert!(cache.get(&0, now).is_some(), "one entry may take up nearly all of it");
        for key in 1..100 {
            cache.put(key, now, vec![0; 300]);
        }
        let kept = (0..100).filter_map(|key| cache.get(&key, now));
        assert!(kept.map(|value| value.len()).sum::<usize>() <= 1_000);
        cache.put(100, now, vec![0; 2_000]);
        assert!(cache.get(&100, now).is_none(), "what is too heavy is not kept");
    }

    #[test]
    fn an_entry_from_the_future_is_not_believed() {
        let cache = Cache::new(10, 5_000);
        cache.put("a", Instant::from_millis(9_000), 1);
        assert_eq!(cache.get(&"a", Instant::from_millis(1_000)), None);
    }
}
