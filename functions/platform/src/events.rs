//! Events: what a change in a table tells others, and the batches that carry it.
//!
//! A stream hands a function batches of [`Change`]s, a queue batches of
//! [`Message`]s. Each record is read on its own, so that one that cannot be
//! read spoils no other; what a function could not do it names in [`Failures`],
//! and those come again.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::app::App;
use crate::clock::Instant;
use crate::problem::Problem;
use crate::table::TableName;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Type {
    /// A schedule was created.
    ScheduleCreated,
    /// A schedule was changed.
    ScheduleUpdated,
    /// A schedule was deleted.
    ScheduleDeleted,
    /// A schedule is about to begin.
    ScheduleReminder,
    /// A student got a seat in a course.
    Enrolled,
    /// A student gave a seat back.
    Dropped,
    /// Seats were ordered.
    OrderPlaced,
    /// An order was paid.
    OrderPaid,
    /// An order was cancelled.
    OrderCancelled,
    /// Money has to go back.
    OrderRefundDue,
    /// An announcement that somebody marked is about to close.
    AnnouncementClosing,
}

impl Type {
    /// Its name, as in `SCHEDULE_CREATED`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ScheduleCreated => "SCHEDULE_CREATED",
            Self::ScheduleUpdated => "SCHEDULE_UPDATED",
            Self::ScheduleDeleted => "SCHEDULE_DELETED",
            Self::ScheduleReminder => "SCHEDULE_REMINDER",
            Self::Enrolled => "ENROLLED",
            Self::Dropped => "DROPPED",
            Self::OrderPlaced => "ORDER_PLACED",
            Self::OrderPaid => "ORDER_PAID",
            Self::OrderCancelled => "ORDER_CANCELLED",
            Self::OrderRefundDue => "ORDER_REFUND_DUE",
            Self::AnnouncementClosing => "ANNOUNCEMENT_CLOSING",
        }
    }
}

/// The kind of thing that an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Aggregate {
    /// A schedule, by its id.
    Schedule,
    /// A student's plan, by the student's id.
    Student,
    /// An order, by its id.
    Order,
    /// An announcement, by its id.
    Announcement,
}

impl Aggregate {
    /// Its name, as in `schedule`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Schedule => "schedule",
            Self::Student => "student",
            Self::Order => "order",
            Self::Announcement => "announcement",
        }
    }
}

/// Something that happened, for the member whom it concerns. It holds nothing
/// that the change's author did not list, and no personal data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// What happened.
    pub r#type: Type,
    /// To what kind of thing.
    pub aggregate: Aggregate,
    /// To which one: letters, digits, `-` and `_`.
    pub aggregate_id: String,
    /// The thing's version after it happened: events of one thing are in order
    /// of their versions.
    pub version: u64,
    /// When.
    pub occurred_at: Instant,
    /// Whom it concerns.
    pub member_id: String,
    /// More about it.
    pub payload: Value,
}

impl Event {
    /// The thing it is about, as the group of its messages: a queue keeps the
    /// order within a group, and so hands over one after the other. Of an
    /// announcement many members hear at once, so each of them is a group.
    pub fn group(&self) -> String {
        let of = match self.aggregate {
            Aggregate::Schedule | Aggregate::Student | Aggregate::Order => &self.aggregate_id,
            Aggregate::Announcement => &self.member_id,
        };
        format!("{}-{of}", self.aggregate.as_str())
    }
}

/// A table whose changes become events.
#[derive(Clone, Copy)]
pub struct Source {
    /// The table.
    pub table: TableName,
    /// What a change of it tells others: nothing, if it is of a side item. An
    /// error means that the change cannot be understood.
    pub translate: fn(&Change) -> Result<Option<Event>, Problem>,
}

impl Source {
    /// Whether `change` is of this table.
    pub fn is_of(&self, app: &App, change: &Change) -> bool {
        let TableName { setting, default } = self.table;
        change.table() == Some(app.setting(setting).unwrap_or(default))
    }
}

/// One change of one item, as a stream has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    record: Value,
}

impl Change {
    /// The changes of an invocation.
    pub(crate) fn all_of(event: Value) -> Result<Vec<Self>, Problem> {
        Ok(records(event)?.into_iter().map(Self::from_record).collect())
    }

    /// A change from its
    /// [record](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_Record.html)
    /// as Lambda hands it over.
    pub fn from_record(record: Value) -> Self {
        Self { record }
    }

    /// The whole record.
    pub fn record(&self) -> &Value {
        &self.record
    }

    /// The record's id: the same each time it is handed over.
    pub fn id(&self) -> Option<&str> {
        self.record["eventID"].as_str()
    }

    /// Its place in the stream.
    pub fn sequence_number(&self) -> Option<&str> {
        self.record["dynamodb"]["SequenceNumber"].as_str()
    }

    /// The name of the table, from the stream's ARN.
    pub fn table(&self) -> Option<&str> {
        let (_, path) = self.record["eventSourceARN"].as_str()?.split_once(":table/")?;
        path.split('/').next()
    }

    /// Part of the item's key.
    pub fn key(&self, name: &str) -> Option<&str> {
        self.record["dynamodb"]["Keys"][name]["S"].as_str()
    }

    /// Whether the item was removed because its time was over: by DynamoDB, and
    /// so by nobody whom it concerns
    /// ([source](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/time-to-live-ttl-streams.html)).
    pub fn is_expiry(&self) -> bool {
        self.record["userIdentity"]["principalId"] == "dynamodb.amazonaws.com"
    }

    /// When the change was made, to the second, by DynamoDB's clock.
    pub fn made_at(&self) -> Option<Instant> {
        let at_s = self.record["dynamodb"]["ApproximateCreationDateTime"].as_f64()?;
        #[expect(clippy::cast_possible_truncation, reason = "from_millis takes any number")]
        let at_ms = (at_s * 1000.0) as i64;
        Some(Instant::from_millis(at_ms))
    }

    /// The item before the change, if there was one.
    pub fn before<T: DeserializeOwned>(&self) -> Result<Option<T>, Problem> {
        self.image("OldImage")
    }

    /// The item after the change, if there is one.
    pub fn after<T: DeserializeOwned>(&self) -> Result<Option<T>, Problem> {
        self.image("NewImage")
    }

    fn image<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, Problem> {
        let unreadable = |error: &dyn std::fmt::Display| {
            Problem::internal(format!("{name} of a stream record: {error}"))
        };
        let image = &self.record["dynamodb"][name];
        if image.is_null() {
            return Ok(None);
        }
        let item = serde_dynamo::Item::deserialize(image).map_err(|error| unreadable(&error))?;
        serde_dynamo::from_item(item).map(Some).map_err(|error| unreadable(&error))
    }
}

/// One message of a queue.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// The message's id.
    pub message_id: String,
    /// What was sent.
    pub body: String,
    #[serde(default)]
    attributes: Value,
}

impl Message {
    /// The messages of an invocation.
    fn read(record: Value) -> Result<Self, Problem> {
        serde_json::from_value(record)
            .map_err(|error| Problem::internal(format!("a message of a queue: {error}")))
    }

    pub(crate) fn all_of(event: Value) -> Result<Vec<Self>, Problem> {
        records(event)?.into_iter().map(Self::read).collect()
    }

    /// The group, in a FIFO queue: order holds within it.
    pub fn group(&self) -> Option<&str> {
        self.attributes["MessageGroupId"].as_str()
    }
}

fn records(mut event: Value) -> Result<Vec<Value>, Problem> {
    match event["Records"].take() {
        Value::Array(records) => Ok(records),
        _ => Err(Problem::internal("an event without Records")),
    }
}

/// What a batch leaves to be done again: sequence numbers of a stream, message
/// ids of a queue. None, if all is done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failures(Vec<String>);

impl Failures {
    /// A record or message that must come again.
    pub fn add(&mut self, identifier: impl Into<String>) {
        self.0.push(identifier.into());
    }

    /// Which.
    pub fn identifiers(&self) -> &[String] {
        &self.0
    }

    /// The answer that Lambda's event sources take.
    pub(crate) fn to_json(&self) -> Result<Value, Problem> {
        let failures = self.0.iter().map(|id| json!({ "itemIdentifier": id }));
        Ok(json!({ "batchItemFailures": failures.collect::<Vec<_>>() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Value {
        json!({
            "eventID": "e-1",
            "eventName": "MODIFY",
            "eventSourceARN":
                "arn:aws:dynamodb:us-east-1:000000000000:table/Things/stream/2030-01-01T00:00:00.000",
            "dynamodb": {
                "ApproximateCreationDateTime": 1_893_456_000.0,
                "Keys": { "pk": { "S": "a" }, "sk": { "S": "b" } },
                "NewImage": { "pk": { "S": "a" }, "version": { "N": "2" } },
                "SequenceNumber": "111",
            },
        })
    }

    #[derive(Deserialize, PartialEq, Debug)]
    struct Thing {
        version: u64,
    }

    #[test]
    fn a_change_is_read_from_its_record() {
        let change = Change::from_record(record());
        assert_eq!((change.id(), change.sequence_number()), (Some("e-1"), Some("111")));
        assert_eq!((change.table(), change.key("sk")), (Some("Things"), Some("b")));
        assert_eq!(change.made_at().unwrap().to_string(), "2030-01-01T00:00:00Z");
        assert_eq!(change.after::<Thing>().unwrap(), Some(Thing { version: 2 }));
        assert_eq!(change.before::<Thing>().unwrap(), None);
        assert!(!change.is_expiry());
    }

    #[test]
    fn an_image_that_cannot_be_read_is_an_error_and_not_nothing() {
        let mut record = record();
        record["dynamodb"]["NewImage"]["version"] = json!({ "S": "two" });
        assert!(Change::from_record(record.clone()).after::<Thing>().is_err());
        record["dynamodb"]["NewImage"] = json!("x");
        assert!(Change::from_record(record).after::<Thing>().is_err());
    }

    #[test]
    fn names_are_what_json_has() {
        for kind in [Type::ScheduleCreated, Type::OrderRefundDue, Type::Enrolled] {
            assert_eq!(json!(kind), kind.as_str());
        }
        for aggregate in [Aggregate::Schedule, Aggregate::Student, Aggregate::Announcement] {
            assert_eq!(json!(aggregate), aggregate.as_str());
        }
    }

    #[test]
    fn a_batch_without_records_is_an_error() {
        assert!(Change::all_of(json!({})).is_err());
        assert!(Message::all_of(json!({ "Records": [{}] })).is_err());
        assert_eq!(Change::all_of(json!({ "Records": [] })).unwrap(), []);
    }

    #[test]
    fn failures_are_named_as_event_sources_take_them() {
        let mut failures = Failures::default();
        failures.add("111");
        let expected = json!({ "batchItemFailures": [{ "itemIdentifier": "111" }] });
        assert_eq!(failures.to_json().unwrap(), expected);
    }
}
