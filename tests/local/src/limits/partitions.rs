//! Partitions: what each takes in a second.
//!
//! A partition has a bucket of tokens for writes and one for reads, which fill
//! at its rate up to what one second brings. A request is let in while there is
//! anything in the buckets that it needs, and then takes what it turned out to
//! cost, which may leave a debt
//! ([Elhemali et al.: Amazon DynamoDB, USENIX ATC 2022](https://www.usenix.org/conference/atc22/presentation/elhemali),
//! section 4). The five minutes of burst that a table in provisioned mode saves
//! up do not lift this limit
//! ([source](https://repost.aws/knowledge-center/dynamodb-spiky-workloads-short-intervals)),
//! so there are none here.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use tokio::time::Instant;

/// Units a second of one partition
/// ([source](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html)).
const WRITE_UNITS: f64 = 1_000.0;
const READ_UNITS: f64 = 3_000.0;

/// A table or an index of one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Resource {
    pub(super) table: Arc<str>,
    pub(super) index: Option<Arc<str>>,
}

/// What is done with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Access {
    Read,
    Write,
}

/// Something that a partition is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Demand {
    pub(super) resource: Resource,
    /// The value of the partition key.
    pub(super) key: String,
    pub(super) access: Access,
}

/// All partitions of all tables and indexes.
#[derive(Debug)]
pub(super) struct Partitions {
    each: u64,
    buckets: HashMap<(Resource, u64, Access), Bucket>,
}

#[derive(Debug)]
struct Bucket {
    tokens: f64,
    filled_at: Instant,
    spent: f64,
}

impl Partitions {
    /// `each` table and index has so many; 0 are without limits.
    pub(super) fn new(each: u32) -> Self {
        Self { each: each.into(), buckets: HashMap::new() }
    }

    /// Whether the partition of `demand` has anything left.
    pub(super) fn has_room(&mut self, demand: &Demand, now: Instant) -> bool {
        self.each == 0 || self.bucket(demand, now).tokens > 0.0
    }

    /// Takes what `demand` turned out to cost.
    pub(super) fn spend(&mut self, demand: &Demand, units: f64, now: Instant) {
        if self.each > 0 {
            let bucket = self.bucket(demand, now);
            bucket.tokens -= units;
            bucket.spent += units;
        }
    }

    /// Each partition with what it took so far.
    pub(super) fn spent(&self) -> impl Iterator<Item = (&Resource, u64, Access, f64)> {
        self.buckets.iter().map(|((resource, n, access), b)| (resource, *n, *access, b.spent))
    }

    fn bucket(&mut self, demand: &Demand, now: Instant) -> &mut Bucket {
        let Demand { resource, key, access } = demand;
        let partition = hash(key) % self.each;
        let rate = access.rate();
        let full = || Bucket { tokens: rate, filled_at: now, spent: 0.0 };
        let place = (resource.clone(), partition, *access);
        let bucket = self.buckets.entry(place).or_insert_with(full);
        let gained = (now - bucket.filled_at).as_secs_f64() * rate;
        bucket.tokens = (bucket.tokens + gained).min(rate);
        bucket.filled_at = now;
        bucket
    }
}

impl Access {
    /// Units a second of a partition.
    pub(super) fn rate(self) -> f64 {
        match self {
            Self::Read => READ_UNITS,
            Self::Write => WRITE_UNITS,
        }
    }
}

/// The same in every process.
fn hash(key: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}
