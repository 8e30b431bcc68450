//! What the local cloud's status page knows: calls and capacity units of each
//! function, and what they would cost; and what waits in streams and queues.

use std::collections::BTreeMap;

use http::Method;
use serde::{Deserialize, Serialize};

use crate::call::{Call, Request};
use crate::record::three_digits;

/// US dollars for a million write request units, on demand in us-east-1.
const USD_PER_MILLION_WRITES: f64 = 0.625;
/// US dollars for a million read request units, on demand in us-east-1.
const USD_PER_MILLION_READS: f64 = 0.125;
/// Where those prices come from, and what they leave out.
pub(crate) const PRICES: &str = "prices: DynamoDB on demand, us-east-1, $0.625 per million write \
    and $0.125 per million read request units (https://aws.amazon.com/dynamodb/pricing/on-demand/); \
    Lambda and API Gateway are not included, nor are units of refused writes, which DynamoDB \
    bills but does not report";

/// In the name of a queue of what did not arrive. Nobody works such a queue off.
const DEAD_LETTERS: &str = "DeadLetter";

/// Counts of every function since the cloud started, and what waits now.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Status {
    functions: BTreeMap<String, Usage>,
    #[serde(default)]
    queues: BTreeMap<String, Messages>,
    #[serde(default)]
    stream_lag: BTreeMap<String, Lag>,
    #[serde(default)]
    limits: Option<Limited>,
    #[serde(default)]
    pub(crate) hottest_keys: Option<HotKeys>,
}

/// What the limits of the real services did.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(crate) struct Limited {
    /// Calls of DynamoDB.
    pub(crate) calls: u64,
    /// Calls that met a running transaction.
    pub(crate) conflicts: u64,
    /// Calls that were throttled, by resource and reason.
    pub(crate) throttles: BTreeMap<String, u64>,
    /// Answers that were lost.
    pub(crate) lost: u64,
    /// Calls that were answered with a 500.
    pub(crate) errors: u64,
    /// Answers that came late.
    pub(crate) slow: u64,
    /// Units of each partition.
    #[serde(skip_serializing)]
    partitions: BTreeMap<String, f64>,
}

/// The partition keys that took most since the cloud started: each more than a
/// thousandth of all units.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct HotKeys {
    /// One call in so many was looked at, and stands for the others.
    pub(crate) one_call_in: u32,
    /// Those that were read.
    pub(crate) read: Vec<HotKey>,
    /// Those that were written.
    pub(crate) write: Vec<HotKey>,
}

/// A partition key that took much.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct HotKey {
    /// The table or the index.
    pub(crate) resource: String,
    /// The key.
    pub(crate) key: String,
    /// What it took.
    pub(crate) units: f64,
}

impl HotKeys {
    /// How they were found, in a sentence.
    pub(crate) fn how(&self) -> String {
        let seen = match self.one_call_in {
            1 => "Every call was looked at.".to_owned(),
            n => format!(
                "Estimated from one call in {n}, in which the units of indexes count as the \
                 table's; under --aws-limits every call is looked at."
            ),
        };
        format!(
            "Keys that took more than a thousandth of all units since the cloud started, setting \
             up and reading back included. {seen}"
        )
    }
}

impl HotKey {
    /// Where it is, and the key.
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.resource, self.key)
    }
}

impl Limited {
    /// Whether every call was let through and answered.
    pub(crate) fn has_let_pass_all(&self) -> bool {
        self.conflicts + self.lost + self.errors == 0 && self.throttles.is_empty()
    }

    /// What was counted since `earlier`.
    fn since(&self, earlier: &Self) -> Self {
        let less = |now: &BTreeMap<String, u64>, then: &BTreeMap<String, u64>| {
            let counts = now.iter().map(|(name, count)| {
                (name.clone(), count - then.get(name).copied().unwrap_or_default().min(*count))
            });
            counts.filter(|(_, count)| *count > 0).collect()
        };
        let partitions = self.partitions.iter().map(|(name, units)| {
            (name.clone(), units - earlier.partitions.get(name).copied().unwrap_or_default())
        });
        Self {
            calls: self.calls - earlier.calls.min(self.calls),
            conflicts: self.conflicts - earlier.conflicts.min(self.conflicts),
            throttles: less(&self.throttles, &earlier.throttles),
            lost: self.lost - earlier.lost.min(self.lost),
            errors: self.errors - earlier.errors.min(self.errors),
            slow: self.slow - earlier.slow.min(self.slow),
            partitions: partitions.collect(),
        }
    }

    /// The partition that took most, by what it may take, with its units.
    pub(crate) fn busiest(&self, access: &str) -> Option<(&str, f64)> {
        let of = self.partitions.iter().filter(|(name, _)| name.contains(access));
        let busiest = of.max_by(|(_, a), (_, b)| a.total_cmp(b));
        busiest.map(|(name, units)| (name.as_str(), *units))
    }
}

/// Messages of a queue.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
struct Messages {
    visible: u64,
    in_flight: u64,
    delayed: u64,
}

/// What a function has not seen yet of a table's changes.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
struct Lag {
    records: u64,
}

/// What waits to be told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waiting {
    /// Records in streams.
    pub(crate) records: u64,
    /// Messages in queues, without dead letters.
    pub(crate) messages: u64,
}

impl Waiting {
    /// All of it.
    pub(crate) fn depth(self) -> u64 {
        self.records + self.messages
    }
}

/// Counts of one function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Usage {
    /// Requests served.
    pub(crate) requests: u64,
    /// DynamoDB calls made.
    pub(crate) calls: u64,
    /// Read request units consumed.
    pub(crate) read_units: f64,
    /// Write request units consumed.
    pub(crate) write_units: f64,
    /// Writes that may have been done or not.
    pub(crate) unknown_outcomes: u64,
    /// Writes that were given up, though the request succeeded.
    pub(crate) dropped_writes: u64,
    /// Execution environments that it has.
    pub(crate) environments: u64,
}

/// What one request cost on average.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Cost {
    /// DynamoDB calls.
    pub(crate) calls: f64,
    /// Read request units.
    pub(crate) read_units: f64,
    /// Write request units.
    pub(crate) write_units: f64,
    /// US dollars for a million such requests.
    pub(crate) usd_per_million: f64,
}

impl Status {
    /// Reads the page. `None` where there is none, as in the real cloud.
    pub(crate) async fn read(call: &dyn Call) -> Option<Self> {
        let page = Request::new("status", Method::GET, "/_local/status.json");
        let answer = call.call(&page).await.ok().filter(|answer| answer.status == 200)?;
        answer.json().ok()
    }

    /// What waits. `None` if the page has no streams.
    pub(crate) fn waiting(&self) -> Option<Waiting> {
        let records = self.stream_lag.values().map(|lag| lag.records).sum();
        let queues = self.queues.iter().filter(|(name, _)| !name.contains(DEAD_LETTERS));
        let messages = queues.map(|(_, m)| m.visible + m.in_flight + m.delayed).sum();
        (!self.stream_lag.is_empty()).then_some(Waiting { records, messages })
    }

    /// What the limits did since `earlier`, if there are any.
    pub(crate) fn limited_since(&self, earlier: &Self) -> Option<Limited> {
        let limited = self.limits.as_ref()?;
        Some(limited.since(earlier.limits.as_ref().unwrap_or(&Limited::default())))
    }

    /// Counts of `function`.
    pub(crate) fn of(&self, function: &str) -> Usage {
        self.functions.get(function).copied().unwrap_or_default()
    }
}

/// How many writes `function` gave up or lost track of between two readings of
/// the page; 0 without one.
pub(crate) fn uncounted(status: Option<&(Status, Status)>, function: &str) -> u64 {
    status.map_or(0, |(before, after)| {
        let usage = after.of(function).since(&before.of(function));
        usage.unknown_outcomes + usage.dropped_writes
    })
}

impl Usage {
    /// What was counted since `earlier`.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self {
            requests: self.requests.saturating_sub(earlier.requests),
            calls: self.calls.saturating_sub(earlier.calls),
            read_units: self.read_units - earlier.read_units,
            write_units: self.write_units - earlier.write_units,
            unknown_outcomes: self.unknown_outcomes.saturating_sub(earlier.unknown_outcomes),
            dropped_writes: self.dropped_writes.saturating_sub(earlier.dropped_writes),
            environments: self.environments,
        }
    }

    /// The average request's cost. `None` without requests.
    pub(crate) fn per_request(&self) -> Option<Cost> {
        let each = |total: f64| three_digits(total / self.requests as f64);
        let usd =
            self.write_units * USD_PER_MILLION_WRITES + self.read_units * USD_PER_MILLION_READS;
        (self.requests > 0).then(|| Cost {
            calls: each(self.calls as f64),
            read_units: each(self.read_units),
            write_units: each(self.write_units),
            usd_per_million: each(usd),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(requests: u64, calls: u64, read_units: f64, write_units: f64) -> Usage {
        Usage { requests, calls, read_units, write_units, ..Usage::default() }
    }

    #[test]
    fn a_million_enrollments_of_eight_write_units_cost_five_dollars() {
        let usage = usage(10, 11, 5.0, 80.0);
        let cost = usage.per_request().unwrap();
        assert_eq!((cost.calls, cost.read_units, cost.write_units), (1.1, 0.5, 8.0));
        assert_eq!(cost.usd_per_million, 5.06);
        assert_eq!(Usage::default().per_request(), None);
    }

    #[test]
    fn usage_is_counted_from_an_earlier_reading() {
        let earlier = usage(10, 11, 5.0, 80.0);
        let later = Usage { unknown_outcomes: 2, dropped_writes: 1, ..usage(30, 31, 5.0, 240.0) };
        let both = Usage { unknown_outcomes: 2, dropped_writes: 1, ..usage(20, 20, 0.0, 160.0) };
        assert_eq!(later.since(&earlier), both);
    }

    #[test]
    fn a_page_is_read_whatever_else_it_holds() {
        let page = r#"{"functions": {"enroll": {"requests": 2, "calls": 3, "read_units": 0.5,
            "write_units": 16.0, "environments": 1, "statuses": {"201": 2}}}, "queues": {}}"#;
        let status: Status = serde_json::from_str(page).unwrap();
        assert_eq!((status.of("enroll").calls, status.of("enroll").environments), (3, 1));
        assert_eq!(status.of("drop"), Usage::default());
        assert_eq!(status.waiting(), None);
    }

    #[test]
    fn what_waits_is_counted_without_dead_letters() {
        let page = r#"{"functions": {}, "stream_lag": {
                "relay Schedule": {"records": 3, "oldest_age_s": 0.5},
                "relay Enrollment": {"records": 4, "oldest_age_s": null}},
            "queues": {
                "EventsQueue": {"visible": 1, "in_flight": 10, "delayed": 100},
                "EventsDeadLetterQueue": {"visible": 1000, "in_flight": 0, "delayed": 0}}}"#;
        let waiting = serde_json::from_str::<Status>(page).unwrap().waiting().unwrap();
        assert_eq!(waiting, Waiting { records: 7, messages: 111 });
        assert_eq!(waiting.depth(), 118);
    }
}
