//! Where there are no limits: a look at a few calls, to know which partition
//! keys take most.
//!
//! A call is let through as it is and its answer too. What it cost is what the
//! database reports for each table; what several items cost together, each
//! bears by what it costs at least, and indexes are not told from their table.
//! One call in sixteen is looked at, since to read each of them takes time that
//! a measurement would notice.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use serde_json::Value;

use super::database::{CAPACITY, spent_on_refusal};
use super::footprint::{Footprint, Shapes};
use super::hot_keys::HotKeys;
use super::partitions::Demand;
use crate::link::{Answer, Call, Link, Lost};
use crate::template::Table;

/// Of so many calls, one is looked at.
const ONE_IN: u32 = 16;

/// A database some of whose calls are looked at.
#[derive(Debug)]
pub(crate) struct Sampled {
    next: Arc<dyn Link>,
    one_in: u32,
    shapes: Shapes,
    keys: Mutex<HotKeys>,
}

impl Sampled {
    pub(crate) fn new(next: Arc<dyn Link>, tables: &[Table]) -> Self {
        Self::one_in(ONE_IN, next, tables)
    }

    pub(super) fn one_in(one_in: u32, next: Arc<dyn Link>, tables: &[Table]) -> Self {
        let keys = Mutex::new(HotKeys::one_call_in(one_in));
        Self { next, one_in, shapes: Shapes::of(tables), keys }
    }

    /// The partition keys that took most so far.
    pub(crate) fn hottest_keys(&self) -> Value {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner).to_json()
    }

    async fn look(&self, call: Call) -> Result<Answer, Lost> {
        let request: Value = serde_json::from_slice(&call.body).unwrap_or_default();
        let footprint = self.shapes.footprint(&call.operation, &request);
        let answer = self.next.call(call).await?;
        if let Some(footprint) = footprint {
            let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
            let spent = match answer.status {
                200 => spent(&footprint, &body[CAPACITY]),
                _ => spent_on_refusal(&footprint, &body),
            };
            let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
            spent.iter().for_each(|(demand, units)| keys.spent(demand, *units));
        }
        Ok(answer)
    }
}

impl Link for Sampled {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Answer, Lost>> {
        match fastrand::u32(..self.one_in) {
            0 => Box::pin(self.look(call)),
            _ => self.next.call(call),
        }
    }
}

/// What each item cost, by what the database reports for its table.
fn spent(footprint: &Footprint, capacity: &Value) -> Vec<(Demand, f64)> {
    let tables = capacity.as_array().map_or(std::slice::from_ref(capacity), Vec::as_slice);
    let mut spent = Vec::new();
    for table in tables {
        let name = table["TableName"].as_str().unwrap_or_default();
        let units = table["CapacityUnits"].as_f64().unwrap_or_default();
        let parts = || footprint.parts.iter().filter(|part| &*part.resource.table == name);
        let all: f64 = parts().map(|part| part.least_units).sum();
        spent.extend(parts().map(|part| (part.demand(), units * part.least_units / all)));
    }
    spent
}
