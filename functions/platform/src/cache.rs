//! What an execution environment remembers for a while, on the App's clock.
//!
//! A standard environment serves one request at a time and is frozen in
//! between, so nothing here works in the background: an entry that is too old
//! is simply not there.

use std::hash::Hash;

use crate::clock::Instant;

/// Values with the time they were read, forgotten after a lifetime.
#[derive(Debug)]
pub struct Cache<K: Eq + Hash, V: Clone> {
    entries: quick_cache::sync::Cache<K, (Instant, V)>,
    lifetime_ms: i64,
}

impl<K: Eq + Hash + Clone, V: Clone> Cache<K, V> {
    /// A cache of at most `capacity` entries, each valid for `lifetime_ms`.
    pub fn new(capacity: usize, lifetime_ms: i64) -> Self {
        Self { entries: quick_cache::sync::Cache::new(capacity), lifetime_ms }
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
    fn an_entry_from_the_future_is_not_believed() {
        let cache = Cache::new(10, 5_000);
        cache.put("a", Instant::from_millis(9_000), 1);
        assert_eq!(cache.get(&"a", Instant::from_millis(1_000)), None);
    }
}
