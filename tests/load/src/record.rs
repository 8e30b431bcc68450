//! What was sent and what came back: counts and latencies of one phase, in all
//! and second by second.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::call::{Answer, Lost};

/// Digits that a latency keeps.
const SIGNIFICANT_DIGITS: u8 = 3;
/// The longest latency that is told apart, in microseconds.
const LONGEST_US: u64 = 3_600_000_000;

/// Records one phase of a run; shared by everybody who sends in it.
pub(crate) struct Recorder(Mutex<Samples>);

/// What was recorded.
#[derive(Clone)]
pub(crate) struct Samples {
    latency_us: Histogram<u64>,
    /// The same, by operation.
    latency_us_of: BTreeMap<&'static str, Histogram<u64>>,
    /// Requests sent, by operation.
    pub(crate) operations: BTreeMap<&'static str, u64>,
    /// Answers by status.
    pub(crate) statuses: BTreeMap<u16, u64>,
    /// Problems by status and code.
    pub(crate) problems: BTreeMap<(u16, String), u64>,
    /// Requests without an answer.
    pub(crate) lost: u64,
    /// Those, by what was at the bottom of it.
    pub(crate) losses: BTreeMap<String, u64>,
    /// Why the last of those had none.
    pub(crate) last_loss: Option<String>,
    first_sent: Option<Instant>,
    last_answered: Option<Instant>,
    seconds: Vec<Second>,
    this_second: Unfinished,
}

/// The second that is not over yet.
#[derive(Clone, Default)]
struct Unfinished {
    /// Latencies in microseconds.
    latencies_us: Vec<u64>,
    /// What else is in [`Second::errors`].
    errors: BTreeMap<String, u64>,
}

/// One second of a phase.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Second {
    /// Which: 0 is the first.
    pub(crate) second: usize,
    /// Answers that came in it.
    pub(crate) answers: usize,
    /// Half of them came within this. `None` without answers.
    pub(crate) p50_ms: Option<f64>,
    /// 95 of 100 did.
    pub(crate) p95_ms: Option<f64>,
    /// 99 of 100 did.
    pub(crate) p99_ms: Option<f64>,
    /// Refusals and failures by status and code, and requests whose answer was
    /// given up in it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) errors: BTreeMap<String, u64>,
}

/// What requests without an answer are called among the errors.
pub(crate) const NO_ANSWER: &str = "no answer";

/// Percentiles in milliseconds, with three significant digits.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Latency {
    /// Half of the answers came within this.
    pub(crate) p50: f64,
    /// 95 of 100 did.
    pub(crate) p95: f64,
    /// 99 of 100 did.
    pub(crate) p99: f64,
    /// All did.
    pub(crate) max: f64,
}

impl Recorder {
    /// An empty recorder.
    pub(crate) fn new() -> Result<Self, hdrhistogram::CreationError> {
        let latency_us = Histogram::new_with_max(LONGEST_US, SIGNIFICANT_DIGITS)?;
        Ok(Self(Mutex::new(Samples {
            latency_us,
            latency_us_of: BTreeMap::new(),
            operations: BTreeMap::new(),
            statuses: BTreeMap::new(),
            problems: BTreeMap::new(),
            lost: 0,
            losses: BTreeMap::new(),
            last_loss: None,
            first_sent: None,
            last_answered: None,
            seconds: Vec::new(),
            this_second: Unfinished::default(),
        })))
    }

    /// Records what became of a request that was sent at `sent`.
    pub(crate) fn record(
        &self,
        operation: &'static str,
        sent: Instant,
        outcome: &Result<Answer, Lost>,
    ) {
        let answered = Instant::now();
        let code = outcome.as_ref().ok().filter(|a| !a.is_success()).and_then(Answer::code);
        let mut samples = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *samples.operations.entry(operation).or_default() += 1;
        samples.first_sent = Some(samples.first_sent.map_or(sent, |first| first.min(sent)));
        samples.close_seconds_before(answered);
        match outcome {
            Ok(answer) => {
                samples.last_answered = Some(answered);
                let took_us = u64::try_from((answered - sent).as_micros()).unwrap_or(LONGEST_US);
                samples.latency_us.saturating_record(took_us);
                samples.histogram_of(operation).saturating_record(took_us);
                samples.this_second.latencies_us.push(took_us);
                *samples.statuses.entry(answer.status).or_default() += 1;
                if let Some(code) = code {
                    samples.this_second.erred(problem_name(answer.status, &code));
                    *samples.problems.entry((answer.status, code)).or_default() += 1;
                }
            }
            Err(Lost(cause)) => {
                samples.lost += 1;
                samples.this_second.erred(NO_ANSWER.to_owned());
                // A cause ends in what caused it.
                let bottom = cause.rsplit(": ").next().unwrap_or_default();
                *samples.losses.entry(bottom.to_owned()).or_default() += 1;
                samples.last_loss = Some(cause.clone());
            }
        }
    }

    /// What was recorded so far.
    pub(crate) fn samples(&self) -> Samples {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Samples {
    /// Requests that were answered.
    pub(crate) fn answered(&self) -> u64 {
        self.statuses.values().sum()
    }

    /// Answers of 2xx.
    pub(crate) fn succeeded(&self) -> u64 {
        self.statuses.iter().filter(|(s, _)| (200..300).contains(*s)).map(|(_, n)| n).sum()
    }

    /// Answers of 5xx.
    pub(crate) fn server_errors(&self) -> u64 {
        self.statuses.iter().filter(|(status, _)| **status >= 500).map(|(_, n)| n).sum()
    }

    /// Requests of which nobody can say what they did.
    pub(crate) fn unknown_outcomes(&self) -> u64 {
        self.lost + self.server_errors()
    }

    /// From the first request to the last answer.
    pub(crate) fn wall(&self) -> Duration {
        match (self.first_sent, self.last_answered) {
            (Some(first), Some(last)) => last - first,
            _ => Duration::ZERO,
        }
    }

    /// Answers a second.
    pub(crate) fn rate(&self) -> f64 {
        per_second(self.answered(), self.wall())
    }

    /// Latency of the answers.
    pub(crate) fn latency(&self) -> Latency {
        Latency::of(&self.latency_us)
    }

    /// Answers of each operation, and their latency.
    pub(crate) fn latency_by_operation(&self) -> BTreeMap<&'static str, (u64, Latency)> {
        let histograms = self.latency_us_of.iter();
        histograms.map(|(name, took)| (*name, (took.len(), Latency::of(took)))).collect()
    }

    /// How long an answer took on average, in milliseconds.
    pub(crate) fn mean_latency_ms(&self) -> f64 {
        three_digits(self.latency_us.mean() / 1000.0)
    }

    /// When the first request was sent.
    pub(crate) fn first_sent(&self) -> Option<Instant> {
        self.first_sent
    }

    /// When the last answer came.
    pub(crate) fn last_answered(&self) -> Option<Instant> {
        self.last_answered
    }

    /// Second by second, the last one included that is not over yet.
    pub(crate) fn seconds(&self) -> Vec<Second> {
        let mut seconds = self.seconds.clone();
        if !self.this_second.is_empty() {
            seconds.push(self.this_second.clone().end(seconds.len()));
        }
        seconds
    }

    fn histogram_of(&mut self, operation: &'static str) -> &mut Histogram<u64> {
        let empty = || Histogram::new_from(&self.latency_us);
        self.latency_us_of.entry(operation).or_insert_with(empty)
    }

    /// Works out the seconds that are over at `now`.
    fn close_seconds_before(&mut self, now: Instant) {
        let since_first = self.first_sent.map_or(Duration::ZERO, |first| now - first);
        let over = usize::try_from(since_first.as_secs()).unwrap_or(usize::MAX);
        while self.seconds.len() < over {
            let second = std::mem::take(&mut self.this_second).end(self.seconds.len());
            self.seconds.push(second);
        }
    }
}

impl Latency {
    fn of(took_us: &Histogram<u64>) -> Self {
        let at = |quantile| ms(took_us.value_at_quantile(quantile));
        Self { p50: at(0.50), p95: at(0.95), p99: at(0.99), max: ms(took_us.max()) }
    }

    /// How many times as long as half of the answers the slowest of a hundred
    /// took: it is large where a few wait for what others need not.
    pub(crate) fn spread(&self) -> f64 {
        if self.p50 == 0.0 { 0.0 } else { three_digits(self.p99 / self.p50) }
    }
}

/// What a problem is called among the errors.
pub(crate) fn problem_name(status: u16, code: &str) -> String {
    format!("{status} {code}")
}

impl Unfinished {
    fn is_empty(&self) -> bool {
        self.latencies_us.is_empty() && self.errors.is_empty()
    }

    fn erred(&mut self, error: String) {
        *self.errors.entry(error).or_default() += 1;
    }

    /// Works out what it was.
    fn end(self, second: usize) -> Second {
        let Self { mut latencies_us, errors } = self;
        latencies_us.sort_unstable();
        let at = |percent: usize| {
            let rank = (latencies_us.len() * percent).div_ceil(100).max(1);
            latencies_us.get(rank - 1).copied().map(ms)
        };
        let answers = latencies_us.len();
        Second { second, answers, p50_ms: at(50), p95_ms: at(95), p99_ms: at(99), errors }
    }
}

fn ms(us: u64) -> f64 {
    three_digits(Duration::from_micros(us).as_secs_f64() * 1000.0)
}

/// `count` per second of `wall`.
pub(crate) fn per_second(count: u64, wall: Duration) -> f64 {
    if wall.is_zero() { 0.0 } else { three_digits(count as f64 / wall.as_secs_f64()) }
}

/// A number rounded to three significant digits, or to a whole number if that
/// keeps more.
pub(crate) fn three_digits(number: f64) -> f64 {
    if number == 0.0 || !number.is_finite() {
        return 0.0;
    }
    let scale = 10_f64.powf((2.0 - number.abs().log10().floor()).max(0.0));
    (number * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, body: &str) -> Result<Answer, Lost> {
        Ok(Answer { status, body: body.into() })
    }

    #[tokio::test(start_paused = true)]
    async fn a_phase_lasts_from_the_first_request_to_the_last_answer() {
        let recorder = Recorder::new().unwrap();
        let start = Instant::now();
        tokio::time::advance(Duration::from_millis(100)).await;
        recorder.record("enroll", start, &answer(201, ""));
        let second = Instant::now();
        tokio::time::advance(Duration::from_millis(400)).await;
        recorder.record("enroll", second, &answer(409, r#"{"code":"COURSE_FULL"}"#));
        tokio::time::advance(Duration::from_secs(5)).await;
        let samples = recorder.samples();
        assert_eq!((samples.wall(), samples.rate()), (Duration::from_millis(500), 4.0));
        assert_eq!((samples.answered(), samples.succeeded()), (2, 1));
        assert_eq!(samples.problems[&(409, "COURSE_FULL".to_owned())], 1);
        let latency = samples.latency();
        assert_eq!((latency.p50, latency.max), (100.0, 400.0));
    }

    #[tokio::test(start_paused = true)]
    async fn each_operation_has_a_latency_of_its_own() {
        let recorder = Recorder::new().unwrap();
        let start = Instant::now();
        tokio::time::advance(Duration::from_millis(100)).await;
        recorder.record("get-post", start, &answer(200, ""));
        tokio::time::advance(Duration::from_millis(150)).await;
        recorder.record("list-posts", start, &answer(200, ""));
        recorder.record("list-posts", start, &Err(Lost("reset".into())));
        let latencies = recorder.samples().latency_by_operation();
        let of = |name| latencies.get(name).map(|(answers, took)| (*answers, took.p50));
        assert_eq!((of("get-post"), of("list-posts")), (Some((1, 100.0)), Some((1, 250.0))));
    }

    #[test]
    fn the_spread_is_what_the_slowest_wait_longer() {
        let latency = Latency { p50: 20.0, p95: 50.0, p99: 70.0, max: 90.0 };
        assert_eq!(latency.spread(), 3.5);
        assert_eq!(Latency { p50: 0.0, ..latency }.spread(), 0.0);
    }

    #[tokio::test(start_paused = true)]
    async fn every_second_has_its_answers_and_their_latencies() {
        let recorder = Recorder::new().unwrap();
        let start = Instant::now();
        for _ in 0..20 {
            tokio::time::advance(Duration::from_millis(10)).await;
            recorder.record("enroll", start, &answer(201, ""));
        }
        tokio::time::advance(Duration::from_millis(2_300)).await;
        let sent = Instant::now() - Duration::from_millis(40);
        recorder.record("enroll", sent, &answer(201, ""));
        let seconds = recorder.samples().seconds();
        let all = |second: &Second| (second.answers, second.p50_ms, second.p95_ms, second.p99_ms);
        assert_eq!(
            seconds.iter().map(all).collect::<Vec<_>>(),
            [
                (20, Some(100.0), Some(190.0), Some(200.0)),
                (0, None, None, None),
                (1, Some(40.0), Some(40.0), Some(40.0)),
            ]
        );
        assert_eq!(recorder.samples().mean_latency_ms(), 102.0);
    }

    #[tokio::test(start_paused = true)]
    async fn every_second_has_its_errors_by_code() {
        let recorder = Recorder::new().unwrap();
        let start = Instant::now();
        let full = answer(409, r#"{"code":"COURSE_FULL"}"#);
        recorder.record("enroll", start, &full);
        recorder.record("enroll", start, &full);
        tokio::time::advance(Duration::from_millis(1_500)).await;
        recorder.record("enroll", start, &Err(Lost("reset".into())));
        let seconds = recorder.samples().seconds();
        let errors: Vec<_> = seconds.into_iter().map(|second| second.errors).collect();
        let (full, lost) = ("409 COURSE_FULL".to_owned(), NO_ANSWER.to_owned());
        assert_eq!(errors, [[(full, 2)].into(), [(lost, 1)].into()]);
    }

    #[tokio::test]
    async fn lost_answers_and_server_errors_are_unknown_outcomes() {
        let recorder = Recorder::new().unwrap();
        let now = Instant::now();
        let url = "error sending request for url (http://127.0.0.1:9000/)";
        recorder.record("enroll", now, &Err(Lost(format!("{url}: operation timed out"))));
        recorder.record("enroll", now, &answer(503, "{}"));
        recorder.record("enroll", now, &answer(404, "{}"));
        let samples = recorder.samples();
        assert_eq!((samples.unknown_outcomes(), samples.server_errors()), (2, 1));
        assert_eq!((samples.answered(), samples.operations["enroll"]), (2, 3));
        assert_eq!(samples.losses, [("operation timed out".to_owned(), 1)].into());
    }

    #[test]
    fn numbers_keep_three_digits_and_whole_ones_all() {
        assert_eq!(three_digits(0.012_345), 0.0123);
        assert_eq!(three_digits(45.678), 45.7);
        assert_eq!(three_digits(3_456.7), 3_457.0);
        assert_eq!(three_digits(0.0), 0.0);
    }
}
