//! Event sources: what moves changes, messages and the time to the functions,
//! as the template says.
//!
//! A [reader](Reader) says what is due by the cloud's clock and what its
//! outcome leads to; it never waits. What drives the readers does: in a cloud
//! that is [served](Cloud::serve), a task for each; in a test,
//! [`Cloud::settle`], which does what is due until nothing more is.
//!
//! ```text
//!  tables ── streams ► StreamReader ─┐
//!  queues ───────────► QueueReader  ─┼► pool (environment) ► the function
//!  clock  ───────────► Schedule     ─┘
//! ```

mod answer;
mod driver;
mod filter;
mod lane;
mod positions;
mod queue;
mod schedule;
mod stream;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use platform::clock::{Clock, Instant};
use serde::Serialize;
use serde_json::{Value, json};

use crate::cloud::Cloud;
use crate::dynamodb::{Embedded, StorageError};
use crate::link::{Call, Link};
use crate::pool::Pool;
use crate::sqs::Queues;
use crate::template::{ACCOUNT, REGION, STACK_NAME, Source, Table, queue_url};

pub use driver::Drivers;
pub use filter::Filters;
use positions::Positions;

/// What all readers stand on.
pub(crate) struct Ground {
    embedded: Arc<Embedded>,
    queues: Arc<Queues>,
    clock: Clock,
    positions: Positions,
    tables: Vec<Table>,
    again: Again,
}

/// How often a batch that was handled comes again.
struct Again {
    part: f64,
    random: Mutex<fastrand::Rng>,
}

/// All event sources of a cloud.
pub(crate) struct Sources {
    readers: Vec<Arc<dyn Reader>>,
    ground: Arc<Ground>,
}

/// An invocation that is due. It is done once this is polled to its end, and
/// says whether it succeeded.
type Work = BoxFuture<'static, bool>;

/// One event source of one function.
trait Reader: Send + Sync {
    /// The function and what it reads, as in `relay Schedule`.
    fn name(&self) -> &str;

    /// Takes something that is due now, if anything is.
    fn next(self: Arc<Self>) -> Option<Work>;

    /// When something will be due without anything being written or sent.
    fn due_at(&self) -> Option<Instant>;

    /// Waits until something was written or sent since [`Reader::next`] found
    /// nothing.
    fn changed(&self) -> BoxFuture<'static, ()>;

    /// Makes the next batch that is handled end as if the process had died
    /// right after the function's answer.
    fn lose_next_checkpoint(&self);

    /// What it did so far.
    fn counts(&self) -> Counts;

    /// How far behind it is, if it reads a stream.
    fn lag(&self) -> Option<Lag> {
        None
    }
}

/// What a source did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Counts {
    /// Invocations.
    pub(crate) batches: u64,
    /// Records in them, each as often as it was handed over.
    pub(crate) records: u64,
    /// Invocations that did not succeed, or not with every record.
    pub(crate) failures: u64,
    /// Records that were given up.
    pub(crate) dropped: u64,
    /// Records that no filter let pass.
    pub(crate) filtered: u64,
}

impl Counts {
    fn record(&mut self, records: usize, succeeded: bool) {
        self.batches += 1;
        self.records += records as u64;
        self.failures += u64::from(!succeeded);
    }
}

/// How far a reader is behind its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Lag {
    /// Records that are not done yet.
    pub(crate) records: u64,
    /// How old the oldest of them is.
    pub(crate) oldest_age_s: i64,
}

/// What came of [`Cloud::settle`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// How many invocations there were.
    pub batches: u64,
    /// How many of them did not succeed, or not with every record. They are
    /// tried again when the clock has moved.
    pub failures: u64,
}

impl Sources {
    /// The sources of these functions, each with its pool.
    pub(crate) fn new<'a>(
        ground: Ground,
        functions: impl IntoIterator<Item = (&'a [Source], &'a Arc<Pool>)>,
    ) -> Result<Self, StorageError> {
        let ground = Arc::new(ground);
        let mut readers: Vec<Arc<dyn Reader>> = Vec::new();
        for (sources, pool) in functions {
            for source in sources {
                readers.extend(reader(source, pool, &ground)?);
            }
        }
        Ok(Self { readers, ground })
    }

    /// What each source did so far.
    pub(crate) fn counts(&self) -> BTreeMap<&str, Counts> {
        self.readers.iter().map(|reader| (reader.name(), reader.counts())).collect()
    }

    /// How far each reader of a stream is behind.
    pub(crate) fn lags(&self) -> BTreeMap<&str, Lag> {
        let lags = self.readers.iter().map(|reader| Some((reader.name(), reader.lag()?)));
        lags.flatten().collect()
    }

    /// Does what is due in those readers that `include` names.
    async fn settle(&self, include: impl Fn(&str) -> bool) -> Settled {
        let readers: Vec<_> = self.readers.iter().filter(|reader| include(reader.name())).collect();
        let mut running = FuturesUnordered::new();
        let mut settled = Settled::default();
        loop {
            for reader in &readers {
                while let Some(work) = Arc::clone(*reader).next() {
                    running.push(work);
                }
            }
            let Some(succeeded) = running.next().await else {
                return settled;
            };
            settled.batches += 1;
            settled.failures += u64::from(!succeeded);
        }
    }
}

/// The reader of a source, unless the template has switched it off.
fn reader(
    source: &Source,
    pool: &Arc<Pool>,
    ground: &Arc<Ground>,
) -> Result<Option<Arc<dyn Reader>>, StorageError> {
    let (pool, ground) = (Arc::clone(pool), Arc::clone(ground));
    let (reader, is_enabled): (Arc<dyn Reader>, bool) = match source {
        Source::Stream(rules) => {
            let table = ground.tables.iter().find(|table| table.name == rules.table).cloned();
            let Some(table) = table else {
                return Ok(None); // a template without it is refused when it is read
            };
            let reader = stream::StreamReader::new(rules.clone(), table, pool, ground)?;
            (Arc::new(reader), rules.is_enabled)
        }
        Source::Queue(rules) => {
            let reader = queue::QueueReader::new(rules.clone(), pool, ground);
            (Arc::new(reader), rules.is_enabled)
        }
        Source::Schedule(rules) => {
            (Arc::new(schedule::Schedule::new(rules.clone(), pool, ground)?), rules.is_enabled)
        }
    };
    Ok(is_enabled.then_some(reader))
}

impl Ground {
    pub(crate) fn new(
        embedded: Arc<Embedded>,
        queues: Arc<Queues>,
        clock: Clock,
        tables: Vec<Table>,
        data_dir: Option<&Path>,
    ) -> Result<Self, StorageError> {
        let again = Again { part: 0.0, random: Mutex::new(fastrand::Rng::with_seed(0)) };
        let positions = Positions::open(data_dir)?;
        Ok(Self { embedded, queues, clock, positions, tables, again })
    }

    /// The same, in which so many of all batches come again.
    pub(crate) fn again(self, part: f64, seed: u64) -> Self {
        let random = Mutex::new(fastrand::Rng::with_seed(seed));
        Self { again: Again { part, random }, ..self }
    }

    /// Whether a batch that was handled now comes again, as after a lost
    /// acknowledgement.
    fn comes_again(&self) -> bool {
        let mut random = self.again.random.lock().unwrap_or_else(PoisonError::into_inner);
        self.again.part > 0.0 && random.f64() < self.again.part
    }

    /// Sends a message to a queue.
    async fn send(&self, queue: &str, message: &Value) -> Result<(), String> {
        let body =
            json!({ "QueueUrl": queue_url(queue), "MessageBody": message.to_string() }).to_string();
        let call = Call { operation: "SendMessage".to_owned(), body: body.into() };
        let answer = self.queues.call(call).await.map_err(|lost| lost.to_string())?;
        if answer.status == 200 {
            return Ok(());
        }
        Err(String::from_utf8_lossy(&answer.body).into_owned())
    }

    fn function_arn(&self, function: &str) -> String {
        format!("arn:aws:lambda:{REGION}:{ACCOUNT}:function:{STACK_NAME}-{function}")
    }

    /// An id that nobody has to foresee.
    fn new_id(&self) -> String {
        let (high, low) = (fastrand::u64(..), fastrand::u64(..));
        let hex = format!("{high:016x}{low:016x}");
        let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
        [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")
    }
}

impl Cloud {
    /// Does what is due at the clock's time, until nothing more is: changes go
    /// to their functions, messages to theirs, schedules run if their time has
    /// come. What failed waits for the clock to move, so this ends even if a
    /// function always fails.
    pub async fn settle(&self) -> Settled {
        self.sources().settle(|_| true).await
    }

    /// The same for the sources of one function alone: all others stand still.
    pub async fn settle_function(&self, function: &str) -> Settled {
        let is_of = |name: &str| name.split(' ').next() == Some(function);
        self.sources().settle(is_of).await
    }

    /// Makes the next batch of each source end as if the process had died after
    /// the function's answer and before it was written down: it comes again.
    pub fn lose_next_checkpoints(&self) {
        for reader in &self.sources().readers {
            reader.lose_next_checkpoint();
        }
    }

    /// Deletes the items whose time is over, as DynamoDB does sooner or later,
    /// and says how many there were.
    pub async fn expire_items(&self) -> Result<usize, StorageError> {
        self.sources().ground.expire_items().await
    }
}

impl Ground {
    async fn expire_items(&self) -> Result<usize, StorageError> {
        self.embedded.expire(&self.tables, self.clock.now()).await
    }
}
