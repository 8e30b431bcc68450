//! `relay`: the relay alone, with changes that wait in a stream.
//!
//! Schedules are created and updated straight in their table, while nothing
//! comes out of its stream. Then the relay runs, and nobody takes what it puts
//! into the queue: so every change must lie there at the end, once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aws_sdk_dynamodb::error::DisplayErrorContext;
use aws_sdk_dynamodb::types::{PutRequest, WriteRequest};
use futures_util::future::BoxFuture;
use futures_util::{TryStreamExt, stream};
use local::Settled;
use local::link::{Answer, Call, Link, Lost};
use platform::app::{App, Settings};
use platform::clock::Clock;
use schedule::schedule::{ProgressStatus, Schedule};
use schedule::wanted::Wanted;
use schedule::{ScheduleId, TABLE};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::Instant;

use crate::child::Serve;
use crate::cloud::{self, Events};
use crate::error::Error;
use crate::invariants::Invariant;
use crate::options;
use crate::progress;
use crate::record::{Latency, per_second, three_digits};
use crate::report::{Details, Measured, Operation, Part, Ratio, Report};
use crate::status::{Status, Usage, Waiting};

/// Members whose schedules they are: a stream keeps the order of each.
const MEMBERS: usize = 30;
/// How many of ten changes create a schedule.
const CREATES_OF_TEN: usize = 7;
/// Items of one `BatchWriteItem`.
const BATCH: usize = 25;
/// Batches under way at the same time.
const AT_A_TIME: usize = 4;
/// Messages a second that the relay should send at least.
const RATE_GOAL: f64 = 1_000.0;
/// The relay is given up when it has sent nothing for so long.
const STALLED_AFTER: Duration = Duration::from_secs(60);
/// How long to wait before it is asked again: what it could not send comes
/// back after a while.
const PAUSE: Duration = Duration::from_millis(100);
const HOUR_MS: i64 = 60 * 60 * 1000;

/// What the relay did beside.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Relayed {
    /// Batches of records that it was given.
    pub(crate) batches: u64,
    /// Those that it did not send whole.
    pub(crate) failures: u64,
    /// Calls of SQS.
    pub(crate) calls: BTreeMap<String, u64>,
}

/// Counts the calls of SQS.
#[derive(Clone, Debug, Default)]
struct Counter(Arc<Mutex<BTreeMap<String, u64>>>);

impl Counter {
    fn count(&self, operation: &str) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(operation.to_owned()).or_default() += 1;
    }

    fn counts(&self) -> BTreeMap<String, u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[derive(Debug)]
struct Counted {
    next: Arc<dyn Link>,
    counter: Counter,
}

impl Link for Counted {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Answer, Lost>> {
        self.counter.count(&call.operation);
        self.next.call(call)
    }
}

/// Writes the changes, lets the relay run, and counts what is in the queue.
pub(crate) async fn run(options: &options::Relay, seed: u64) -> Result<Report, Error> {
    let counter = Counter::default();
    let cloud = start(options.common.serve(seed, true), counter.clone()).await?;
    let before = waiting(&cloud)?;
    if before.depth() > 0 {
        return Err(Error::Relay(format!(
            "something waits already in this --data-dir ({} records, {} messages): take a new one",
            before.records, before.messages
        )));
    }
    progress::say("writing changes");
    write(&cloud, options.events, seed).await?;
    let written = waiting(&cloud)?;
    progress::say("the relay runs");
    let started = Instant::now();
    let settled = relay(&cloud).await?;
    let took = started.elapsed();
    let after = waiting(&cloud)?;
    let status = cloud.status();
    cloud.quiet().await;
    let Settled { batches, failures } = settled;
    let relayed = Relayed { batches, failures, calls: counter.counts() };
    let invariants = invariants(options.events, written, after);
    Ok(report(seed, (after.messages, took), relayed, &status["functions"]["relay"], invariants))
}

async fn start(serve: Serve, counter: Counter) -> Result<local::Cloud, Error> {
    let layer: local::faults::Layer =
        Arc::new(move |next| Arc::new(Counted { next, counter: counter.clone() }));
    let options = local::Options { queue_layer: Some(layer), ..cloud::options(serve) };
    Ok(local::Cloud::start(options).await?)
}

/// What waits, by the cloud's own page.
fn waiting(cloud: &local::Cloud) -> Result<Waiting, Error> {
    let status: Status = serde_json::from_value(cloud.status())
        .map_err(|error| Error::NotAsPromised { operation: "status", error })?;
    status.waiting().ok_or_else(|| Error::Relay("no stream is read".into()))
}

/// Lets the relay run until nothing waits in streams.
async fn relay(cloud: &local::Cloud) -> Result<Settled, Error> {
    let mut all = Settled::default();
    let (mut least, mut lessened_at) = (u64::MAX, Instant::now());
    loop {
        let settled = cloud.settle_function("relay").await;
        all.batches += settled.batches;
        all.failures += settled.failures;
        let left = waiting(cloud)?.records;
        if left < least {
            (least, lessened_at) = (left, Instant::now());
        }
        if left == 0 || lessened_at.elapsed() >= STALLED_AFTER {
            return Ok(all);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Writes so many changes: seven of ten create a schedule, the others update
/// one.
async fn write(cloud: &local::Cloud, events: usize, seed: u64) -> Result<(), Error> {
    let random = fastrand::Rng::with_seed(seed);
    let app = App::new(Settings::default(), Clock::System, random, cloud.clients());
    let app = app.map_err(|error| Error::Relay(error.to_string()))?;
    let creates = (events * CREATES_OF_TEN).div_ceil(10);
    let created: Vec<Schedule> = (0..creates).map(|number| new(&app, number)).collect();
    let updated = created.iter().take(events - creates).map(|schedule| {
        let updated_at_ms = schedule.updated_at_ms + 1;
        Schedule { version: schedule.version + 1, updated_at_ms, ..schedule.clone() }
    });
    let updated: Vec<Schedule> = updated.collect();
    let client = cloud.client();
    put(&client, &created).await?;
    put(&client, &updated).await
}

/// One schedule of one member, in an hour of its own.
fn new(app: &App, number: usize) -> Schedule {
    let hour_ms = i64::try_from(number).unwrap_or(0) * HOUR_MS;
    let starts_at = app.clock.now().plus_millis(hour_ms);
    let wanted = Wanted {
        title: format!("Meeting {number}"),
        contents: String::new(),
        starts_at,
        ends_at: starts_at.plus_millis(HOUR_MS / 2),
        progress_status: ProgressStatus::default(),
        remind_before_minutes: None,
    };
    let member_id = format!("load-{}", number % MEMBERS);
    Schedule::new(ScheduleId::new(app), &member_id, wanted, app.clock.now())
}

async fn put(client: &aws_sdk_dynamodb::Client, schedules: &[Schedule]) -> Result<(), Error> {
    stream::iter(schedules.chunks(BATCH).map(Ok))
        .try_for_each_concurrent(AT_A_TIME, |batch| async move {
            let requests = batch.iter().map(|schedule| {
                let failed = |problem: &platform::Problem| {
                    Error::Relay(problem.cause().unwrap_or_default().to_owned())
                };
                let item = schedule.to_item().map_err(|problem| failed(&problem))?;
                let put = PutRequest::builder().set_item(Some(item)).build();
                let put = put.map_err(|error| Error::Relay(error.to_string()))?;
                Ok(WriteRequest::builder().put_request(put).build())
            });
            let requests = requests.collect::<Result<Vec<_>, Error>>()?;
            let written = client.batch_write_item().request_items(TABLE.default, requests);
            let written = written
                .send()
                .await
                .map_err(|error| Error::Relay(DisplayErrorContext(error).to_string()))?;
            if written.unprocessed_items.unwrap_or_default().is_empty() {
                return Ok(());
            }
            Err(Error::Relay("the table did not take all".into()))
        })
        .await
}

/// What must be true of `events` changes that waited in the stream, once the
/// relay has run.
fn invariants(events: usize, written: Waiting, after: Waiting) -> Vec<Invariant> {
    let events = events as u64;
    let Waiting { records, messages } = written;
    let waited = format!("{records} records and {messages} messages before");
    let sent = format!("{} messages of {events} changes", after.messages);
    let left = format!("{} records left", after.records);
    vec![
        Invariant::new("all changes waited", records == events && messages == 0, waited),
        Invariant::new("nothing unsent", after.records == 0, left),
        Invariant::new("one message per change", after.messages == events, sent),
    ]
}

/// The report of a relay that sent so many messages in that time. `page` is
/// what the status page says of it.
fn report(
    seed: u64,
    (sent, took): (u64, Duration),
    relayed: Relayed,
    page: &Value,
    invariants: Vec<Invariant>,
) -> Report {
    let ms = |name: &str| three_digits(page["latency_ms"][name].as_f64().unwrap_or(0.0));
    let latency_ms = Latency { p50: ms("p50"), p95: ms("p95"), p99: ms("p99"), max: ms("max") };
    let measured = Measured {
        seconds: three_digits(took.as_secs_f64()),
        requests: sent,
        rate: per_second(sent, took),
        latency_ms,
        p99_over_p50: latency_ms.spread(),
        by_operation: BTreeMap::new(),
        statuses: BTreeMap::new(),
        errors: BTreeMap::new(),
        losses: BTreeMap::new(),
        last_loss: None,
    };
    let usage = Usage::deserialize(page).ok();
    let relay = Operation::new(page["requests"].as_u64().unwrap_or(0), usage);
    Report {
        scenario: "relay",
        clock: "real",
        url: "a local cloud without a socket".into(),
        seed,
        users: 0,
        events: Some(Events::Paused),
        is_complete: true,
        ratios: vec![Ratio::at_least("messages a second", measured.rate, 1.0, RATE_GOAL)],
        phases: vec![Part { name: "relay", measured: measured.clone() }],
        measured,
        unknown_outcomes: 0,
        operations: [("relay".to_owned(), relay)].into(),
        details: Details { relayed: Some(relayed), ..Details::default() },
        timeline: Vec::new(),
        limits: None,
        limited: None,
        hottest_keys: None,
        invariants,
        peer: None,
        ceiling: None,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::options::{Options, Scenario};

    fn broken(written: (u64, u64), after: (u64, u64)) -> Vec<&'static str> {
        let waiting = |(records, messages)| Waiting { records, messages };
        let invariants = invariants(10, waiting(written), waiting(after));
        invariants.iter().filter(|i| i.is_broken()).map(|i| i.name).collect()
    }

    #[test]
    fn every_change_must_be_one_message() {
        assert!(broken((10, 0), (0, 10)).is_empty());
        assert_eq!(broken((9, 0), (0, 10)), ["all changes waited"]);
        assert_eq!(broken((10, 0), (1, 9)), ["nothing unsent", "one message per change"]);
        assert_eq!(broken((10, 0), (0, 11)), ["one message per change"]);
    }

    #[tokio::test]
    async fn the_relay_sends_every_change_and_nobody_takes_it() {
        let options = Options::try_parse_from(["load", "relay", "--events", "60"]).unwrap();
        let Scenario::Relay(options) = options.scenario else { panic!("{options:?}") };
        let report = run(&options, 1).await.unwrap();
        assert!(report.is_sound(), "{:?}", report.invariants);
        assert_eq!((report.measured.requests, report.events), (60, Some(Events::Paused)));
        let relayed = report.details.relayed.unwrap();
        assert_eq!(relayed.failures, 0);
        assert!(relayed.batches > 0 && relayed.calls["SendMessageBatch"] >= 6, "{relayed:?}");
    }
}
