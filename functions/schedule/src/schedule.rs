//! A schedule: as the table keeps it, and as JSON.

use platform::clock::Instant;
use platform::table::{Item, Write, item, n};
use platform::{Problem, Reply};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::ids::ScheduleId;
use crate::keys;
use crate::wanted::Wanted;

/// How far it has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE", try_from = "String")]
pub enum ProgressStatus {
    /// Not begun.
    #[default]
    Planned,
    /// Begun.
    InProgress,
    /// Done.
    Completed,
}

/// Text that is no progress status.
#[derive(Debug, thiserror::Error)]
#[error("expected PLANNED, IN_PROGRESS or COMPLETED")]
pub struct NotAStatus;

/// From a plain string alone: by itself serde also takes `{"PLANNED": null}`.
impl TryFrom<String> for ProgressStatus {
    type Error = NotAStatus;

    fn try_from(text: String) -> Result<Self, NotAStatus> {
        match text.as_str() {
            "PLANNED" => Ok(Self::Planned),
            "IN_PROGRESS" => Ok(Self::InProgress),
            "COMPLETED" => Ok(Self::Completed),
            _ => Err(NotAStatus),
        }
    }
}

/// A schedule, as the table keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// Its id.
    pub schedule_id: ScheduleId,
    /// Whose it is.
    pub member_id: String,
    /// 1 at first, and one more with each change.
    pub version: u64,
    /// When it got this version. Later than the one before, whatever the
    /// clocks say.
    pub updated_at_ms: i64,
    /// The request that wrote this version, so that it knows its own write.
    pub change_id: String,
    /// Its first millisecond, and its key in the local index.
    pub starts_at_ms: i64,
    /// The first millisecond after it.
    pub ends_at_ms: i64,
    /// Its title.
    pub title: String,
    /// What it says beside.
    pub contents: String,
    /// How far it has come.
    pub progress_status: ProgressStatus,
    /// How long before its start its member is reminded, if at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remind_before_minutes: Option<u32>,
}

/// A schedule as JSON.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct View<'a> {
    id: &'a ScheduleId,
    title: &'a str,
    contents: &'a str,
    start_time: Instant,
    end_time: Instant,
    progress_status: ProgressStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    remind_before_minutes: Option<u32>,
    version: u64,
}

/// A schedule in the document's examples.
pub(crate) fn example() -> Value {
    json!({
        "id": "01941f29-7c00-7000-8000-000000000001",
        "title": "Dentist",
        "contents": "",
        "startTime": "2030-01-01T09:00:00Z",
        "endTime": "2030-01-01T10:00:00Z",
        "progressStatus": "PLANNED",
        "remindBeforeMinutes": 60,
        "version": 3,
    })
}

impl Schedule {
    /// A new schedule of a member.
    pub fn new(schedule_id: ScheduleId, member_id: &str, wanted: Wanted, now: Instant) -> Self {
        Self {
            change_id: schedule_id.to_string(),
            schedule_id,
            member_id: member_id.to_owned(),
            version: 1,
            updated_at_ms: now.as_millis(),
            starts_at_ms: wanted.starts_at.as_millis(),
            ends_at_ms: wanted.ends_at.as_millis(),
            title: wanted.title,
            contents: wanted.contents,
            progress_status: wanted.progress_status,
            remind_before_minutes: wanted.remind_before_minutes,
        }
    }

    /// The next version of this schedule, as wanted by the request `change_id`.
    pub fn changed(&self, wanted: Wanted, change_id: &str, now: Instant) -> Self {
        Self {
            change_id: change_id.to_owned(),
            version: self.version + 1,
            updated_at_ms: now.as_millis().max(self.updated_at_ms + 1),
            ..Self::new(self.schedule_id.clone(), &self.member_id, wanted, now)
        }
    }

    /// Whether a member sees no difference but in the version.
    pub fn says_the_same_as(&self, other: &Self) -> bool {
        let Self { version, updated_at_ms, change_id, .. } = other.clone();
        *other == Self { version, updated_at_ms, change_id, ..self.clone() }
    }

    /// Whether it takes up all the time that `other` does.
    pub fn covers(&self, other: &Self) -> bool {
        self.starts_at_ms <= other.starts_at_ms && other.ends_at_ms <= self.ends_at_ms
    }

    /// The item in the table.
    pub fn to_item(&self) -> Result<Item, Problem> {
        item(keys::schedule(&self.member_id, &self.schedule_id), self)
    }

    /// The write that puts it where there is none.
    pub fn create(&self) -> Result<Write, Problem> {
        Ok(Write::put(self.to_item()?).when("attribute_not_exists(pk)"))
    }

    /// The write that puts it in the place of `seen`.
    pub fn replace(&self, seen: &Self) -> Result<Write, Problem> {
        let write = Write::put(self.to_item()?).when("version = :seen");
        Ok(write.bind(":seen", n(seen.version)))
    }

    /// It as JSON.
    pub fn view(&self) -> View<'_> {
        View {
            id: &self.schedule_id,
            title: &self.title,
            contents: &self.contents,
            start_time: Instant::from_millis(self.starts_at_ms),
            end_time: Instant::from_millis(self.ends_at_ms),
            progress_status: self.progress_status,
            remind_before_minutes: self.remind_before_minutes,
            version: self.version,
        }
    }

    /// 200 with it.
    pub fn reply(&self) -> Result<Reply, Problem> {
        Ok(Reply::ok(&self.view())?.etag(self.version))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_status_is_a_plain_string_and_is_read_as_it_is_written() {
        for status in
            [ProgressStatus::Planned, ProgressStatus::InProgress, ProgressStatus::Completed]
        {
            let json = json!(status);
            assert!(json.is_string());
            assert_eq!(serde_json::from_value::<ProgressStatus>(json).unwrap(), status);
        }
        for bad in [json!("planned"), json!(""), json!(0), json!({ "PLANNED": null })] {
            assert!(serde_json::from_value::<ProgressStatus>(bad.clone()).is_err(), "{bad}");
        }
    }
}
