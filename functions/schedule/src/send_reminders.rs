//! Every minute: send the reminders that are due.
//!
//! Each is sent by one conditional write, which its stream record carries on.
//! So runs may be late, double or side by side: what one leaves the next finds,
//! and what one sends no other does.

use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use platform::clock::Instant;
use platform::table::{Item, Query, all, s};
use platform::{App, Function, Problem};

use crate::reminder::Waiting;
use crate::{TABLE, keys};

/// The function.
pub static FUNCTION: Function = Function::schedule("send-reminders", |a| Box::pin(handle(a)));

/// How long a run goes on to begin with reminders: less than its time-out by
/// what one may take. The next run does the rest.
pub const RUN: Duration = Duration::from_secs(50);

/// Reminders that are being sent at a time.
const AT_ONCE: usize = 25;

/// Reminders that are read from one partition at a time.
const PAGE: usize = 100;

/// What came of a run.
#[derive(Debug, Default)]
struct Tally {
    sent: usize,
    overtaken: usize,
    failed: Option<Problem>,
}

/// A partition of reminders that wait, as far as it was read.
struct Partition {
    pk: String,
    after: String,
    is_read: bool,
}

async fn handle(app: &App) -> Result<(), Problem> {
    let stop_at = tokio::time::Instant::now() + RUN;
    let mut tally = Tally::default();
    let read = run(app, stop_at, &mut tally).await;
    tracing::info!(sent = tally.sent, overtaken = tally.overtaken, "reminders");
    read.and(tally.failed.map_or(Ok(()), Err))
}

/// Sends what is due, in rounds of one page of each partition. A round goes on
/// where the last one ended, since the index may still hold what was sent.
async fn run(app: &App, stop_at: tokio::time::Instant, tally: &mut Tally) -> Result<(), Problem> {
    let (table, now) = (app.table(TABLE), app.clock.now());
    let mut partitions: Vec<Partition> = (0..keys::DUE_SHARDS).map(Partition::new).collect();
    while !partitions.is_empty() && tokio::time::Instant::now() < stop_at {
        let pages = all(partitions.iter().map(|partition| table.query(partition.page(now))));
        let pages = pages.await?;
        for (partition, page) in partitions.iter_mut().zip(&pages) {
            partition.advance(page);
        }
        partitions.retain(|partition| !partition.is_read);
        send(app, pages.into_iter().flatten(), stop_at, tally).await;
    }
    Ok(())
}

/// Sends reminders, some at a time, until `stop_at`.
async fn send(
    app: &App,
    due: impl Iterator<Item = Item>,
    stop_at: tokio::time::Instant,
    tally: &mut Tally,
) {
    let in_time = due.take_while(|_| tokio::time::Instant::now() < stop_at);
    let sending = in_time.map(|item| async move { Waiting::of(&item)?.send(app).await });
    let mut sent = stream::iter(sending).buffer_unordered(AT_ONCE);
    while let Some(outcome) = sent.next().await {
        match outcome {
            Ok(true) => tally.sent += 1,
            Ok(false) => tally.overtaken += 1,
            Err(problem) => tally.failed = Some(problem),
        }
    }
}

impl Partition {
    fn new(shard: u32) -> Self {
        let after = keys::DUE_FIRST.to_owned();
        Self { pk: keys::due_partition(shard), after, is_read: false }
    }

    /// The next page of what is due at `now`.
    fn page(&self, now: Instant) -> Query {
        Query {
            index: Some(keys::DUE),
            condition: "index1_pk = :pk AND index1_sk BETWEEN :after AND :now".to_owned(),
            values: vec![
                (":pk", s(&self.pk)),
                (":after", s(&self.after)),
                (":now", s(keys::due_by(now))),
            ],
            limit: PAGE,
            descending: false,
            consistent: false,
        }
    }

    fn advance(&mut self, page: &[Item]) {
        self.is_read = page.len() < PAGE;
        let position = page.last().and_then(|item| item.get("index1_sk")?.as_s().ok());
        if let Some(position) = position {
            self.after = keys::due_after(position);
        }
    }
}
