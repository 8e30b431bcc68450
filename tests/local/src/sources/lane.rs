//! One lane of a stream: records of the same partition keys, in order, one
//! batch at a time.
//!
//! What comes next and what a failure leads to is decided here, from the
//! source's rules and the time alone
//! ([error handling](https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-errors.html)).

use std::collections::VecDeque;
use std::sync::Arc;

use platform::clock::Instant;

use super::answer::Verdict;
use crate::dynamodb::Record;
use crate::gateway::MOST_BODY_BYTES;
use crate::template::StreamSource;

/// How long the first retry waits; each further one twice as long.
const FIRST_WAIT_MS: i64 = 1_000;
const LONGEST_WAIT_MS: i64 = 10_000;

/// A record that was read and not yet passed.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    pub(super) record: Arc<Record>,
    /// When it was read.
    pub(super) since: Instant,
}

/// The records of one lane that wait.
#[derive(Debug, Default)]
pub(super) struct Lane {
    waiting: VecDeque<Waiting>,
    /// Batches at the front of what waits that were tried already.
    planned: VecDeque<Planned>,
    is_busy: bool,
}

/// A batch that begins where the one before it ends.
#[derive(Debug)]
struct Planned {
    length: usize,
    failures: u32,
    not_before: Option<Instant>,
    given_up: Option<Condition>,
}

/// Why records were given up, in Lambda's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    RetryAttemptsExhausted,
    RecordAgeExceeded,
}

impl Condition {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::RetryAttemptsExhausted => "RetryAttemptsExhausted",
            Self::RecordAgeExceeded => "RecordAgeExceeded",
        }
    }
}

/// What is to be done with the first records of a lane. Until it is said to be
/// [over](Lane::over), the lane is busy.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) records: Vec<Arc<Record>>,
    /// Whether to give the records up, and not to hand them to the function.
    pub(super) given_up: Option<Condition>,
    /// How often the function was handed them before.
    pub(super) failures: u32,
}

impl Lane {
    pub(super) fn push(&mut self, waiting: Waiting) {
        self.waiting.push_back(waiting);
    }

    /// The first record that is not passed.
    pub(super) fn first(&self) -> Option<&Record> {
        self.waiting.front().map(|waiting| &*waiting.record)
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// What is due now.
    pub(super) fn next(&mut self, rules: &StreamSource, now: Instant) -> Option<Task> {
        if self.is_busy {
            return None;
        }
        if self.planned.is_empty() {
            let length = self.full_batch(rules, now)?;
            self.planned.push_back(Planned::new(length));
        }
        self.set_aside_the_old(rules, now);
        let planned = self.planned.front()?;
        if planned.not_before.is_some_and(|due| now < due) {
            return None;
        }
        self.is_busy = true;
        let records = self.waiting.iter().take(planned.length);
        Some(Task {
            records: records.map(|waiting| Arc::clone(&waiting.record)).collect(),
            given_up: planned.given_up,
            failures: planned.failures,
        })
    }

    /// When something will be due that is not due yet.
    pub(super) fn due_at(&self, rules: &StreamSource) -> Option<Instant> {
        if self.is_busy {
            return None;
        }
        match self.planned.front() {
            Some(planned) => planned.not_before,
            None => self.waiting.front().map(|first| first.since.plus_millis(rules.window_ms)),
        }
    }

    /// The task is over. Returns how many records were passed.
    pub(super) fn over(&mut self, verdict: &Verdict, rules: &StreamSource, now: Instant) -> usize {
        self.is_busy = false;
        let Some(mut batch) = self.planned.pop_front() else {
            return 0;
        };
        let passed = match verdict {
            Verdict::Done => batch.length,
            Verdict::Partly(places) => places.first().copied().unwrap_or_default(),
            Verdict::Failed => 0,
        };
        self.waiting.drain(..passed);
        batch.length -= passed;
        if batch.length == 0 {
            return passed;
        }
        if passed > 0 {
            batch.failures = 0; // another record is the first now
        }
        let splits = rules.bisects && *verdict == Verdict::Failed && batch.given_up.is_none();
        if splits && batch.length > 1 {
            // costs no retry, and so need not wait
            let (first, second) = batch.halves();
            self.planned.push_front(second);
            self.planned.push_front(first);
            return passed;
        }
        batch.fail(rules, now);
        self.planned.push_front(batch);
        passed
    }

    /// The length of the batch that can begin now: full, or through waiting.
    fn full_batch(&self, rules: &StreamSource, now: Instant) -> Option<usize> {
        let first = self.waiting.front()?;
        let (mut length, mut bytes) = (0, 0);
        let mut is_full = false;
        for waiting in &self.waiting {
            bytes += waiting.record.size;
            if length > 0 && bytes > MOST_BODY_BYTES {
                is_full = true;
                break;
            }
            length += 1;
            if length == rules.batch_size {
                is_full = true;
                break;
            }
        }
        let window_is_over = first.since.plus_millis(rules.window_ms) <= now;
        (is_full || window_is_over).then_some(length)
    }

    /// Plans to give up those of the next batch's records that are too old.
    fn set_aside_the_old(&mut self, rules: &StreamSource, now: Instant) {
        let (Some(most_age_ms), Some(batch)) = (rules.most_age_ms, self.planned.front_mut()) else {
            return;
        };
        if batch.given_up.is_some() {
            return;
        }
        let is_old = |waiting: &&Waiting| {
            waiting.record.made_at_s * 1_000 < now.as_millis().saturating_sub(most_age_ms)
        };
        let old = self.waiting.iter().take(batch.length).take_while(is_old).count();
        if old == 0 {
            return;
        }
        let mut given_up = Planned::new(old);
        given_up.failures = batch.failures;
        given_up.given_up = Some(Condition::RecordAgeExceeded);
        batch.length -= old;
        if batch.length == 0 {
            self.planned.pop_front();
        }
        self.planned.push_front(given_up);
    }
}

impl Planned {
    fn new(length: usize) -> Self {
        Self { length, failures: 0, not_before: None, given_up: None }
    }

    fn halves(self) -> (Self, Self) {
        let first = self.length / 2;
        let (mut one, mut two) = (Self::new(first), Self::new(self.length - first));
        (one.failures, two.failures) = (self.failures, self.failures);
        (one, two)
    }

    fn fail(&mut self, rules: &StreamSource, now: Instant) {
        self.failures = self.failures.saturating_add(1);
        if self.given_up.is_none() && rules.most_retries.is_some_and(|most| self.failures > most) {
            self.given_up = Some(Condition::RetryAttemptsExhausted);
            self.not_before = None;
            return;
        }
        let doublings = self.failures.saturating_sub(1).min(10);
        let wait_ms = (FIRST_WAIT_MS << doublings).min(LONGEST_WAIT_MS);
        self.not_before = Some(now.plus_millis(wait_ms));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::sources::Filters;

    fn rules() -> StreamSource {
        StreamSource {
            table: "Things".into(),
            from_latest: false,
            batch_size: 4,
            window_ms: 0,
            lanes: 1,
            most_retries: None,
            most_age_ms: None,
            bisects: false,
            reports_failures: true,
            on_failure: None,
            filters: Filters::default(),
            is_enabled: true,
        }
    }

    fn at(ms: i64) -> Instant {
        Instant::from_millis(ms)
    }

    /// A lane with records `1..=count`, made and read at 0.
    fn lane(count: i64) -> Lane {
        let mut lane = Lane::default();
        for sequence in 1..=count {
            push(&mut lane, sequence, 0);
        }
        lane
    }

    fn push(lane: &mut Lane, sequence: i64, at_s: i64) {
        let record = Record { sequence, made_at_s: at_s, size: 10, json: Value::Null };
        lane.push(Waiting { record: Arc::new(record), since: at(at_s * 1_000) });
    }

    fn sequences(task: Option<Task>) -> Vec<i64> {
        let records = task.map(|task| task.records).unwrap_or_default();
        records.iter().map(|record| record.sequence).collect()
    }

    #[test]
    fn a_lane_has_one_batch_at_a_time_in_order() {
        let (mut lane, rules) = (lane(6), rules());
        assert_eq!(sequences(lane.next(&rules, at(0))), [1, 2, 3, 4]);
        assert!(lane.next(&rules, at(0)).is_none());
        assert_eq!(lane.over(&Verdict::Done, &rules, at(0)), 4);
        assert_eq!(sequences(lane.next(&rules, at(0))), [5, 6]);
        assert_eq!(lane.over(&Verdict::Done, &rules, at(0)), 2);
        assert!(lane.next(&rules, at(0)).is_none() && lane.first().is_none());
    }

    #[test]
    fn a_batch_waits_for_its_window_or_until_it_is_full() {
        let rules = StreamSource { window_ms: 5_000, ..rules() };
        let mut lane = lane(3);
        assert!(lane.next(&rules, at(4_999)).is_none());
        assert_eq!(lane.due_at(&rules), Some(at(5_000)));
        push(&mut lane, 4, 2);
        assert_eq!(sequences(lane.next(&rules, at(4_999))), [1, 2, 3, 4]);
        let mut lane = self::lane(3);
        assert_eq!(sequences(lane.next(&rules, at(5_000))), [1, 2, 3]);
    }

    #[test]
    fn a_batch_has_no_more_bytes_than_a_function_takes() {
        let mut lane = Lane::default();
        for sequence in 1..=3 {
            let size = MOST_BODY_BYTES / 2;
            let record = Record { sequence, made_at_s: 0, size, json: Value::Null };
            lane.push(Waiting { record: Arc::new(record), since: at(0) });
        }
        assert_eq!(sequences(lane.next(&rules(), at(0))), [1, 2]);
    }

    #[test]
    fn a_batch_that_failed_comes_again_whole_after_a_growing_wait() {
        let (mut lane, rules) = (lane(5), rules());
        let mut now = 0;
        for wait_ms in [1_000, 2_000, 4_000, 8_000, 10_000, 10_000] {
            assert_eq!(sequences(lane.next(&rules, at(now))), [1, 2, 3, 4]);
            assert_eq!(lane.over(&Verdict::Failed, &rules, at(now)), 0);
            assert!(lane.next(&rules, at(now + wait_ms - 1)).is_none());
            now += wait_ms;
            assert_eq!(lane.due_at(&rules), Some(at(now)));
        }
    }

    #[test]
    fn a_batch_goes_on_from_the_lowest_failure() {
        let (mut lane, rules) = (lane(4), rules());
        lane.next(&rules, at(0)).unwrap();
        assert_eq!(lane.over(&Verdict::Partly(vec![2, 3]), &rules, at(0)), 2);
        assert_eq!(sequences(lane.next(&rules, at(1_000))), [3, 4]);
    }

    #[test]
    fn a_batch_is_given_up_after_its_retries() {
        let rules = StreamSource { most_retries: Some(2), ..rules() };
        let mut lane = lane(6);
        for now in [0, 10_000, 20_000] {
            let task = lane.next(&rules, at(now)).unwrap();
            assert_eq!(task.given_up, None);
            lane.over(&Verdict::Failed, &rules, at(now));
        }
        let task = lane.next(&rules, at(20_000)).unwrap();
        assert_eq!(task.given_up, Some(Condition::RetryAttemptsExhausted));
        assert_eq!((task.records.len(), task.failures), (4, 3));
        assert_eq!(lane.over(&Verdict::Done, &rules, at(20_000)), 4);
        assert_eq!(sequences(lane.next(&rules, at(20_000))), [5, 6]);
    }

    #[test]
    fn progress_counts_retries_anew() {
        let rules = StreamSource { most_retries: Some(1), ..rules() };
        let mut lane = lane(4);
        lane.next(&rules, at(0)).unwrap();
        lane.over(&Verdict::Failed, &rules, at(0));
        lane.next(&rules, at(1_000)).unwrap();
        lane.over(&Verdict::Partly(vec![1]), &rules, at(1_000));
        let task = lane.next(&rules, at(10_000)).unwrap();
        assert_eq!((task.given_up, task.failures), (None, 1));
        lane.over(&Verdict::Partly(vec![0]), &rules, at(10_000));
        assert!(lane.next(&rules, at(10_000)).unwrap().given_up.is_some());
    }

    #[test]
    fn what_cannot_be_given_up_is_given_up_later() {
        let rules = StreamSource { most_retries: Some(0), ..rules() };
        let mut lane = lane(1);
        lane.next(&rules, at(0)).unwrap();
        lane.over(&Verdict::Failed, &rules, at(0));
        assert!(lane.next(&rules, at(0)).unwrap().given_up.is_some());
        lane.over(&Verdict::Failed, &rules, at(0));
        assert!(lane.next(&rules, at(0)).is_none());
        assert!(lane.next(&rules, at(10_000)).unwrap().given_up.is_some());
    }

    #[test]
    fn a_failed_batch_is_split_until_the_bad_record_is_alone() {
        let rules = StreamSource { bisects: true, most_retries: Some(0), ..rules() };
        let mut lane = lane(4);
        let (mut handed, mut given_up) = (Vec::new(), Vec::new());
        while let Some(task) = lane.next(&rules, at(0)) {
            let bad = task.records.iter().any(|record| record.sequence == 3);
            let is_given_up = task.given_up.is_some();
            let sequences = sequences(Some(task));
            if is_given_up { &mut given_up } else { &mut handed }.push(sequences);
            let verdict = if bad && !is_given_up { Verdict::Failed } else { Verdict::Done };
            lane.over(&verdict, &rules, at(0));
        }
        let expected: [&[i64]; 5] = [&[1, 2, 3, 4], &[1, 2], &[3, 4], &[3], &[4]];
        assert_eq!(handed, expected);
        assert_eq!(given_up, [[3]]);
    }

    #[test]
    fn records_that_are_too_old_are_given_up_and_younger_ones_are_not() {
        let rules = StreamSource { most_age_ms: Some(60_000), ..rules() };
        let mut lane = lane(2);
        push(&mut lane, 3, 30);
        let task = lane.next(&rules, at(60_001)).unwrap();
        assert_eq!(task.given_up, Some(Condition::RecordAgeExceeded));
        assert_eq!(sequences(Some(task)), [1, 2]);
        lane.over(&Verdict::Done, &rules, at(60_001));
        let task = lane.next(&rules, at(60_001)).unwrap();
        assert_eq!((task.given_up, sequences(Some(task))), (None, vec![3]));
        lane.over(&Verdict::Failed, &rules, at(60_001));
        let task = lane.next(&rules, at(90_001)).unwrap();
        assert_eq!(task.given_up, Some(Condition::RecordAgeExceeded));
    }
}
