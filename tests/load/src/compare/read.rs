//! A run as its JSON report has it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::backlog::Depth;
use crate::error::Error;
use crate::record::{Latency, Second};
use crate::status::HotKeys;

/// What a comparison needs of a report.
#[derive(Deserialize)]
pub(super) struct Run {
    /// Its file.
    #[serde(skip)]
    pub(super) path: PathBuf,
    pub(super) scenario: String,
    clock: String,
    pub(super) seed: u64,
    users: usize,
    events: Option<String>,
    pub(super) is_complete: bool,
    pub(super) phases: Vec<Phase>,
    pub(super) operations: BTreeMap<String, Operation>,
    pub(super) timeline: Vec<Second>,
    #[serde(default)]
    pub(super) backlog: Option<Vec<Depth>>,
    #[serde(default)]
    pub(super) limits: Option<String>,
    #[serde(default)]
    pub(super) hottest_keys: Option<HotKeys>,
    pub(super) invariants: Vec<Invariant>,
}

/// A part of a run.
#[derive(Deserialize)]
pub(super) struct Phase {
    pub(super) name: String,
    pub(super) seconds: f64,
    pub(super) rate: f64,
    pub(super) latency_ms: Latency,
    #[serde(default)]
    pub(super) by_operation: BTreeMap<String, Answered>,
    pub(super) errors: BTreeMap<String, u64>,
}

/// An operation of a phase.
#[derive(Deserialize)]
pub(super) struct Answered {
    pub(super) answers: u64,
    pub(super) latency_ms: Latency,
}

/// What an operation did and cost in all.
#[derive(Deserialize)]
pub(super) struct Operation {
    requests: u64,
    calls: Option<f64>,
    read_units: Option<f64>,
    write_units: Option<f64>,
}

/// Something that must be true.
#[derive(Deserialize)]
pub(super) struct Invariant {
    pub(super) name: String,
    pub(super) held: Option<bool>,
    pub(super) detail: String,
}

impl Run {
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        let json = std::fs::read(path);
        Self::parse(path, &json.map_err(|error| Error::Read { path: path.to_owned(), error })?)
    }

    pub(super) fn parse(path: &Path, json: &[u8]) -> Result<Self, Error> {
        let run = serde_json::from_slice(json);
        let run: Self = run.map_err(|error| Error::NoReport { path: path.to_owned(), error })?;
        Ok(Self { path: path.to_owned(), ..run })
    }

    /// How it was run, by name.
    pub(super) fn conditions(&self) -> [(&'static str, String); 5] {
        let of = |known: &Option<String>, otherwise: &str| {
            known.clone().unwrap_or_else(|| otherwise.to_owned())
        };
        [
            ("seed", self.seed.to_string()),
            ("clock", self.clock.clone()),
            ("users", self.users.to_string()),
            ("events", of(&self.events, "unknown")),
            ("limits", of(&self.limits, "none").replace(',', ", ")),
        ]
    }

    /// Errors of all phases, by code.
    pub(super) fn errors(&self) -> BTreeMap<String, u64> {
        crate::over_time::in_all(self.phases.iter().map(|phase| &phase.errors))
            .into_iter()
            .collect()
    }
}

impl Operation {
    /// Calls, read units and write units of one request.
    pub(super) fn per_request(&self) -> [Option<f64>; 3] {
        let each = |total: Option<f64>| {
            let total = total.filter(|_| self.requests > 0)?;
            Some(crate::record::three_digits(total / self.requests as f64))
        };
        [self.calls, self.read_units, self.write_units].map(each)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report;

    #[test]
    fn what_a_run_writes_can_be_read() {
        let json = serde_json::to_vec(&report::tests::report()).unwrap();
        let run = Run::parse(Path::new("a.json"), &json).unwrap();
        assert_eq!((run.scenario.as_str(), run.phases[0].name.as_str()), ("mixed-flow", "write"));
        assert_eq!(run.timeline[0].errors["409 SCHEDULE_CONFLICT"], 1);
        assert_eq!(run.operations["enroll"].per_request(), [Some(1.33), Some(0.167), Some(8.0)]);
        assert_eq!(run.backlog.unwrap().len(), 3);
        assert_eq!(run.hottest_keys.unwrap().one_call_in, 16);
    }

    #[test]
    fn what_is_no_report_is_refused_with_the_remedy() {
        for json in ["", "[]", "{}", r#"{"scenario": "home"}"#, "<html>"] {
            let error = Run::parse(Path::new("x.json"), json.as_bytes()).err().unwrap();
            assert!(error.is_wrong_usage());
            let text = error.to_string();
            assert!(text.starts_with("x.json is no report of cargo load ("), "{text}");
            assert!(text.ends_with("`cargo load <scenario> --json FILE`"), "{text}");
        }
        assert!(Run::read(Path::new("/no/such/file")).err().unwrap().is_wrong_usage());
    }

    #[test]
    fn an_operation_that_was_never_asked_for_cost_nothing_that_is_known() {
        let operation =
            Operation { requests: 0, calls: Some(3.0), read_units: None, write_units: Some(0.0) };
        assert_eq!(operation.per_request(), [None; 3]);
    }
}
