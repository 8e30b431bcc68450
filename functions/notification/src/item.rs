//! A notification, as the table keeps it and as a member reads it.

use platform::Problem;
use platform::clock::Instant;
use platform::events::{Event, Type};
use platform::table::{self, Item};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::keys;

/// How long a notification is kept, in milliseconds: 90 days.
pub const KEPT_MS: i64 = 90 * 24 * 60 * 60 * 1000;

/// A notification.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Notification {
    /// Its id, and the end of its key.
    pub id: String,
    /// What happened.
    pub r#type: Type,
    /// To which thing.
    pub aggregate_id: String,
    /// The thing's version after it.
    pub version: u64,
    /// When.
    pub occurred_at_ms: i64,
    /// More about it, in JSON.
    pub payload: String,
    /// When the member read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_at_ms: Option<i64>,
    /// When it may be removed.
    pub expires_at_s: i64,
}

/// A notification as JSON.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct View {
    id: String,
    r#type: Type,
    aggregate_id: String,
    version: u64,
    occurred_at: Instant,
    /// More about it, by its type.
    payload: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    read_at: Option<Instant>,
}

/// A notification in the document's examples.
pub(crate) fn example() -> Value {
    json!({
        "id": "001893456000000-0000000002-0f1e2d3c4b5a69788796a5b4c3d2e1f0",
        "type": "ENROLLED",
        "aggregateId": "1",
        "version": 2,
        "occurredAt": "2030-01-01T00:00:00Z",
        "payload": { "studentId": 1, "courseId": 1, "term": "default" },
        "readAt": "2030-01-01T00:05:00Z",
    })
}

impl Notification {
    /// What `event`, which the record `record_id` told of, leaves in an inbox.
    pub fn of(event: &Event, record_id: &str) -> Self {
        let Event { r#type, aggregate_id, version, occurred_at, payload, .. } = event;
        Self {
            id: keys::notification_id(*occurred_at, *version, record_id),
            r#type: *r#type,
            aggregate_id: aggregate_id.clone(),
            version: *version,
            occurred_at_ms: occurred_at.as_millis(),
            payload: payload.to_string(),
            read_at_ms: None,
            expires_at_s: occurred_at.plus_millis(KEPT_MS).as_seconds(),
        }
    }

    /// Reads an item.
    pub fn from_item(item: Item) -> Result<Self, Problem> {
        table::read(item)
    }

    /// The item, in the inbox of `member_id`.
    pub fn to_item(&self, member_id: &str) -> Result<Item, Problem> {
        table::item(keys::notification(member_id, &self.id), self)
    }

    /// Whether its time is not over at `now`.
    pub fn is_kept(&self, now: Instant) -> bool {
        self.expires_at_s > now.as_seconds()
    }

    /// What the member gets to see.
    pub fn into_view(self) -> Result<View, Problem> {
        Ok(View {
            id: self.id,
            r#type: self.r#type,
            aggregate_id: self.aggregate_id,
            version: self.version,
            occurred_at: Instant::from_millis(self.occurred_at_ms),
            payload: serde_json::from_str(&self.payload).map_err(Problem::internal)?,
            read_at: self.read_at_ms.map(Instant::from_millis),
        })
    }
}
