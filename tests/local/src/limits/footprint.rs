//! What a call touches: items, and partitions of tables and indexes.
//!
//! It is read from the request. Which partitions of an index an update touches
//! stands in the item that it meets, so that is handed in. Only the calls that
//! functions make are known; others pass without limits.

use std::collections::HashMap;
use std::sync::Arc;

use dynoxide::types::{Item, item_size};
use serde_json::{Value, json};

use super::partitions::{Access, Demand, Resource};
use crate::template::Table;

/// Bytes of one write unit
/// ([source](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html)).
const WRITE_UNIT_BYTES: usize = 1_024;
/// What each item of a transaction costs times: it is prepared, then committed
/// ([source](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html#transaction-capacity-handling)).
const TRANSACTION_FACTOR: f64 = 2.0;

/// The keys of every table.
#[derive(Debug)]
pub(super) struct Shapes(HashMap<String, Shape>);

#[derive(Debug)]
struct Shape {
    table: Arc<str>,
    keys: Vec<String>,
    /// Indexes with partitions of their own. A local index lies in its table's.
    indexes: Vec<(Arc<str>, Vec<String>)>,
}

/// One item, or one page, that a call touches.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    /// Where it is.
    pub(super) resource: Resource,
    /// The item, if it is one: its whole key.
    pub(super) item: Option<String>,
    /// Its partition key.
    pub(super) key: String,
    pub(super) access: Access,
    /// How often it is read or written.
    pub(super) factor: f64,
    /// What it costs at least.
    pub(super) least_units: f64,
    /// The indexes that it is or will be in, with its partition key there.
    pub(super) indexes: Vec<(Arc<str>, String)>,
    /// An item that has to be looked at to know the indexes: table and key.
    pub(super) unseen: Option<Value>,
}

/// A call that is limited.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Footprint {
    pub(super) kind: Kind,
    /// In the order of the request.
    pub(super) parts: Vec<Part>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    BatchRead,
    Write,
    Transaction,
}

impl Shapes {
    pub(super) fn of(tables: &[Table]) -> Self {
        let shapes = tables.iter().map(|table| (table.name.clone(), Shape::of(table)));
        Self(shapes.collect())
    }

    /// What `operation` touches. `None` if it is not limited.
    pub(super) fn footprint(&self, operation: &str, request: &Value) -> Option<Footprint> {
        let (kind, parts) = match operation {
            "GetItem" => (Kind::Read, vec![self.shape(request)?.read(request, &request["Key"])]),
            "Query" => (Kind::Read, vec![self.shape(request)?.query(request)]),
            "BatchGetItem" => (Kind::BatchRead, self.batch(request)?),
            "PutItem" => (Kind::Write, vec![self.shape(request)?.put(request, 1.0)]),
            "UpdateItem" | "DeleteItem" => {
                (Kind::Write, vec![self.shape(request)?.change(request, 1.0)])
            }
            "TransactWriteItems" => (Kind::Transaction, self.transaction(request)?),
            _ => return None,
        };
        Some(Footprint { kind, parts })
    }

    fn shape(&self, request: &Value) -> Option<&Shape> {
        self.0.get(request["TableName"].as_str()?)
    }

    fn batch(&self, request: &Value) -> Option<Vec<Part>> {
        let mut parts = Vec::new();
        for (table, wanted) in request["RequestItems"].as_object()? {
            let shape = self.0.get(table)?;
            parts.extend(wanted["Keys"].as_array()?.iter().map(|key| shape.read(wanted, key)));
        }
        Some(parts)
    }

    fn transaction(&self, request: &Value) -> Option<Vec<Part>> {
        let actions = request["TransactItems"].as_array()?.iter().map(|action| {
            let (verb, action) = action.as_object()?.iter().next()?;
            let shape = self.shape(action)?;
            Some(match verb.as_str() {
                "Put" => shape.put(action, TRANSACTION_FACTOR),
                "ConditionCheck" => {
                    Part { unseen: None, ..shape.change(action, TRANSACTION_FACTOR) }
                }
                _ => shape.change(action, TRANSACTION_FACTOR),
            })
        });
        actions.collect()
    }

    /// Notes the item that was met at an unseen part.
    pub(super) fn see(&self, part: &mut Part, item: &Value) {
        if let Some(shape) = self.0.get(&*part.resource.table) {
            part.indexes = shape.indexes_of(item);
            part.least_units = part.least_units.max(part.factor * units_of(item));
        }
        part.unseen = None;
    }
}

impl Shape {
    fn of(table: &Table) -> Self {
        let keys = |schema: &Value| {
            let schema = schema["KeySchema"].as_array().into_iter().flatten();
            let names = schema.filter_map(|key| key["AttributeName"].as_str().map(str::to_owned));
            names.collect::<Vec<_>>()
        };
        let indexes = table.definition["GlobalSecondaryIndexes"].as_array().into_iter().flatten();
        let indexes = indexes.filter_map(|i| Some((i["IndexName"].as_str()?.into(), keys(i))));
        let table_name = table.name.as_str().into();
        Self { table: table_name, keys: keys(&table.definition), indexes: indexes.collect() }
    }

    fn part(&self, item: &Value, access: Access, factor: f64) -> Part {
        let whole: Vec<_> = self.keys.iter().map(|name| text(&item[name])).collect();
        Part {
            resource: Resource { table: Arc::clone(&self.table), index: None },
            key: whole.first().cloned().unwrap_or_default(),
            item: Some(whole.join("\u{0}")),
            access,
            factor,
            least_units: factor,
            indexes: Vec::new(),
            unseen: None,
        }
    }

    fn read(&self, request: &Value, key: &Value) -> Part {
        self.part(key, Access::Read, least_read(request))
    }

    fn put(&self, request: &Value, factor: f64) -> Part {
        let item = &request["Item"];
        let mut part = self.part(item, Access::Write, factor);
        part.least_units = factor * units_of(item);
        part.indexes = self.indexes_of(item);
        part
    }

    fn change(&self, request: &Value, factor: f64) -> Part {
        let key = &request["Key"];
        let mut part = self.part(key, Access::Write, factor);
        part.unseen = (!self.indexes.is_empty())
            .then(|| json!({ "TableName": &*self.table, "Key": key, "ConsistentRead": true }));
        part
    }

    /// A query of the table or of an index: of one partition key, which its
    /// condition compares with a placeholder.
    fn query(&self, request: &Value) -> Part {
        let index = request["IndexName"].as_str();
        let index = self.indexes.iter().find(|(name, _)| Some(&**name) == index);
        let keys = index.map_or(&self.keys, |(_, keys)| keys);
        let condition = request["KeyConditionExpression"].as_str().unwrap_or_default();
        let named = |word: &str| {
            let is_key = |name: &str| keys.first().is_some_and(|key| key == name);
            is_key(word) || request["ExpressionAttributeNames"][word].as_str().is_some_and(is_key)
        };
        let words: Vec<&str> = condition.split_whitespace().collect();
        let placeholder = words.windows(3).find(|w| w[1] == "=" && named(w[0])).map(|w| w[2]);
        let value = placeholder.map(|word| text(&request["ExpressionAttributeValues"][word]));
        let resource = Resource {
            table: Arc::clone(&self.table),
            index: index.map(|(name, _)| Arc::clone(name)),
        };
        Part {
            resource,
            item: None,
            key: value.unwrap_or_default(),
            access: Access::Read,
            factor: least_read(request),
            least_units: least_read(request),
            indexes: Vec::new(),
            unseen: None,
        }
    }

    /// The indexes that an item is in: those of which it has every key.
    fn indexes_of(&self, item: &Value) -> Vec<(Arc<str>, String)> {
        let indexes =
            self.indexes.iter().filter(|(_, keys)| keys.iter().all(|key| !item[key].is_null()));
        indexes.map(|(name, keys)| (Arc::clone(name), text(&item[&keys[0]]))).collect()
    }
}

impl Part {
    /// What it asks of its own partition.
    pub(super) fn demand(&self) -> Demand {
        Demand { resource: self.resource.clone(), key: self.key.clone(), access: self.access }
    }

    /// What it asks of `index`; of a partition like its own, if nobody knows
    /// which one.
    pub(super) fn demand_of(&self, index: &str) -> Demand {
        let known = self.indexes.iter().find(|(name, _)| &**name == index);
        let resource =
            Resource { table: Arc::clone(&self.resource.table), index: Some(index.into()) };
        let key = known.map_or(&self.key, |(_, key)| key).clone();
        Demand { resource, key, access: self.access }
    }

    /// All that it asks, with what that costs at least.
    pub(super) fn demands(&self) -> Vec<(Demand, f64)> {
        let own = (self.demand(), self.least_units);
        let indexes = self.indexes.iter().map(|(index, _)| (self.demand_of(index), 0.0));
        std::iter::once(own).chain(indexes).collect()
    }
}

/// Half a unit, or one for a consistent read.
fn least_read(request: &Value) -> f64 {
    if request["ConsistentRead"] == true { 1.0 } else { 0.5 }
}

/// Write units of an item, doubled by nothing.
pub(super) fn units_of(item: &Value) -> f64 {
    let size = serde_json::from_value::<Item>(item.clone()).map_or(0, |item| item_size(&item));
    size.div_ceil(WRITE_UNIT_BYTES).max(1) as f64
}

/// A key as text.
fn text(value: &Value) -> String {
    let value = value.as_object().and_then(|value| value.values().next());
    value.and_then(Value::as_str).unwrap_or_default().to_owned()
}
