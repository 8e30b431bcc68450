//! What a function did: requests, answers, latency, calls and capacity units.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;
use platform::meter::Usage;
use serde_json::{Value, json};

/// Counts of one function since it was started.
#[derive(Clone, Debug)]
pub(crate) struct Statistics {
    requests: u64,
    statuses: BTreeMap<u16, u64>,
    /// In microseconds.
    latency: Histogram<u64>,
    total: Duration,
    usage: Usage,
}

impl Default for Statistics {
    fn default() -> Self {
        Self {
            requests: 0,
            statuses: BTreeMap::new(),
            latency: growing_histogram(),
            total: Duration::ZERO,
            usage: Usage::default(),
        }
    }
}

/// A histogram that resolves to 0.1 % and grows with its values.
fn growing_histogram() -> Histogram<u64> {
    #[expect(clippy::expect_used, reason = "it fails for more than five digits only")]
    Histogram::new(3).expect("three digits")
}

impl Statistics {
    pub(crate) fn record(&mut self, status: u16, usage: &Usage, took: Duration) {
        self.requests += 1;
        *self.statuses.entry(status).or_default() += 1;
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let _ = self.latency.record(took_us); // it grows, so no value is too large
        self.total += took;
        self.usage.add(usage);
    }

    /// The counts as the status page shows them.
    pub(crate) fn to_json(&self, environments: u64) -> Value {
        let calls = self.usage.calls.iter();
        let actions: BTreeMap<_, _> =
            calls.map(|calls| (format!("{} {}", calls.table, calls.action), calls.count)).collect();
        let at = |quantile| millis(self.latency.value_at_quantile(quantile));
        json!({
            "environments": environments,
            "requests": self.requests,
            "statuses": self.statuses,
            "latency_ms": {
                "p50": at(0.5),
                "p95": at(0.95),
                "p99": at(0.99),
                "max": millis(self.latency.max()),
            },
            "calls": self.usage.total_calls(),
            "read_units": self.usage.read_units,
            "write_units": self.usage.write_units,
            "unknown_outcomes": self.usage.unknown_outcomes,
            "dropped_writes": self.usage.dropped_writes,
            "actions": actions,
        })
    }

    /// How many requests there were.
    pub(crate) fn requests(&self) -> u64 {
        self.requests
    }

    /// How many of them had which status.
    pub(crate) fn statuses(&self) -> &BTreeMap<u16, u64> {
        &self.statuses
    }

    /// How long all of them took together.
    pub(crate) fn total_s(&self) -> f64 {
        self.total.as_secs_f64()
    }

    /// How long requests took, by quantile.
    pub(crate) fn latency_s(&self) -> [(&'static str, f64); 3] {
        [("0.5", 0.5), ("0.95", 0.95), ("0.99", 0.99)]
            .map(|(name, at)| (name, self.latency.value_at_quantile(at) as f64 / 1_000_000.0))
    }

    /// Calls and units of all of them together.
    pub(crate) fn usage(&self) -> &Usage {
        &self.usage
    }

    /// Calls by table.
    pub(crate) fn calls_by_table(&self) -> impl Iterator<Item = (&str, u64)> {
        let calls = self.usage.calls.iter();
        calls.map(|calls| (calls.table.as_str(), calls.count))
    }
}

fn millis(us: u64) -> f64 {
    us as f64 / 1000.0
}
