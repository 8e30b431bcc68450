//! DynamoDB as hotseat uses it: reads, and writes that know their outcome.
//!
//! Every conditional write is a transaction with a `ClientRequestToken`. When
//! its answer is lost it is sent again, unchanged, until the outcome is
//! definite: a second attempt under the same token succeeds if the first one
//! did ([idempotency](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html#DDB-TransactWriteItems-request-ClientRequestToken)).
//! An `UpdateItem` with a condition would meet its own success and call it a
//! refusal, so one stands alone only where that does no harm.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodb::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::delete_item::DeleteItemError;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure::AllOld;
use aws_sdk_dynamodb::types::{
    CancellationReason, ConditionCheck, ConsumedCapacity, Delete, KeysAndAttributes, Put,
    ReturnConsumedCapacity, ReturnValue, TransactWriteItem, Update,
};
use futures_util::future::try_join_all;
use tokio::time::Instant;

pub use aws_sdk_dynamodb::types::AttributeValue;

use crate::app::App;
use crate::problem::Problem;

/// An item, or the key of one.
pub type Item = HashMap<String, AttributeValue>;

/// How long a request goes on trying before it answers 503.
const BUDGET: Duration = Duration::from_secs(5);
/// A wait is drawn from nothing up to this, doubled with each further try.
const FIRST_PAUSE_MS: u64 = 8;
/// The longest that such a draw gets.
const LONGEST_PAUSE_MS: u64 = 400;
/// Keys in one `BatchGetItem`
/// ([limit](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html)).
const BATCH_KEYS: usize = 100;

/// A string attribute.
pub fn s(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

/// A number attribute.
pub fn n(number: impl std::fmt::Display) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

/// A binary attribute.
pub fn bytes(bytes: impl Into<Vec<u8>>) -> AttributeValue {
    AttributeValue::B(Blob::new(bytes))
}

/// A set of strings. It must not be empty.
pub fn strings<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> AttributeValue {
    AttributeValue::Ss(texts.into_iter().map(Into::into).collect())
}

/// A set of numbers. It must not be empty.
pub fn numbers<T: std::fmt::Display>(numbers: impl IntoIterator<Item = T>) -> AttributeValue {
    AttributeValue::Ns(numbers.into_iter().map(|number| number.to_string()).collect())
}

/// An item's attributes as a value. Keys and other attributes are passed over.
pub fn read<T: serde::de::DeserializeOwned>(item: Item) -> Result<T, Problem> {
    serde_dynamo::from_item(item).map_err(|error| Problem::internal(format!("item: {error}")))
}

/// An item with `key` and the attributes of `value`.
pub fn item<T: serde::Serialize>(key: Key, value: &T) -> Result<Item, Problem> {
    let mut item: Item = serde_dynamo::to_item(value).map_err(Problem::internal)?;
    item.extend(key.into_item());
    Ok(item)
}

/// An attribute with what `value` holds.
pub fn value<T: serde::Serialize>(value: &T) -> Result<AttributeValue, Problem> {
    serde_dynamo::to_attribute_value(value).map_err(Problem::internal)
}

/// The results of several reads, made at the same time.
pub async fn all<T>(
    reads: impl IntoIterator<Item = impl Future<Output = Result<T, ReadError>>>,
) -> Result<Vec<T>, ReadError> {
    try_join_all(reads).await
}

/// A table, by the environment variable that holds its name.
#[derive(Clone, Copy, Debug)]
pub struct TableName {
    /// The setting, as in `ENROLLMENT_TABLE`.
    pub setting: &'static str,
    /// The name where the setting is missing.
    pub default: &'static str,
}

/// The key of an item.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// Partition key.
    pub pk: String,
    /// Sort key.
    pub sk: String,
}

impl Key {
    /// A key.
    pub fn new(pk: impl Into<String>, sk: impl Into<String>) -> Self {
        Self { pk: pk.into(), sk: sk.into() }
    }

    /// The key of `item`.
    pub fn of(item: &Item) -> Option<Self> {
        let text = |name| item.get(name)?.as_s().ok().cloned();
        Some(Self { pk: text("pk")?, sk: text("sk")? })
    }

    /// The key as attributes, to begin an item with.
    pub fn into_item(self) -> Item {
        Item::from([("pk".to_owned(), s(self.pk)), ("sk".to_owned(), s(self.sk))])
    }
}

/// One write of a transaction.
#[derive(Clone, Debug)]
pub struct Write {
    verb: Verb,
    key_or_item: Item,
    condition: Option<String>,
    names: HashMap<String, String>,
    values: Item,
}

#[derive(Clone, Debug)]
enum Verb {
    Put,
    Update(String),
    Delete,
    Check,
}

impl Write {
    /// Puts a whole item.
    pub fn put(item: Item) -> Self {
        Self::new(Verb::Put, item)
    }

    /// Updates an item by an update expression.
    pub fn update(key: Key, expression: impl Into<String>) -> Self {
        Self::new(Verb::Update(expression.into()), key.into_item())
    }

    /// Deletes an item.
    pub fn delete(key: Key) -> Self {
        Self::new(Verb::Delete, key.into_item())
    }

    /// Only checks a condition.
    pub fn check(key: Key) -> Self {
        Self::new(Verb::Check, key.into_item())
    }

    fn new(verb: Verb, key_or_item: Item) -> Self {
        let (names, values) = (HashMap::new(), Item::new());
        Self { verb, key_or_item, condition: None, names, values }
    }

    /// Adds a condition; all must hold.
    #[must_use]
    pub fn when(mut self, condition: impl Into<String>) -> Self {
        let condition = condition.into();
        self.condition = Some(match self.condition.take() {
            Some(before) => format!("{before} AND {condition}"),
            None => condition,
        });
        self
    }

    /// Gives a placeholder such as `:credit` its value.
    #[must_use]
    pub fn bind(mut self, placeholder: &str, value: AttributeValue) -> Self {
        self.values.insert(placeholder.to_owned(), value);
        self
    }

    /// Gives a placeholder such as `#name` the attribute that it stands for.
    #[must_use]
    pub fn name(mut self, placeholder: &str, attribute: &str) -> Self {
        self.names.insert(placeholder.to_owned(), attribute.to_owned());
        self
    }

    fn into_transact_item(self, table: &str) -> Result<TransactWriteItem, WriteError> {
        let names = (!self.names.is_empty()).then_some(self.names);
        let values = (!self.values.is_empty()).then_some(self.values);
        let condition = self.condition;
        // The SDK's four builders share these setters but no trait.
        macro_rules! build {
            ($builder:expr) => {
                $builder
                    .table_name(table)
                    .set_condition_expression(condition)
                    .set_expression_attribute_names(names)
                    .set_expression_attribute_values(values)
                    .return_values_on_condition_check_failure(AllOld)
                    .build()
            };
        }
        let item = TransactWriteItem::builder();
        let key_or_item = Some(self.key_or_item);
        let built = match self.verb {
            Verb::Put => build!(Put::builder().set_item(key_or_item)).map(|w| item.put(w)),
            Verb::Update(expression) => {
                build!(Update::builder().set_key(key_or_item).update_expression(expression))
                    .map(|w| item.update(w))
            }
            Verb::Delete => build!(Delete::builder().set_key(key_or_item)).map(|w| item.delete(w)),
            Verb::Check => build!(ConditionCheck::builder().set_key(key_or_item))
                .map(|w| item.condition_check(w)),
        };
        Ok(built.map_err(|error| WriteError::Failed(error.to_string()))?.build())
    }
}

/// Why a transaction wrote nothing, or may have.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Conditions failed: a definite no.
    #[error("conditions failed at {0:?}")]
    Refused(Refusals),
    /// Another transaction held these items, by their place. Definite: nothing
    /// was written.
    #[error("another transaction held items {0:?}")]
    Conflict(Vec<usize>),
    /// Throttled or contended past the budget. Definite: nothing was written.
    #[error("gave up: {0}")]
    Busy(String),
    /// The outcome could not be learned within the budget.
    #[error("outcome unknown: {0}")]
    Unknown(String),
    /// The request cannot succeed as it is.
    #[error("{0}")]
    Failed(String),
}

impl From<WriteError> for Problem {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Busy(_) | WriteError::Conflict(_) | WriteError::Unknown(_) => {
                Self::busy(error)
            }
            // A condition that the caller did not expect to fail is our mistake.
            WriteError::Refused(_) | WriteError::Failed(_) => Self::internal(error),
        }
    }
}

/// The conditions that failed, by the place of their write in the transaction,
/// each with the item as it was.
#[derive(Default)]
pub struct Refusals(Vec<(usize, Option<Item>)>);

/// Only the places: refusals are logged, and items are nobody's business there.
impl std::fmt::Debug for Refusals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(place, _)| place)).finish()
    }
}

impl Refusals {
    /// Whether the condition of the write at `place` failed.
    pub fn includes(&self, place: usize) -> bool {
        self.0.iter().any(|(at, _)| *at == place)
    }

    /// The item that the write at `place` met, if its condition failed: `None`
    /// inside if there was no such item.
    pub fn take(&mut self, place: usize) -> Option<Option<Item>> {
        let at = self.0.iter().position(|(at, _)| *at == place)?;
        Some(self.0.swap_remove(at).1)
    }
}

/// Why a read has no answer.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Throttled or unreachable past the budget.
    #[error("gave up: {0}")]
    Busy(String),
    /// The request cannot succeed as it is.
    #[error("{0}")]
    Failed(String),
}

impl From<ReadError> for Problem {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Busy(_) => Self::busy(error),
            ReadError::Failed(_) => Self::internal(error),
        }
    }
}

/// How much longer a request may go on trying, and how long it waits in
/// between: random times that grow (full jitter,
/// [Exponential Backoff and Jitter](https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/)).
#[derive(Debug)]
pub struct Patience {
    deadline: Instant,
    pauses: u32,
}

impl Default for Patience {
    fn default() -> Self {
        Self { deadline: Instant::now() + BUDGET, pauses: 0 }
    }
}

impl Patience {
    /// Waits before another try. `false` when there is no time for one.
    pub async fn pause(&mut self, app: &App) -> bool {
        let most_ms = (FIRST_PAUSE_MS << self.pauses.min(6)).min(LONGEST_PAUSE_MS);
        self.pauses += 1;
        let wake_at = Instant::now() + Duration::from_millis(app.random_below(most_ms + 1));
        if wake_at >= self.deadline {
            return false;
        }
        tokio::time::sleep_until(wake_at).await;
        true
    }
}

/// How fresh a read is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// Sees every write that was answered before; costs twice as much.
    Consistent,
    /// May miss the last moments.
    Eventual,
}

/// One page of a query.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// An index, or the table itself.
    pub index: Option<&'static str>,
    /// The key condition, as in `pk = :pk AND sk > :after`.
    pub condition: String,
    /// The values of its placeholders.
    pub values: Vec<(&'static str, AttributeValue)>,
    /// At most so many items.
    pub limit: usize,
    /// Largest sort key first.
    pub descending: bool,
    /// Read consistently; not for a global index.
    pub consistent: bool,
}

/// A table, and the App that calls it.
#[derive(Clone, Copy)]
pub struct Table<'a> {
    app: &'a App,
    name: &'a str,
    setting: &'static str,
}

/// What to make of a call that failed.
enum Trouble {
    /// Nothing was written; trying again may help. A transaction that held the
    /// item of a write that stands alone is such a case.
    Throttled(String),
    /// It may have been written.
    Unknown(String),
    /// Trying again does not help.
    Final(String),
}

impl<'a> Table<'a> {
    pub(crate) fn new(app: &'a App, name: TableName) -> Self {
        let TableName { setting, default } = name;
        Self { app, name: app.setting(setting).unwrap_or(default), setting }
    }

    /// Writes all or nothing, and comes back only with a definite outcome or
    /// when `patience` is used up. A conflict with another transaction comes
    /// back at once, for the caller may know a better place to go.
    pub async fn transact(
        &self,
        writes: Vec<Write>,
        patience: &mut Patience,
    ) -> Result<(), WriteError> {
        let items = writes.into_iter().map(|write| write.into_transact_item(self.name));
        let items = items.collect::<Result<Vec<_>, _>>()?;
        let token = self.app.new_id();
        let mut unknown = None;
        loop {
            self.app.meter.called(self.name, "TransactWriteItems");
            let sent = self.app.clients.dynamodb.transact_write_items();
            let sent = sent.set_transact_items(Some(items.clone())).client_request_token(&token);
            let outcome = sent.return_consumed_capacity(ReturnConsumedCapacity::Total).send().await;
            let error = match outcome {
                Ok(done) => {
                    self.app.meter.wrote(units(done.consumed_capacity()));
                    return Ok(());
                }
                Err(error) => error,
            };
            let trouble = match cancelled(&error) {
                Some(reasons) => match verdict(reasons) {
                    Ok(cause) => Trouble::Throttled(cause),
                    // What it met may be its own earlier sending: only the token can
                    // tell what became of that.
                    Err(WriteError::Conflict(_)) if unknown.is_some() => {
                        Trouble::Throttled("a conflict after a lost answer".to_owned())
                    }
                    Err(definite) => return Err(definite),
                },
                None => self.trouble(&error),
            };
            let cause = match trouble {
                Trouble::Final(cause) => return Err(WriteError::Failed(cause)),
                Trouble::Throttled(cause) => cause,
                Trouble::Unknown(cause) => {
                    unknown = Some(cause.clone());
                    cause
                }
            };
            tracing::debug!(table = self.name, cause, "sending a transaction again");
            if !patience.pause(self.app).await {
                return Err(self.given_up(unknown, cause));
            }
        }
    }

    /// Like [`Table::transact`], but waits and tries again on a conflict: for
    /// writes that have no other place to go.
    pub async fn commit(&self, writes: Vec<Write>) -> Result<(), WriteError> {
        let mut patience = Patience::default();
        loop {
            match self.transact(writes.clone(), &mut patience).await {
                Err(conflict @ WriteError::Conflict(_)) => {
                    if !patience.pause(self.app).await {
                        return Err(WriteError::Busy(conflict.to_string()));
                    }
                }
                outcome => return outcome,
            }
        }
    }

    /// Puts `item` unless there is one with its key; whether it was put now.
    ///
    /// Half the price of a transaction, for items that are the same whoever
    /// writes them: after a lost answer it is put again, and then says `false`
    /// of its own success.
    pub async fn put_new(&self, item: Item) -> Result<bool, WriteError> {
        let put = || async {
            let sent = self.app.clients.dynamodb.put_item().table_name(self.name);
            let sent = sent.set_item(Some(item.clone()));
            let sent = sent.condition_expression("attribute_not_exists(pk)");
            let done = sent.return_consumed_capacity(ReturnConsumedCapacity::Total).send().await?;
            Ok(done.consumed_capacity)
        };
        let met = |error: &PutItemError| {
            error.is_conditional_check_failed_exception().then_some(None::<Item>)
        };
        match self.repeat("PutItem", put, met).await {
            Ok(()) => Ok(true),
            Err(WriteError::Refused(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Updates one item, `update` being one of [`Write::update`].
    ///
    /// Half the price of a transaction, for updates that may be applied twice:
    /// after a lost answer it is sent again, and then may be refused because of
    /// its own success.
    pub async fn update(&self, update: Write) -> Result<(), WriteError> {
        let Verb::Update(expression) = &update.verb else {
            return Err(WriteError::Failed("expected an update".to_owned()));
        };
        let send = || async {
            let sent = self.app.clients.dynamodb.update_item().table_name(self.name);
            let names = (!update.names.is_empty()).then(|| update.names.clone());
            let values = (!update.values.is_empty()).then(|| update.values.clone());
            let sent = sent
                .set_key(Some(update.key_or_item.clone()))
                .update_expression(expression)
                .set_condition_expression(update.condition.clone())
                .set_expression_attribute_names(names)
                .set_expression_attribute_values(values)
                .return_values_on_condition_check_failure(AllOld);
            let done = sent.return_consumed_capacity(ReturnConsumedCapacity::Total).send().await?;
            Ok(done.consumed_capacity)
        };
        let met = |error: &UpdateItemError| match error {
            UpdateItemError::ConditionalCheckFailedException(failed) => Some(failed.item.clone()),
            _ => None,
        };
        self.repeat("UpdateItem", send, met).await
    }

    /// Deletes an item, if it is there.
    pub async fn delete(&self, key: Key) -> Result<(), WriteError> {
        let send = || async {
            let sent = self.app.clients.dynamodb.delete_item().table_name(self.name);
            let sent = sent.set_key(Some(key.clone().into_item()));
            let done = sent.return_consumed_capacity(ReturnConsumedCapacity::Total).send().await?;
            Ok(done.consumed_capacity)
        };
        self.repeat("DeleteItem", send, |_: &DeleteItemError| None).await
    }

    /// Sends a write that stands alone until its outcome is definite or time is
    /// up. `met` tells a failed condition, with the item that it met.
    async fn repeat<E, F>(
        &self,
        action: &'static str,
        send: impl Fn() -> F,
        met: impl Fn(&E) -> Option<Option<Item>>,
    ) -> Result<(), WriteError>
    where
        F: Future<Output = Result<Option<ConsumedCapacity>, SdkError<E>>>,
        E: ProvideErrorMetadata + std::error::Error + 'static,
    {
        let mut patience = Patience::default();
        let mut unknown = None;
        loop {
            self.app.meter.called(self.name, action);
            let error = match send().await {
                Ok(consumed) => {
                    self.app.meter.wrote(units(consumed.as_slice()));
                    return Ok(());
                }
                Err(error) => error,
            };
            if let Some(item) = error.as_service_error().and_then(&met) {
                return Err(WriteError::Refused(Refusals(vec![(0, item)])));
            }
            let cause = match self.trouble(&error) {
                Trouble::Final(cause) => return Err(WriteError::Failed(cause)),
                Trouble::Throttled(cause) => cause,
                Trouble::Unknown(cause) => {
                    unknown = Some(cause.clone());
                    cause
                }
            };
            if !patience.pause(self.app).await {
                return Err(self.given_up(unknown, cause));
            }
        }
    }

    /// Adds `amount` to a number of an item, which begins as 0 if it is not
    /// there. It has no condition, and is sent once: sent again after a lost
    /// answer it could count twice. So [`WriteError::Unknown`] means that it may
    /// have been added, and any other error that it was not.
    pub async fn add(&self, key: Key, attribute: &str, amount: u64) -> Result<(), WriteError> {
        self.send_add(key, attribute, amount, ReturnValue::None).await.map(drop)
    }

    /// Like [`Table::add`], and tells the whole item as this addition left it.
    pub async fn add_and_get(
        &self,
        key: Key,
        attribute: &str,
        amount: u64,
    ) -> Result<Item, WriteError> {
        self.send_add(key, attribute, amount, ReturnValue::AllNew).await
    }

    async fn send_add(
        &self,
        key: Key,
        attribute: &str,
        amount: u64,
        wanted: ReturnValue,
    ) -> Result<Item, WriteError> {
        self.app.meter.called(self.name, "UpdateItem");
        let sent = self.app.clients.dynamodb.update_item().table_name(self.name);
        let sent = sent
            .set_key(Some(key.into_item()))
            .update_expression("ADD #attribute :amount")
            .expression_attribute_names("#attribute", attribute)
            .expression_attribute_values(":amount", n(amount))
            .return_values(wanted);
        let sent = sent.return_consumed_capacity(ReturnConsumedCapacity::Total).send().await;
        let error = match sent {
            Ok(done) => {
                self.app.meter.wrote(units(done.consumed_capacity.as_slice()));
                return Ok(done.attributes.unwrap_or_default());
            }
            Err(error) => error,
        };
        match self.trouble(&error) {
            Trouble::Final(cause) => Err(WriteError::Failed(cause)),
            Trouble::Throttled(cause) => Err(self.given_up(None, cause)),
            Trouble::Unknown(cause) => Err(self.given_up(Some(cause.clone()), cause)),
        }
    }

    /// What a write that is not sent again comes to, whose last failure was
    /// `cause`: unknown, if any of its sendings may have arrived.
    fn given_up(&self, unknown: Option<String>, cause: String) -> WriteError {
        match unknown {
            Some(cause) => {
                self.app.meter.lost_track();
                WriteError::Unknown(cause)
            }
            None => WriteError::Busy(cause),
        }
    }

    /// One item.
    pub async fn get(&self, key: Key, read: Read) -> Result<Option<Item>, ReadError> {
        let mut patience = Patience::default();
        loop {
            self.app.meter.called(self.name, "GetItem");
            let sent = self.app.clients.dynamodb.get_item().table_name(self.name);
            let sent = sent.set_key(Some(key.clone().into_item()));
            let sent = sent.consistent_read(read == Read::Consistent);
            match sent.return_consumed_capacity(ReturnConsumedCapacity::Total).send().await {
                Ok(got) => {
                    self.app.meter.read(units(got.consumed_capacity.as_slice()));
                    return Ok(got.item);
                }
                Err(error) => self.may_read_again(&error, &mut patience).await?,
            }
        }
    }

    /// An item and, if it is asked for, another one beside it, in one call.
    pub async fn get_beside(
        &self,
        key: Key,
        beside: Option<Key>,
        read: Read,
    ) -> Result<(Option<Item>, Option<Item>), ReadError> {
        let mut keys = vec![key.clone()];
        keys.extend(beside);
        let (mut item, mut other) = (None, None);
        for found in self.batch_get(keys, read).await? {
            let place = if Key::of(&found).as_ref() == Some(&key) { &mut item } else { &mut other };
            *place = Some(found);
        }
        Ok((item, other))
    }

    /// Those of the items that exist, in any order.
    pub async fn batch_get(&self, keys: Vec<Key>, read: Read) -> Result<Vec<Item>, ReadError> {
        let batches = keys.chunks(BATCH_KEYS).map(|batch| self.get_batch(batch, read));
        Ok(all(batches).await?.into_iter().flatten().collect())
    }

    async fn get_batch(&self, keys: &[Key], read: Read) -> Result<Vec<Item>, ReadError> {
        let mut patience = Patience::default();
        let mut items = Vec::with_capacity(keys.len());
        let mut left: Vec<Item> = keys.iter().map(|key| key.clone().into_item()).collect();
        loop {
            self.app.meter.called(self.name, "BatchGetItem");
            let wanted = KeysAndAttributes::builder()
                .set_keys(Some(left.clone()))
                .consistent_read(read == Read::Consistent)
                .build()
                .map_err(|error| ReadError::Failed(error.to_string()))?;
            let sent = self.app.clients.dynamodb.batch_get_item().request_items(self.name, wanted);
            match sent.return_consumed_capacity(ReturnConsumedCapacity::Total).send().await {
                Ok(got) => {
                    self.app.meter.read(units(got.consumed_capacity()));
                    let mut responses = got.responses.unwrap_or_default();
                    items.append(&mut responses.remove(self.name).unwrap_or_default());
                    let mut unprocessed = got.unprocessed_keys.unwrap_or_default();
                    let Some(rest) = unprocessed.remove(self.name) else {
                        return Ok(items);
                    };
                    left = rest.keys;
                    if !patience.pause(self.app).await {
                        return Err(ReadError::Busy("keys were left unprocessed".into()));
                    }
                }
                Err(error) => self.may_read_again(&error, &mut patience).await?,
            }
        }
    }

    /// One page of items.
    pub async fn query(&self, query: Query) -> Result<Vec<Item>, ReadError> {
        let mut patience = Patience::default();
        let mut items = Vec::new();
        let mut start = None;
        loop {
            self.app.meter.called(self.name, "Query");
            let left = i32::try_from(query.limit - items.len()).unwrap_or(i32::MAX);
            let values = query.values.iter().map(|(name, v)| ((*name).to_owned(), v.clone()));
            let sent = self
                .app
                .clients
                .dynamodb
                .query()
                .table_name(self.name)
                .set_index_name(query.index.map(str::to_owned))
                .key_condition_expression(&query.condition)
                .set_expression_attribute_values(Some(values.collect()))
                .limit(left)
                .scan_index_forward(!query.descending)
                .consistent_read(query.consistent)
                .set_exclusive_start_key(start.clone());
            match sent.return_consumed_capacity(ReturnConsumedCapacity::Total).send().await {
                Ok(mut page) => {
                    self.app.meter.read(units(page.consumed_capacity.as_slice()));
                    items.append(&mut page.items.take().unwrap_or_default());
                    start = page.last_evaluated_key;
                    if start.is_none() || items.len() >= query.limit {
                        return Ok(items);
                    }
                }
                Err(error) => self.may_read_again(&error, &mut patience).await?,
            }
        }
    }

    async fn may_read_again<E>(
        &self,
        error: &SdkError<E>,
        patience: &mut Patience,
    ) -> Result<(), ReadError>
    where
        E: ProvideErrorMetadata + std::error::Error + 'static,
    {
        match self.trouble(error) {
            Trouble::Final(cause) => Err(ReadError::Failed(cause)),
            Trouble::Throttled(cause) | Trouble::Unknown(cause) => {
                tracing::debug!(table = self.name, cause, "reading again");
                if patience.pause(self.app).await { Ok(()) } else { Err(ReadError::Busy(cause)) }
            }
        }
    }

    /// What a failed call means, by the service's
    /// [error codes](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html).
    fn trouble<E>(&self, error: &SdkError<E>) -> Trouble
    where
        E: ProvideErrorMetadata + std::error::Error + 'static,
    {
        let SdkError::ServiceError(service) = error else {
            let cause = DisplayErrorContext(error).to_string();
            return match error {
                SdkError::ConstructionFailure(_) => Trouble::Final(cause),
                _ => Trouble::Unknown(cause),
            };
        };
        let code = service.err().code().unwrap_or("no code");
        let message = service.err().message().unwrap_or("no message");
        let cause = format!("{code}: {message}");
        match code {
            "ProvisionedThroughputExceededException"
            | "RequestLimitExceeded"
            | "ThrottlingException"
            | "TransactionConflictException" => Trouble::Throttled(cause),
            "TransactionInProgressException" => Trouble::Unknown(cause),
            "ResourceNotFoundException" => Trouble::Final(format!(
                "table {} not found: run `cargo local`, or set {} ({cause})",
                self.name, self.setting
            )),
            _ if service.raw().status().is_server_error() => Trouble::Unknown(cause),
            _ => Trouble::Final(cause),
        }
    }
}

fn cancelled(error: &SdkError<TransactWriteItemsError>) -> Option<&[CancellationReason]> {
    match error.as_service_error()? {
        TransactWriteItemsError::TransactionCanceledException(cancelled) => {
            Some(cancelled.cancellation_reasons())
        }
        _ => None,
    }
}

/// What the reasons of a cancelled transaction come to: a definite error, or
/// the cause to wait and send it again. A failed condition outweighs the rest.
fn verdict(reasons: &[CancellationReason]) -> Result<String, WriteError> {
    let at = |code: &'static str| {
        let found = reasons.iter().enumerate().filter(move |(_, r)| r.code() == Some(code));
        found.map(|(place, reason)| (place, reason.item().cloned()))
    };
    let refused: Vec<_> = at("ConditionalCheckFailed").collect();
    if !refused.is_empty() {
        return Err(WriteError::Refused(Refusals(refused)));
    }
    let held: Vec<_> = at("TransactionConflict").map(|(place, _)| place).collect();
    if !held.is_empty() {
        return Err(WriteError::Conflict(held));
    }
    let codes: Vec<_> = reasons.iter().map(|r| r.code().unwrap_or("None")).collect();
    let cause = format!("transaction cancelled: {codes:?}");
    let may_pass =
        |code: &str| matches!(code, "None" | "ThrottlingError" | "ProvisionedThroughputExceeded");
    if codes.iter().all(|code| may_pass(code)) { Ok(cause) } else { Err(WriteError::Failed(cause)) }
}

fn units(consumed: &[ConsumedCapacity]) -> f64 {
    consumed.iter().filter_map(ConsumedCapacity::capacity_units).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reasons(codes: &[&str]) -> Vec<CancellationReason> {
        codes.iter().map(|code| CancellationReason::builder().code(*code).build()).collect()
    }

    #[test]
    fn a_failed_condition_is_a_no_even_beside_a_conflict() {
        let verdict = verdict(&reasons(&["TransactionConflict", "ConditionalCheckFailed", "None"]));
        let Err(WriteError::Refused(mut refusals)) = verdict else { panic!("{verdict:?}") };
        assert!(refusals.includes(1) && !refusals.includes(0));
        assert_eq!(refusals.take(1), Some(None));
        assert_eq!(refusals.take(1), None);
    }

    #[test]
    fn a_refusal_in_a_log_shows_places_and_no_items() {
        let item = Item::from([("name".to_owned(), s("Ada"))]);
        let refused = WriteError::Refused(Refusals(vec![(0, Some(item)), (2, None)]));
        assert_eq!(refused.to_string(), "conditions failed at [0, 2]");
        assert_eq!(format!("{refused:?}"), "Refused([0, 2])");
    }

    #[test]
    fn a_conflict_names_the_items_that_were_held() {
        let verdict = verdict(&reasons(&["None", "TransactionConflict"]));
        assert!(matches!(verdict, Err(WriteError::Conflict(places)) if places == [1]));
    }

    #[test]
    fn throttling_is_waited_out_and_a_mistake_is_not() {
        assert!(verdict(&reasons(&["None", "ThrottlingError"])).is_ok());
        assert!(verdict(&reasons(&["ProvisionedThroughputExceeded"])).is_ok());
        let mistake = verdict(&reasons(&["None", "ValidationError"]));
        assert!(matches!(mistake, Err(WriteError::Failed(_))));
    }

    #[test]
    fn conditions_of_one_write_must_all_hold() {
        let write = Write::check(Key::new("a", "b")).when("x = :x").when("y = :y");
        assert_eq!(write.condition.as_deref(), Some("x = :x AND y = :y"));
    }
}
