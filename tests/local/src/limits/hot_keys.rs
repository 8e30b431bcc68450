//! Which partition keys take most, in bounded memory.
//!
//! The space-saving sketch
//! ([Metwally, Agrawal, El Abbadi: Efficient Computation of Frequent and Top-k
//! Elements in Data Streams, ICDT 2005](https://doi.org/10.1007/978-3-540-30570-5_27)),
//! with units in place of counts: when all counters are taken, a new key takes
//! over the smallest one, and what stood in it is its error. No error is larger
//! than all units divided by the counters.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::partitions::{Access, Demand};

/// Counters of a sketch. A key that took more than two of so many parts of all
/// units is never missed.
const COUNTERS: usize = 1_000;
/// Where not every call is looked at, a key must have been seen so often: with
/// eight, what it took is known to about a third.
const LEAST_SEEN: u32 = 8;
/// How many keys are named.
const NAMED: usize = 10;

/// The keys that were read most, and those that were written most.
#[derive(Debug)]
pub(super) struct HotKeys {
    one_call_in: u32,
    reads: Sketch,
    writes: Sketch,
}

impl HotKeys {
    /// For all calls.
    pub(super) fn every_call() -> Self {
        Self::one_call_in(1)
    }

    /// For calls each of which stands for so many.
    pub(super) fn one_call_in(one_call_in: u32) -> Self {
        let least_seen = if one_call_in == 1 { 1 } else { LEAST_SEEN };
        let sketch = || Sketch::new(COUNTERS, least_seen);
        Self { one_call_in, reads: sketch(), writes: sketch() }
    }

    /// Counts what a call took.
    pub(super) fn spent(&mut self, demand: &Demand, units: f64) {
        let sketch = match demand.access {
            Access::Read => &mut self.reads,
            Access::Write => &mut self.writes,
        };
        sketch.add(demand, units * f64::from(self.one_call_in));
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "one_call_in": self.one_call_in,
            "read": self.reads.to_json(),
            "write": self.writes.to_json(),
        })
    }
}

#[derive(Debug)]
struct Sketch {
    most: usize,
    least_seen: u32,
    counters: Vec<Counter>,
    /// Where each key's counter is.
    places: HashMap<Demand, usize>,
    /// Units of all keys.
    total: f64,
}

#[derive(Debug)]
struct Counter {
    demand: Demand,
    units: f64,
    /// What of it other keys may have taken.
    error: f64,
    /// How often its key was seen.
    seen: u32,
}

impl Sketch {
    fn new(most: usize, least_seen: u32) -> Self {
        Self { most, least_seen, counters: Vec::new(), places: HashMap::new(), total: 0.0 }
    }

    fn add(&mut self, demand: &Demand, units: f64) {
        self.total += units;
        if let Some(place) = self.places.get(demand) {
            let counter = &mut self.counters[*place];
            counter.units += units;
            counter.seen += 1;
            return;
        }
        let counter = |error| {
            let demand = demand.clone();
            Counter { demand, units: error + units, error, seen: 1 }
        };
        let mut place = self.counters.len();
        if place < self.most {
            self.counters.push(counter(0.0));
        } else {
            let all = self.counters.iter().enumerate();
            let Some((smallest, taken)) = all.min_by(|(_, a), (_, b)| a.units.total_cmp(&b.units))
            else {
                return; // a sketch without counters
            };
            self.places.remove(&taken.demand);
            self.counters[smallest] = counter(taken.units);
            place = smallest;
        }
        self.places.insert(demand.clone(), place);
    }

    /// The keys that surely took more than a counter's part of all units, with
    /// what they took at least, the hottest first.
    fn hottest(&self) -> Vec<(&Demand, f64)> {
        let part = self.total / self.most as f64;
        let seen = self.counters.iter().filter(|counter| counter.seen >= self.least_seen);
        let keys = seen.map(|counter| (&counter.demand, counter.units - counter.error));
        let mut keys: Vec<_> = keys.filter(|(_, units)| *units > part).collect();
        keys.sort_by(|(a, a_units), (b, b_units)| {
            let by_units = b_units.total_cmp(a_units);
            by_units.then_with(|| (&a.resource, &a.key).cmp(&(&b.resource, &b.key)))
        });
        keys
    }

    fn to_json(&self) -> Vec<Value> {
        let keys = self.hottest().into_iter().take(NAMED);
        let keys = keys.map(|(demand, units)| {
            json!({ "resource": demand.resource.to_string(), "key": demand.key, "units": units })
        });
        keys.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::partitions::Resource;
    use super::*;

    fn demand(key: &str) -> Demand {
        let resource = Resource { table: "Things".into(), index: None };
        Demand { resource, key: key.to_owned(), access: Access::Write }
    }

    fn hottest(sketch: &Sketch) -> Vec<(&str, f64)> {
        sketch.hottest().into_iter().map(|(demand, units)| (demand.key.as_str(), units)).collect()
    }

    #[test]
    fn few_keys_are_counted_exactly() {
        let mut sketch = Sketch::new(10, 1);
        for (key, units) in [("a", 1.0), ("b", 2.5), ("a", 3.0), ("c", 0.5)] {
            sketch.add(&demand(key), units);
        }
        assert_eq!(hottest(&sketch), [("a", 4.0), ("b", 2.5)]);
    }

    #[test]
    fn a_hot_key_is_found_among_many_in_bounded_memory() {
        let mut sketch = Sketch::new(20, 1);
        for n in 0..10_000 {
            sketch.add(&demand(&format!("cold {n}")), 1.0);
            if n % 5 == 0 {
                sketch.add(&demand("hot"), 1.0);
            }
        }
        assert_eq!((sketch.counters.len(), sketch.places.len()), (20, 20));
        let found = hottest(&sketch);
        let (key, units) = found[0];
        assert_eq!((found.len(), key), (1, "hot"));
        let error = sketch.total / 20.0;
        assert!((2_000.0 - error..=2_000.0).contains(&units), "{units} ± {error}");
    }

    #[test]
    fn keys_that_take_the_same_are_not_hot() {
        let mut sketch = Sketch::new(20, 1);
        (0..1_000).for_each(|n| sketch.add(&demand(&format!("k{n}")), 2.0));
        assert_eq!(hottest(&sketch), []);
    }

    #[test]
    fn a_call_that_stands_for_others_counts_as_often_and_seldom_ones_tell_nothing() {
        let mut keys = HotKeys::one_call_in(16);
        keys.spent(&demand("seldom"), 9.0);
        for _ in 0..LEAST_SEEN {
            keys.spent(&demand("often"), 2.0);
            keys.spent(&Demand { access: Access::Read, ..demand("read") }, 0.5);
        }
        let expected = json!({
            "one_call_in": 16,
            "read": [{ "resource": "Things", "key": "read", "units": 64.0 }],
            "write": [{ "resource": "Things", "key": "often", "units": 256.0 }],
        });
        assert_eq!(keys.to_json(), expected);
    }
}
