//! What was sent and what came back: counts and latencies of one phase.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;
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
    /// Requests sent, by operation.
    pub(crate) operations: BTreeMap<&'static str, u64>,
    /// Answers by status.
    pub(crate) statuses: BTreeMap<u16, u64>,
    /// Problems by status and code.
    pub(crate) problems: BTreeMap<(u16, String), u64>,
    /// Requests without an answer.
    pub(crate) lost: u64,
    /// Why the last of those had none.
    pub(crate) last_loss: Option<String>,
    first_sent: Option<Instant>,
    last_answered: Option<Instant>,
}

/// Percentiles in milliseconds, with three significant digits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
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
            operations: BTreeMap::new(),
            statuses: BTreeMap::new(),
            problems: BTreeMap::new(),
            lost: 0,
            last_loss: None,
            first_sent: None,
            last_answered: None,
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
        match outcome {
            Ok(answer) => {
                samples.last_answered = Some(answered);
                let took_us = u64::try_from((answered - sent).as_micros()).unwrap_or(LONGEST_US);
                samples.latency_us.saturating_record(took_us);
                *samples.statuses.entry(answer.status).or_default() += 1;
                if let Some(code) = code {
                    *samples.problems.entry((answer.status, code)).or_default() += 1;
                }
            }
            Err(Lost(cause)) => {
                samples.lost += 1;
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
        let ms = |us: u64| three_digits(Duration::from_micros(us).as_secs_f64() * 1000.0);
        let at = |quantile| ms(self.latency_us.value_at_quantile(quantile));
        let max = ms(self.latency_us.max());
        Latency { p50: at(0.50), p95: at(0.95), p99: at(0.99), max }
    }
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

    #[tokio::test]
    async fn lost_answers_and_server_errors_are_unknown_outcomes() {
        let recorder = Recorder::new().unwrap();
        let now = Instant::now();
        recorder.record("enroll", now, &Err(Lost("reset".into())));
        recorder.record("enroll", now, &answer(503, "{}"));
        recorder.record("enroll", now, &answer(404, "{}"));
        let samples = recorder.samples();
        assert_eq!((samples.unknown_outcomes(), samples.server_errors()), (2, 1));
        assert_eq!((samples.answered(), samples.operations["enroll"]), (2, 3));
    }

    #[test]
    fn numbers_keep_three_digits_and_whole_ones_all() {
        assert_eq!(three_digits(0.012_345), 0.0123);
        assert_eq!(three_digits(45.678), 45.7);
        assert_eq!(three_digits(3_456.7), 3_457.0);
        assert_eq!(three_digits(0.0), 0.0);
    }
}
