//! The report of a run: what goes to the JSON file, to the page, and to the
//! terminal.

mod html;
mod text;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;

use crate::backlog::{Depth, Growth};
use crate::cloud::Events;
use crate::error::Error;
use crate::invariants::Invariant;
use crate::record::{Latency, NO_ANSWER, Samples, Second, per_second, problem_name, three_digits};
use crate::scenarios::relay::Relayed;
use crate::status::{Cost, HotKeys, Limited, Usage};

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
    /// Whether what changed was told meanwhile. `None` if nobody knows.
    pub(crate) events: Option<Events>,
    /// Whether all were through before the run was stopped.
    pub(crate) is_complete: bool,
    /// The first phase, which is the measured one.
    #[serde(flatten)]
    pub(crate) measured: Measured,
    /// Every phase in order, the measured one included.
    pub(crate) phases: Vec<Part>,
    /// Requests whose outcome nobody ever knew, in all phases. One that was sent
    /// again until it was answered is none.
    pub(crate) unknown_outcomes: u64,
    /// Every operation that was called, those of setting up and reading back
    /// included.
    pub(crate) operations: BTreeMap<String, Operation>,
    /// What only this scenario has.
    #[serde(flatten)]
    pub(crate) details: Details,
    /// The measured phase, second by second.
    pub(crate) timeline: Vec<Second>,
    /// The limits of the real services, if they were set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) limits: Option<String>,
    /// What they did from the beginning to the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) limited: Option<Limited>,
    /// Partition keys that took most. `None` without a status page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hottest_keys: Option<HotKeys>,
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

/// What only some scenarios have.
#[derive(Clone, Default, Serialize)]
pub(crate) struct Details {
    /// Cost by tenth of the measured phase. `None` without a status page.
    pub(crate) deciles: Option<Vec<Decile>>,
    /// What bounds the rate of users who think.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) closed_model: Option<ClosedModel>,
    /// How long the load took, from the first user's arrival on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) load_seconds: Option<f64>,
    /// What waited to be told, second by second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) backlog: Option<Vec<Depth>>,
    /// Whether that grew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) backlog_growth: Option<Growth>,
    /// Seconds from the end of the load until everything was told.
    pub(crate) seconds_to_empty: Option<f64>,
    /// The cloud's death, if it was killed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kill: Option<Kill>,
    /// What the relay did, if it was measured alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) relayed: Option<Relayed>,
}

/// What bounds the rate of users who wait for the answer and then think.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct ClosedModel {
    /// They think at least so long, in seconds.
    pub(crate) least_think_s: f64,
    /// And at most so long.
    pub(crate) most_think_s: f64,
    /// How long an answer took on average.
    pub(crate) mean_response_ms: f64,
    /// Requests a second that so many users can send.
    pub(crate) bound: f64,
    /// Answers a second while all users were there. `None` if they never were.
    pub(crate) full_load_rate: Option<f64>,
}

impl ClosedModel {
    /// Of so many users who think at least, at most and on average so long, and
    /// who were all there `from` … `to`.
    pub(crate) fn new(
        users: usize,
        (least, most, mean): (Duration, Duration, Duration),
        samples: &Samples,
        full_load: Option<(Instant, Instant)>,
    ) -> Self {
        let mean_response_ms = samples.mean_latency_ms();
        let loop_s = mean.as_secs_f64() + mean_response_ms / 1000.0;
        Self {
            least_think_s: least.as_secs_f64(),
            most_think_s: most.as_secs_f64(),
            mean_response_ms,
            bound: if loop_s > 0.0 { three_digits(users as f64 / loop_s) } else { 0.0 },
            full_load_rate: full_load.and_then(|(from, to)| rate_between(samples, from, to)),
        }
    }
}

/// Answers a second in the whole seconds from `from` to `to`.
fn rate_between(samples: &Samples, from: Instant, to: Instant) -> Option<f64> {
    let first = samples.first_sent()?;
    let since_first = |time: Instant| time.saturating_duration_since(first).as_secs_f64();
    let (from_s, to_s) = (since_first(from).ceil(), since_first(to).floor());
    let seconds = samples.seconds();
    let within = seconds.iter().filter(|s| (from_s..to_s).contains(&(s.second as f64)));
    let (count, answers) = within.fold((0, 0), |(n, sum), s| (n + 1, sum + s.answers as u64));
    (count > 0).then(|| per_second(answers, Duration::from_secs(count)))
}

/// How the cloud was killed in mid-run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Kill {
    /// In which second of the load.
    pub(crate) second: u64,
    /// How long it took until another one served in its place.
    pub(crate) down_seconds: f64,
    /// Requests that had no answer, in the whole load. They were sent again.
    pub(crate) unanswered: u64,
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
    /// Their 99th percentile, divided by the 50th.
    pub(crate) p99_over_p50: f64,
    /// The same of each operation, if there are several.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) by_operation: BTreeMap<&'static str, Answered>,
    /// Answers by status.
    pub(crate) statuses: BTreeMap<String, u64>,
    /// Refusals and failures by status and code, and requests without an answer.
    pub(crate) errors: BTreeMap<String, u64>,
    /// Requests without an answer, by what was at the bottom of it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) losses: BTreeMap<String, u64>,
    /// Why the last request without an answer had none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_loss: Option<String>,
}

/// How long the answers of one operation took.
#[derive(Clone, Copy, Serialize)]
pub(crate) struct Answered {
    /// How many there were.
    pub(crate) answers: u64,
    /// How long they took.
    pub(crate) latency_ms: Latency,
    /// Their 99th percentile, divided by the 50th.
    pub(crate) p99_over_p50: f64,
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
#[derive(Clone, Serialize)]
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
        let problems = problems.map(|((status, code), n)| (problem_name(*status, code), *n));
        let lost = (samples.lost > 0).then(|| (NO_ANSWER.to_owned(), samples.lost));
        let mut by_operation = samples.latency_by_operation();
        if by_operation.len() < 2 {
            by_operation.clear();
        }
        let by_operation = by_operation.into_iter().map(|(name, (answers, latency_ms))| {
            (name, Answered { answers, latency_ms, p99_over_p50: latency_ms.spread() })
        });
        Self {
            seconds: crate::record::three_digits(samples.wall().as_secs_f64()),
            requests: samples.answered(),
            rate: samples.rate(),
            latency_ms: samples.latency(),
            p99_over_p50: samples.latency().spread(),
            by_operation: by_operation.collect(),
            statuses: statuses.collect(),
            errors: problems.chain(lost).collect(),
            losses: samples.losses.clone(),
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
        !self.invariants.iter().any(Invariant::is_broken)
    }

    /// Fails if a file cannot be written: better before a run than after.
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

    /// Writes the page.
    pub(crate) fn write_html(&self, path: &Path) -> Result<(), Error> {
        let failed = |error| Error::Write { path: path.to_owned(), error };
        std::fs::write(path, self.to_html()).map_err(failed)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::call::Answer;
    use crate::record::Recorder;
    use crate::status::HotKey;

    /// A report that has everything.
    pub(crate) fn report() -> Report {
        let recorder = Recorder::new().unwrap();
        for status in [201, 201, 409] {
            let answer = Answer { status, body: br#"{"code":"SCHEDULE_CONFLICT"}"#.to_vec() };
            recorder.record("create-schedule", Instant::now(), &Ok(answer));
        }
        let samples = recorder.samples();
        let mut measured = Measured::from(&samples);
        assert!(measured.by_operation.is_empty(), "one operation is the phase itself");
        let latency_ms = Latency { p50: 12.5, p95: 31.0, p99: 50.0, max: 99.0 };
        let updates = Answered { answers: 2, latency_ms, p99_over_p50: latency_ms.spread() };
        measured.by_operation.insert("update-schedule", updates);
        let usage =
            Usage { requests: 3, calls: 4, read_units: 0.5, write_units: 24.0, ..Usage::default() };
        let depth = |second, depth| Depth { second, depth };
        let depths = [depth(0, 3), depth(1, 1_234), depth(2, 0)];
        Report {
            scenario: "mixed-flow",
            clock: "real",
            url: "http://127.0.0.1:9000".into(),
            seed: 7,
            users: 3,
            events: Some(Events::Running),
            is_complete: true,
            measured: measured.clone(),
            phases: vec![Part { name: "write", measured: measured.clone() }],
            unknown_outcomes: 0,
            operations: [("enroll".to_owned(), Operation::new(3, Some(usage)))].into(),
            timeline: samples.seconds(),
            limits: None,
            limited: None,
            hottest_keys: Some(hottest_keys()),
            invariants: vec![
                Invariant::new("schedules per account = 201s", false, "2 of 3".into()),
                Invariant::unchecked("one reminder per schedule", "no table"),
            ],
            peer: Some(measured),
            ceiling: Some(Ceiling { rate: 100.0 }),
            ratios: vec![Ratio::at_least("rate, ours ÷ peer", 25.0, 10.0, 2.5)],
            details: Details {
                closed_model: Some(ClosedModel {
                    least_think_s: 1.0,
                    most_think_s: 5.0,
                    mean_response_ms: 12.0,
                    bound: 30.0,
                    full_load_rate: Some(29.5),
                }),
                load_seconds: Some(1.5),
                backlog: Some(depths.into()),
                backlog_growth: Some(Growth {
                    peak: 1_234,
                    peak_second: 1,
                    second_quarter: 10.0,
                    last_quarter: 12.0,
                    tolerance: 10.0,
                    grew: false,
                }),
                seconds_to_empty: Some(0.8),
                kill: Some(Kill { second: 2, down_seconds: 0.4, unanswered: 5 }),
                ..Details::default()
            },
        }
    }

    fn hottest_keys() -> HotKeys {
        let key = |resource: &str, key: &str, units| HotKey {
            resource: resource.into(),
            key: key.into(),
            units,
        };
        HotKeys {
            one_call_in: 16,
            read: vec![key("Schedule/ByStart", "m1", 48.0)],
            write: vec![key("Schedule", "a-1", 12_000.5), key("Schedule", "<b>", 32.0)],
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_bound_is_that_of_users_who_think_and_wait() {
        let recorder = Recorder::new().unwrap();
        let first = Instant::now();
        for _ in 0..4 {
            let sent = Instant::now();
            tokio::time::advance(Duration::from_millis(500)).await;
            let answer = Answer { status: 201, body: Vec::new() };
            recorder.record("create-schedule", sent, &Ok(answer));
        }
        let second = Duration::from_secs(1);
        let think = (second, second * 2, second * 3 / 2);
        let full_load = Some((first + second / 2, first + second * 2));
        let model = ClosedModel::new(10, think, &recorder.samples(), full_load);
        assert_eq!((model.mean_response_ms, model.bound), (500.0, 5.0));
        assert_eq!(model.full_load_rate, Some(2.0));
        let never = Some((first + second * 9, first + second * 2));
        assert_eq!(ClosedModel::new(1, think, &recorder.samples(), never).full_load_rate, None);
    }

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
        let usage =
            Usage { requests: 3, calls: 4, read_units: 0.5, write_units: 24.0, ..Usage::default() };
        let json = serde_json::to_value(Operation::new(3, Some(usage))).unwrap();
        assert_eq!((&json["calls"], &json["usd_per_million"]), (&4.into(), &5.02.into()));
    }
}
