//! The report of a run: what goes to the JSON file, and to the terminal.

mod text;

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use crate::error::Error;
use crate::invariants::Invariant;
use crate::record::{Latency, Samples};
use crate::status::{Cost, Usage};

/// A named part of a run, as it was recorded.
pub(crate) struct Phase {
    /// Its name.
    pub(crate) name: &'static str,
    /// What was recorded.
    pub(crate) samples: Samples,
}

/// A run, as its JSON file has it.
#[derive(Serialize)]
pub(crate) struct Report {
    /// The scenario.
    pub(crate) scenario: &'static str,
    /// Which clock it ran on.
    pub(crate) clock: &'static str,
    /// Where the system answered.
    pub(crate) url: String,
    /// What its random choices began with.
    pub(crate) seed: u64,
    /// How many users there were.
    pub(crate) users: usize,
    /// Whether all were through before the run was stopped.
    pub(crate) is_complete: bool,
    /// The first phase, which is the measured one.
    #[serde(flatten)]
    pub(crate) measured: Measured,
    /// Every phase in order, the measured one included.
    pub(crate) phases: Vec<Part>,
    /// Requests whose outcome nobody knows, in all phases.
    pub(crate) unknown_outcomes: u64,
    /// Every operation that was called, those of setting up and reading back
    /// included.
    pub(crate) operations: BTreeMap<String, Operation>,
    /// Cost by tenth of the measured phase. `None` without a status page.
    pub(crate) deciles: Option<Vec<Decile>>,
    /// What must be true.
    pub(crate) invariants: Vec<Invariant>,
    /// The peer, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) peer: Option<Measured>,
    /// The ceiling, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ceiling: Option<Ceiling>,
    /// Comparisons with those.
    pub(crate) ratios: Vec<Ratio>,
}

/// Figures of a phase, with its name.
#[derive(Serialize)]
pub(crate) struct Part {
    /// Its name.
    pub(crate) name: &'static str,
    /// Its figures.
    #[serde(flatten)]
    pub(crate) measured: Measured,
}

/// Figures of a phase.
#[derive(Clone, Serialize)]
pub(crate) struct Measured {
    /// From the first request to the last answer.
    pub(crate) seconds: f64,
    /// Requests that were answered.
    pub(crate) requests: u64,
    /// Those a second.
    pub(crate) rate: f64,
    /// How long answers took.
    pub(crate) latency_ms: Latency,
    /// Answers by status.
    pub(crate) statuses: BTreeMap<String, u64>,
    /// Refusals and failures by status and code, and requests without an answer.
    pub(crate) errors: BTreeMap<String, u64>,
    /// Why the last request without an answer had none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_loss: Option<String>,
}

/// What one operation did and what it cost.
#[derive(Serialize)]
pub(crate) struct Operation {
    /// Requests that were sent.
    pub(crate) requests: u64,
    /// DynamoDB calls of all of them. `None` without a status page, as below.
    pub(crate) calls: Option<u64>,
    /// Read request units.
    pub(crate) read_units: Option<f64>,
    /// Write request units.
    pub(crate) write_units: Option<f64>,
    /// US dollars for a million requests.
    pub(crate) usd_per_million: Option<f64>,
    /// The average request's cost.
    #[serde(skip)]
    pub(crate) cost: Option<Cost>,
}

/// What a request cost in one tenth of the measured phase.
#[derive(Serialize)]
pub(crate) struct Decile {
    /// Which tenth: 1 to 10.
    pub(crate) tenth: usize,
    /// Requests that the functions served in it.
    pub(crate) requests: u64,
    /// The average one's cost.
    #[serde(flatten)]
    pub(crate) cost: Option<Cost>,
}

/// What the database alone carries.
#[derive(Clone, Copy, Serialize)]
pub(crate) struct Ceiling {
    /// Transactions a second.
    pub(crate) rate: f64,
}

/// A comparison, and what it should come to.
#[derive(Serialize)]
pub(crate) struct Ratio {
    /// What is compared.
    pub(crate) name: &'static str,
    /// The ratio.
    pub(crate) value: f64,
    /// What it should be, in words.
    pub(crate) goal: String,
    /// Whether it is.
    pub(crate) is_met: bool,
}

impl From<&Samples> for Measured {
    fn from(samples: &Samples) -> Self {
        let statuses = samples.statuses.iter().map(|(status, n)| (status.to_string(), *n));
        let problems = samples.problems.iter();
        let problems = problems.map(|((status, code), n)| (format!("{status} {code}"), *n));
        let lost = (samples.lost > 0).then(|| ("no answer".to_owned(), samples.lost));
        Self {
            seconds: crate::record::three_digits(samples.wall().as_secs_f64()),
            requests: samples.answered(),
            rate: samples.rate(),
            latency_ms: samples.latency(),
            statuses: statuses.collect(),
            errors: problems.chain(lost).collect(),
            last_loss: samples.last_loss.clone(),
        }
    }
}

impl Operation {
    /// An operation of so many requests, and what the status page says of it.
    pub(crate) fn new(requests: u64, usage: Option<Usage>) -> Self {
        let cost = usage.and_then(|usage| usage.per_request());
        Self {
            requests,
            calls: usage.map(|usage| usage.calls),
            read_units: usage.map(|usage| usage.read_units),
            write_units: usage.map(|usage| usage.write_units),
            usd_per_million: cost.map(|cost| cost.usd_per_million),
            cost,
        }
    }
}

impl Ratio {
    /// `ours ÷ theirs`, which should be at least `goal`.
    pub(crate) fn at_least(name: &'static str, ours: f64, theirs: f64, goal: f64) -> Self {
        let value = ours / theirs;
        Self::new(name, value, format!("at least {goal}"), value >= goal)
    }

    /// `ours ÷ theirs`, which should be at most `goal`.
    pub(crate) fn at_most(name: &'static str, ours: f64, theirs: f64, goal: f64) -> Self {
        let value = ours / theirs;
        Self::new(name, value, format!("at most {goal}"), value <= goal)
    }

    fn new(name: &'static str, value: f64, goal: String, is_met: bool) -> Self {
        Self { name, value: crate::record::three_digits(value), goal, is_met }
    }
}

impl Report {
    /// Whether every invariant held.
    pub(crate) fn is_sound(&self) -> bool {
        self.invariants.iter().all(|invariant| invariant.held)
    }

    /// Fails if the JSON file cannot be written: better before a run than after.
    pub(crate) fn require_writable(path: &Path) -> Result<(), Error> {
        let opened = std::fs::OpenOptions::new().create(true).append(true).open(path);
        opened.map(drop).map_err(|error| Error::Write { path: path.to_owned(), error })
    }

    /// Writes the JSON file.
    pub(crate) fn write_json(&self, path: &Path) -> Result<(), Error> {
        let failed = |error| Error::Write { path: path.to_owned(), error };
        let json = serde_json::to_vec_pretty(self).map_err(|error| failed(error.into()))?;
        std::fs::write(path, json).map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_judged_by_its_goal_before_it_is_rounded() {
        let ratio = Ratio::at_least("rate", 2_499.0, 1_000.0, 2.5);
        assert!(!ratio.is_met);
        assert_eq!(ratio.value, 2.5);
        assert!(Ratio::at_most("p95", 40.0, 100.0, 0.4).is_met);
        assert!(!Ratio::at_most("p95", 41.0, 0.0, 0.4).is_met);
    }

    #[test]
    fn an_operation_has_totals_and_what_is_not_known_is_null() {
        let json = serde_json::to_value(Operation::new(3, None)).unwrap();
        assert_eq!(json["requests"], 3);
        assert!(json["calls"].is_null() && json["usd_per_million"].is_null());
        let usage = Usage { requests: 3, calls: 4, read_units: 0.5, write_units: 24.0 };
        let json = serde_json::to_value(Operation::new(3, Some(usage))).unwrap();
        assert_eq!((&json["calls"], &json["usd_per_million"]), (&4.into(), &5.02.into()));
    }
}
