//! A function on a table's stream.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use platform::clock::Instant;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::answer::{Verdict, judge};
use super::lane::{Condition, Lane, Task, Waiting};
use super::{Counts, Ground, Lag, Reader, Work};
use crate::dynamodb::{Record, StorageError, sequence_number};
use crate::pool::Pool;
use crate::template::{StreamSource, Table, stream_arn};

/// How many records are read at once.
const PAGE: usize = 1_000;

/// How far a reader reads ahead of its slowest lane: beyond that, the other
/// lanes wait for it.
const MOST_WAITING: usize = 10_000;
const MOST_WAITING_BYTES: usize = 64 * 1024 * 1024;

/// After how many records the stream is trimmed.
const TRIM_EVERY: u64 = 1_000;

/// Reads a stream for a function.
pub(super) struct StreamReader {
    name: String,
    rules: StreamSource,
    table: Table,
    /// The attribute that decides on the lane.
    partition_key: String,
    pool: Arc<Pool>,
    ground: Arc<Ground>,
    writes: watch::Receiver<u64>,
    /// Whether all but the position is lost when the next batch was handled.
    crashes: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    lanes: Vec<Lane>,
    /// The last record that was read.
    read_to: i64,
    /// The last record of those that every lane has passed, as it was saved.
    saved: i64,
    /// How often something had been written when there was nothing left to read.
    drained_at: Option<u64>,
    waiting: usize,
    waiting_bytes: usize,
    /// How many records were passed since the stream was trimmed.
    passed: u64,
    /// Which life this is: what an earlier one began does not count any more.
    life: u64,
    counts: Counts,
}

impl StreamReader {
    pub(super) fn new(
        rules: StreamSource,
        table: Table,
        pool: Arc<Pool>,
        ground: Arc<Ground>,
    ) -> Result<Self, StorageError> {
        let name = format!("{} {}", pool.name(), table.name);
        let first =
            if rules.from_latest { ground.embedded.streams().last(&table.name)? } else { 0 };
        let saved = ground.positions.begin(&name, Some(&table.name), first)?;
        let keys = table.definition["KeySchema"].as_array().into_iter().flatten();
        let mut keys = keys.filter(|key| key["KeyType"] == "HASH");
        let partition_key = keys.next().and_then(|key| key["AttributeName"].as_str());
        let reader = Self {
            name,
            partition_key: partition_key.unwrap_or_default().to_owned(),
            writes: ground.embedded.writes(),
            rules,
            table,
            pool,
            ground,
            crashes: AtomicBool::new(false),
            state: Mutex::new(State { saved, ..State::default() }),
        };
        reader.begin_again(&mut reader.state());
        Ok(reader)
    }

    /// Forgets all but the position that was saved.
    fn begin_again(&self, state: &mut State) {
        *state = State {
            lanes: (0..self.rules.lanes).map(|_| Lane::default()).collect(),
            read_to: state.saved,
            saved: state.saved,
            life: state.life + 1,
            counts: state.counts,
            ..State::default()
        };
    }

    /// Reads on, as far as there is room.
    fn fill(&self, state: &mut State, now: Instant) -> Result<(), StorageError> {
        loop {
            let writes = *self.writes.borrow();
            let is_full =
                state.waiting >= MOST_WAITING || state.waiting_bytes >= MOST_WAITING_BYTES;
            if is_full || state.drained_at == Some(writes) {
                return Ok(());
            }
            let wanted = |keys: &Value| self.rules.filters.may_pass(keys);
            let streams = self.ground.embedded.streams();
            let records = streams.read(&self.table, state.read_to, PAGE, wanted)?;
            if records.len() < PAGE {
                state.drained_at = Some(writes);
            }
            for record in records {
                state.read_to = record.sequence;
                if !record.json.is_null() && self.rules.filters.pass(&record.json) {
                    state.waiting += 1;
                    state.waiting_bytes += record.size;
                    let lane = self.lane_of(&record);
                    let record = Arc::new(record);
                    state.lanes[lane].push(Waiting { record, since: now });
                } else {
                    state.passed += 1;
                    state.counts.filtered += 1;
                }
            }
            self.save(state)?;
        }
    }

    fn lane_of(&self, record: &Record) -> usize {
        let mut hasher = DefaultHasher::new();
        record.json["dynamodb"]["Keys"][&self.partition_key].hash(&mut hasher);
        let lanes = self.rules.lanes as u64;
        usize::try_from(hasher.finish() % lanes).unwrap_or_default()
    }

    /// Saves what every lane has passed, and trims the stream from time to time.
    fn save(&self, state: &mut State) -> Result<(), StorageError> {
        let waiting = state.lanes.iter().filter_map(Lane::first);
        let position = waiting.map(|record| record.sequence - 1).min().unwrap_or(state.read_to);
        if position > state.saved {
            self.ground.positions.save(&self.name, position)?;
            state.saved = position;
        }
        if state.passed >= TRIM_EVERY {
            state.passed = 0;
            if let Some(passed) = self.ground.positions.passed_by_all(&self.table.name) {
                self.ground.embedded.streams().trim(&self.table.name, passed)?;
            }
        }
        Ok(())
    }

    /// Does a task, and says whether it succeeded.
    async fn run(self: Arc<Self>, lane: usize, life: u64, task: Task) -> bool {
        let verdict = match task.given_up {
            None => self.invoke(&task).await,
            Some(condition) => self.give_up(condition, &task).await,
        };
        let mut state = self.state();
        if state.life != life {
            return false;
        }
        if self.crashes.swap(false, Ordering::SeqCst) || self.ground.comes_again() {
            self.begin_again(&mut state);
            return false;
        }
        let before = state.lanes[lane].len();
        state.lanes[lane].over(&verdict, &self.rules, self.ground.clock.now());
        let passed = before - state.lanes[lane].len();
        let passed_bytes: usize = task.records.iter().take(passed).map(|record| record.size).sum();
        state.waiting -= passed;
        state.waiting_bytes -= passed_bytes;
        state.passed += passed as u64;
        if task.given_up.is_none() {
            state.counts.record(task.records.len(), verdict == Verdict::Done);
        } else {
            state.counts.dropped += passed as u64;
        }
        if let Err(error) = self.save(&mut state) {
            tracing::error!(source = self.name, %error, "cannot save a position");
        }
        verdict == Verdict::Done
    }

    async fn invoke(&self, task: &Task) -> Verdict {
        let records: Vec<_> = task.records.iter().map(|record| record.json.clone()).collect();
        let outcome = self.pool.invoke_event(json!({ "Records": records })).await;
        let place = |number: &str| {
            task.records.iter().position(|record| sequence_number(record.sequence) == number)
        };
        judge(self.pool.name(), &outcome.response, self.rules.reports_failures, place)
    }

    /// Tells the destination, if there is one, what was given up.
    async fn give_up(&self, condition: Condition, task: &Task) -> Verdict {
        let records = task.records.len();
        tracing::warn!(source = self.name, records, reason = condition.as_str(), "gave up");
        let Some(queue) = &self.rules.on_failure else {
            return Verdict::Done;
        };
        let message = self.obituary(condition, task);
        match self.ground.send(queue, &message).await {
            Ok(()) => Verdict::Done,
            Err(error) => {
                tracing::error!(source = self.name, queue, error, "cannot tell what was given up");
                Verdict::Failed
            }
        }
    }

    /// The message about records that were given up: where they are, not what
    /// ([example](https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-errors.html)).
    fn obituary(&self, condition: Condition, task: &Task) -> Value {
        let (first, last) = (task.records.first(), task.records.last());
        let number = |record: Option<&Arc<Record>>| record.map(|r| sequence_number(r.sequence));
        let arrival = |record: Option<&Arc<Record>>| {
            record.map(|record| Instant::from_millis(record.made_at_s * 1_000).to_string())
        };
        json!({
            "requestContext": {
                "requestId": self.ground.new_id(),
                "functionArn": self.ground.function_arn(self.pool.name()),
                "condition": condition.as_str(),
                "approximateInvokeCount": task.failures,
            },
            "responseContext": {
                "statusCode": 200,
                "executedVersion": "$LATEST",
                "functionError": "Unhandled",
            },
            "version": "1.0",
            "timestamp": self.ground.clock.now().to_string(),
            "DDBStreamBatchInfo": {
                "shardId": format!("shardId-00000001-{}", self.table.name),
                "startSequenceNumber": number(first),
                "endSequenceNumber": number(last),
                "approximateArrivalOfFirstRecord": arrival(first),
                "approximateArrivalOfLastRecord": arrival(last),
                "batchSize": task.records.len(),
                "streamArn": stream_arn(&self.table.name),
            },
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reader for StreamReader {
    fn name(&self) -> &str {
        &self.name
    }

    fn next(self: Arc<Self>) -> Option<Work> {
        let now = self.ground.clock.now();
        let mut state = self.state();
        if let Err(error) = self.fill(&mut state, now) {
            tracing::error!(source = self.name, %error, "cannot read a stream");
            return None;
        }
        let (lane, task) = state
            .lanes
            .iter_mut()
            .enumerate()
            .find_map(|(index, lane)| lane.next(&self.rules, now).map(|task| (index, task)))?;
        let life = state.life;
        drop(state);
        Some(Box::pin(self.run(lane, life, task)))
    }

    fn due_at(&self) -> Option<Instant> {
        let state = self.state();
        state.lanes.iter().filter_map(|lane| lane.due_at(&self.rules)).min()
    }

    fn changed(&self) -> BoxFuture<'static, ()> {
        let (mut writes, drained_at) = (self.writes.clone(), self.state().drained_at);
        Box::pin(async move {
            // an error means that the database is gone, and so is this reader
            let _ = writes.wait_for(|count| Some(*count) != drained_at).await;
        })
    }

    fn lose_next_checkpoint(&self) {
        self.crashes.store(true, Ordering::SeqCst);
    }

    fn counts(&self) -> Counts {
        self.state().counts
    }

    fn lag(&self) -> Option<Lag> {
        let state = self.state();
        let unread = self.ground.embedded.streams().backlog(&self.table.name, state.read_to);
        let (unread, oldest_unread) = unread.unwrap_or_default();
        let waiting = state.lanes.iter().filter_map(Lane::first).map(|first| first.made_at_s);
        let oldest = waiting.chain(oldest_unread).min();
        let now_s = self.ground.clock.now().as_seconds();
        Some(Lag {
            records: unread + state.waiting as u64,
            oldest_age_s: oldest.map_or(0, |oldest| (now_s - oldest).max(0)),
        })
    }
}
