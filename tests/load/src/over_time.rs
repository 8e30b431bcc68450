//! A run second by second, as it is drawn, alone or beside another.

use std::collections::BTreeMap;

use crate::backlog::Depth;
use crate::record::Second;

/// What is drawn of [`answers`].
pub(crate) const RATE: &str = "Answers a second";
/// What is drawn of the percentiles.
pub(crate) const LATENCY: &str = "Latency in milliseconds";
/// What is drawn of [`errors`].
pub(crate) const ERRORS: &str = "Errors a second";
/// What is drawn of [`depths`].
pub(crate) const BACKLOG: &str = "Backlog: records in streams and messages in queues";

/// What is drawn, in a sentence.
pub(crate) fn what(phase: &str) -> String {
    format!(
        "The {phase} phase, second by second, the last of which is seldom whole. A backlog is \
         followed until everything is told."
    )
}

/// Seconds and values.
pub(crate) type Points = Vec<(f64, Option<f64>)>;

/// A value of each second.
pub(crate) fn points(seconds: &[Second], value: impl Fn(&Second) -> Option<f64>) -> Points {
    seconds.iter().map(|second| (second.second as f64, value(second))).collect()
}

/// What waited.
pub(crate) fn depths(depths: &[Depth]) -> Points {
    depths.iter().map(|depth| (depth.second as f64, Some(depth.depth as f64))).collect()
}

/// Answers of a second.
#[expect(clippy::unnecessary_wraps, reason = "other values of a second may be missing")]
pub(crate) fn answers(second: &Second) -> Option<f64> {
    Some(second.answers as f64)
}

/// Errors of a second, whatever their codes.
#[expect(clippy::unnecessary_wraps, reason = "other values of a second may be missing")]
pub(crate) fn errors(second: &Second) -> Option<f64> {
    Some(second.errors.values().sum::<u64>() as f64)
}

/// Counts of several times together.
pub(crate) fn in_all<'a>(
    counts: impl Iterator<Item = &'a BTreeMap<String, u64>>,
) -> Vec<(String, u64)> {
    let mut all = BTreeMap::<String, u64>::new();
    for (name, count) in counts.flatten() {
        *all.entry(name.clone()).or_default() += count;
    }
    all.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_without_answers_is_a_zero_and_has_no_latency() {
        let errors_of = BTreeMap::from([("409 FULL".to_owned(), 2), ("no answer".to_owned(), 1)]);
        let (p50_ms, p95_ms, p99_ms) = (None, None, None);
        let second =
            Second { second: 3, answers: 0, p50_ms, p95_ms, p99_ms, errors: errors_of.clone() };
        let seconds = [second];
        assert_eq!(points(&seconds, answers), [(3.0, Some(0.0))]);
        assert_eq!(points(&seconds, errors), [(3.0, Some(3.0))]);
        assert_eq!(points(&seconds, |second| second.p99_ms), [(3.0, None)]);
        let twice = in_all([&errors_of, &errors_of].into_iter());
        assert_eq!(twice, [("409 FULL".to_owned(), 4), ("no answer".to_owned(), 2)]);
    }
}
