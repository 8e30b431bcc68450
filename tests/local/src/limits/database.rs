//! DynamoDB with its limits: a link in front of the database.
//!
//! A call takes its way to the service; there it meets running transactions and
//! exhausted partitions, or is done; then the answer takes its way back, if it
//! comes. What a call costs, the database itself reports, by table and index.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::answers::{self, CONFLICTS, THROTTLES};
use super::footprint::{Footprint, Kind, Part, Shapes, units_of};
use super::hot_keys::HotKeys;
use super::partitions::{Demand, Partitions};
use super::tally::Tally;
use super::{Fate, Limits, SLOW, Trouble};
use crate::link::{Answer, Call, Link, Lost};
use crate::template::Table;

/// What says how much a call costs.
pub(super) const CAPACITY: &str = "ConsumedCapacity";

/// A database with limits.
#[derive(Debug)]
pub(crate) struct Limited {
    next: Arc<dyn Link>,
    limits: Limits,
    shapes: Shapes,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    random: fastrand::Rng,
    partitions: Partitions,
    /// Items that running transactions hold: table and key.
    held: HashSet<(Arc<str>, String)>,
    tally: Tally,
    hot_keys: HotKeys,
}

impl Limited {
    pub(crate) fn new(
        next: Arc<dyn Link>,
        limits: Limits,
        tables: &[Table],
        random: fastrand::Rng,
    ) -> Self {
        let partitions = Partitions::new(limits.partitions);
        let (held, tally, hot_keys) = (HashSet::new(), Tally::default(), HotKeys::every_call());
        let state = Mutex::new(State { random, partitions, held, tally, hot_keys });
        Self { next, limits, shapes: Shapes::of(tables), state }
    }

    /// What the limits did so far.
    pub(crate) fn to_json(&self) -> Value {
        let state = self.state();
        state.tally.to_json(&state.partitions)
    }

    /// The partition keys that took most so far.
    pub(crate) fn hottest_keys(&self) -> Value {
        self.state().hot_keys.to_json()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fate(&self) -> Fate {
        let mut state = self.state();
        let fate = self.limits.fate(&mut state.random);
        let tally = &mut state.tally;
        tally.calls += 1;
        match fate.trouble {
            Trouble::None => {}
            Trouble::LostAnswer => tally.lost += 1,
            Trouble::SlowAnswer => tally.slow += 1,
            Trouble::ErrorBefore | Trouble::ErrorAfter => tally.errors += 1,
        }
        fate
    }

    /// What happens at the service.
    async fn serve(&self, call: Call, fate: Fate) -> Result<Answer, Lost> {
        let request: Value = serde_json::from_slice(&call.body).unwrap_or_default();
        let Some(mut footprint) = self.shapes.footprint(&call.operation, &request) else {
            return self.next.call(call).await;
        };
        self.look(&mut footprint).await;
        let _held = match self.hold(&footprint) {
            Ok(held) => held,
            Err(refusal) => return Ok(refusal),
        };
        let admitted = match self.admit(&footprint) {
            Ok(admitted) => admitted,
            Err(refusal) => return Ok(refusal),
        };
        if footprint.kind == Kind::Transaction {
            tokio::time::sleep(fate.held).await;
        }
        let asked = request["ReturnConsumedCapacity"].as_str().unwrap_or("NONE").to_owned();
        let (request, left) = without(request, &footprint, &admitted.refused);
        let answer = self.next.call(metered(&call.operation, request)).await;
        let answer = match answer {
            Ok(answer) => answer,
            Err(lost) => {
                self.settle(admitted, &[]);
                return Err(lost);
            }
        };
        let mut body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let spent = match answer.status {
            200 => spent(&footprint, &body[CAPACITY]),
            _ => spent_on_refusal(&footprint, &body),
        };
        self.settle(admitted, &spent);
        if answer.status != 200 {
            return Ok(answer);
        }
        restore(&mut body, &asked);
        if let Some(left) = left {
            body["UnprocessedKeys"] = left;
        }
        Ok(Answer { status: 200, body: body.to_string().into() })
    }

    /// Looks at the items of which only the database knows the indexes.
    async fn look(&self, footprint: &mut Footprint) {
        for part in &mut footprint.parts {
            let Some(get) = part.unseen.take() else { continue };
            let call = Call { operation: "GetItem".to_owned(), body: get.to_string().into() };
            if let Ok(answer) = self.next.call(call).await {
                let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
                self.shapes.see(part, &body["Item"]);
            }
        }
    }

    /// Refuses whoever meets a running transaction; a transaction that meets
    /// none holds its items until this is dropped.
    fn hold(&self, footprint: &Footprint) -> Result<Held<'_>, Answer> {
        let mut state = self.state();
        let nothing = Held { limited: self, items: Vec::new() };
        let is_write = matches!(footprint.kind, Kind::Write | Kind::Transaction);
        if !self.limits.conflicts || !is_write {
            return Ok(nothing);
        }
        let items: Vec<_> = footprint.parts.iter().map(identity).collect();
        let meets: Vec<bool> = items.iter().map(|item| state.held.contains(item)).collect();
        if meets.contains(&true) {
            state.tally.conflicts += 1;
            let reasons: Vec<_> = meets.iter().map(|m| CONFLICTS.filter(|_| *m)).collect();
            return Err(match footprint.kind {
                Kind::Transaction => answers::cancelled(&reasons),
                _ => answers::conflict(),
            });
        }
        if footprint.kind != Kind::Transaction {
            return Ok(nothing);
        }
        state.held.extend(items.iter().cloned());
        Ok(Held { items, ..nothing })
    }

    /// Lets a call in, paying what it costs at least, or throttles it. Of a
    /// batch of reads, parts may be let in.
    fn admit(&self, footprint: &Footprint) -> Result<Admitted, Answer> {
        let now = Instant::now();
        let mut state = self.state();
        let (mut paid, mut refused, mut first) = (Vec::new(), Vec::new(), None);
        for part in &footprint.parts {
            let demands = part.demands();
            let short = demands.iter().find(|(demand, _)| !state.partitions.has_room(demand, now));
            refused.push(short.is_some());
            match short {
                Some((demand, _)) => first = first.or_else(|| Some(demand.clone())),
                None => paid.extend(demands),
            }
        }
        let may_go_on = footprint.kind == Kind::BatchRead && refused.contains(&false);
        if let Some(demand) = first {
            let reason = answers::throttling_reason(&demand.resource, demand.access);
            *state.tally.throttles.entry(format!("{} {reason}", demand.resource)).or_default() += 1;
            if !may_go_on {
                let reasons: Vec<_> = refused.iter().map(|r| THROTTLES.filter(|_| *r)).collect();
                return Err(match footprint.kind {
                    Kind::Transaction => answers::cancelled(&reasons),
                    _ => answers::throttled(&demand.resource, demand.access),
                });
            }
        }
        for (demand, units) in &paid {
            state.partitions.spend(demand, *units, now);
        }
        Ok(Admitted { paid, refused })
    }

    /// Pays what a call cost instead of what it paid at the door.
    fn settle(&self, admitted: Admitted, spent: &[(Demand, f64)]) {
        let now = Instant::now();
        let mut state = self.state();
        for (demand, units) in admitted.paid {
            state.partitions.spend(&demand, -units, now);
        }
        for (demand, units) in spent {
            state.partitions.spend(demand, *units, now);
            state.hot_keys.spent(demand, *units);
        }
    }
}

/// A call that was let in.
struct Admitted {
    paid: Vec<(Demand, f64)>,
    /// Which parts were not let in.
    refused: Vec<bool>,
}

/// Items that a transaction holds.
struct Held<'a> {
    limited: &'a Limited,
    items: Vec<(Arc<str>, String)>,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if !self.items.is_empty() {
            let mut state = self.limited.state();
            for item in &self.items {
                state.held.remove(item);
            }
        }
    }
}

impl Link for Limited {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Answer, Lost>> {
        let fate = self.fate();
        Box::pin(async move {
            tokio::time::sleep(fate.way).await;
            if fate.trouble == Trouble::ErrorBefore {
                tokio::time::sleep(fate.way).await;
                return Ok(answers::failed());
            }
            let answer = self.serve(call, fate).await?;
            tokio::time::sleep(fate.way).await;
            match fate.trouble {
                Trouble::LostAnswer => return Err(Lost),
                Trouble::ErrorAfter => return Ok(answers::failed()),
                Trouble::SlowAnswer => tokio::time::sleep(SLOW).await,
                Trouble::None | Trouble::ErrorBefore => {}
            }
            Ok(answer)
        })
    }
}

fn identity(part: &Part) -> (Arc<str>, String) {
    (Arc::clone(&part.resource.table), part.item.clone().unwrap_or_default())
}

/// The request without the parts that were not let in, and those, if there are
/// any.
fn without(mut request: Value, footprint: &Footprint, refused: &[bool]) -> (Value, Option<Value>) {
    if !refused.contains(&true) {
        return (request, None);
    }
    let mut left = json!({});
    let mut places = footprint.parts.iter().zip(refused).map(|(_, refused)| *refused);
    if let Some(tables) = request["RequestItems"].as_object_mut() {
        for (table, wanted) in tables.iter_mut() {
            let keys = std::mem::take(&mut wanted["Keys"]);
            let keys = keys.as_array().cloned().unwrap_or_default().into_iter();
            let (later, now): (Vec<_>, Vec<_>) =
                keys.partition(|_| places.next().unwrap_or_default());
            if !later.is_empty() {
                left[table] = wanted.clone();
                left[table]["Keys"] = later.into();
            }
            wanted["Keys"] = now.into();
        }
        tables.retain(|_, wanted| wanted["Keys"] != json!([]));
    }
    (request, Some(left))
}

/// The call, asking what it costs by table and index.
fn metered(operation: &str, mut request: Value) -> Call {
    request["ReturnConsumedCapacity"] = json!("INDEXES");
    Call { operation: operation.to_owned(), body: request.to_string().into() }
}

/// Says no more about costs than was asked for.
fn restore(body: &mut Value, asked: &str) {
    let total = |capacity: &mut Value| {
        if let Some(capacity) = capacity.as_object_mut() {
            capacity.retain(|name, _| {
                !matches!(
                    name.as_str(),
                    "Table" | "GlobalSecondaryIndexes" | "LocalSecondaryIndexes"
                )
            });
        }
    };
    match (asked, &mut body[CAPACITY]) {
        ("INDEXES", _) => {}
        ("TOTAL", Value::Array(tables)) => tables.iter_mut().for_each(total),
        ("TOTAL", capacity) => total(capacity),
        _ => {
            if let Some(body) = body.as_object_mut() {
                body.remove(CAPACITY);
            }
        }
    }
}

/// What each partition had to give, by what the database reports for each table
/// and index. What several items of one table cost together, each bears by what
/// it costs at least.
fn spent(footprint: &Footprint, capacity: &Value) -> Vec<(Demand, f64)> {
    let tables = capacity.as_array().map_or(std::slice::from_ref(capacity), Vec::as_slice);
    let mut spent = Vec::new();
    for table in tables {
        let name = table["TableName"].as_str().unwrap_or_default();
        let parts: Vec<&Part> =
            footprint.parts.iter().filter(|part| &*part.resource.table == name).collect();
        let units = |place: &Value| place["CapacityUnits"].as_f64().unwrap_or(0.0);
        let local = table["LocalSecondaryIndexes"].as_object().into_iter().flatten();
        let own = units(&table["Table"]) + local.map(|(_, index)| units(index)).sum::<f64>();
        let all: f64 = parts.iter().map(|part| part.least_units).sum();
        for part in &parts {
            spent.push((part.demand(), own * part.least_units / all));
        }
        for (index, capacity) in table["GlobalSecondaryIndexes"].as_object().into_iter().flatten() {
            let has = |part: &&&Part| {
                let is_there = part.indexes.iter().any(|(name, _)| **name == **index);
                is_there || part.resource.index.as_deref() == Some(index)
            };
            let mut touched: Vec<_> = parts.iter().filter(has).collect();
            if touched.is_empty() {
                touched = parts.iter().collect(); // it came into the index just now
            }
            let share = units(capacity) / touched.len() as f64;
            spent.extend(touched.into_iter().map(|part| (part.demand_of(index), share)));
        }
    }
    spent.retain(|(_, units)| *units > 0.0);
    spent
}

/// What a failed condition costs all the same: the write of the item that it
/// met, in its table alone
/// ([source](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html#write-operation-consumption)).
pub(super) fn spent_on_refusal(footprint: &Footprint, error: &Value) -> Vec<(Demand, f64)> {
    let kind = error["__type"].as_str().unwrap_or_default();
    let reasons = error["CancellationReasons"].as_array();
    let is_condition = |reason: &Value| reason["Code"] == "ConditionalCheckFailed";
    let failed = kind.ends_with("#ConditionalCheckFailedException")
        || reasons.is_some_and(|reasons| reasons.iter().any(is_condition));
    if !failed {
        return Vec::new();
    }
    let parts = footprint.parts.iter().enumerate().map(|(place, part)| {
        let item = reasons.map_or(&error["Item"], |reasons| &reasons[place]["Item"]);
        let size = if item.is_object() { units_of(item) } else { 1.0 };
        (part.demand(), part.least_units.max(part.factor * size))
    });
    parts.collect()
}
