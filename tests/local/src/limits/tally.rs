//! What the limits did, for the status page.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::partitions::{Access, Partitions, Resource};

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
}

impl Tally {
    pub(super) fn to_json(&self, partitions: &Partitions) -> Value {
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
