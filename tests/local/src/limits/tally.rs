//! What the limits did, for the status page.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};

use super::partitions::{Access, Demand, Partitions, Resource};

/// How many keys are named.
const NAMED: usize = 5;

/// Counts since the cloud started.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) calls: u64,
    /// Calls that met a running transaction.
    pub(super) conflicts: u64,
    /// Calls that were throttled, by reason and resource.
    pub(super) throttles: BTreeMap<String, u64>,
    pub(super) lost: u64,
    pub(super) errors: u64,
    pub(super) slow: u64,
    units: HashMap<Demand, f64>,
}

impl Tally {
    pub(super) fn spent(&mut self, demand: &Demand, units: f64) {
        match self.units.get_mut(demand) {
            Some(spent) => *spent += units,
            None => {
                self.units.insert(demand.clone(), units);
            }
        }
    }

    pub(super) fn to_json(&self, partitions: &Partitions) -> Value {
        let mut keys: Vec<_> = self.units.iter().collect();
        keys.sort_by(|(a, spent_a), (b, spent_b)| {
            spent_b
                .total_cmp(spent_a)
                .then_with(|| (&a.resource, &a.key).cmp(&(&b.resource, &b.key)))
        });
        let keys = keys.into_iter().take(NAMED).map(|(demand, units)| {
            json!({
                "resource": demand.resource.to_string(),
                "access": demand.access.name(),
                "key": demand.key,
                "units": units,
            })
        });
        let partitions = partitions.spent().map(|(resource, partition, access, units)| {
            (format!("{resource} {} {partition}", access.name()), units)
        });
        let partitions: BTreeMap<_, _> = partitions.collect();
        json!({
            "calls": self.calls,
            "conflicts": self.conflicts,
            "throttles": self.throttles,
            "lost": self.lost,
            "errors": self.errors,
            "slow": self.slow,
            "hottest_keys": keys.collect::<Vec<_>>(),
            "partitions": partitions,
        })
    }
}

impl Access {
    fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

impl std::fmt::Display for Resource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.index {
            Some(index) => write!(f, "{}/{index}", self.table),
            None => f.write_str(&self.table),
        }
    }
}
