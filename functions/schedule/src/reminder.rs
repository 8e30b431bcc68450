//! Reminders: one for each schedule that asks for it.
//!
//! A reminder is due some minutes before its schedule begins. If that is over
//! when it is set, it is due at once; but if the schedule itself has begun, it
//! is kept and never sent, since nobody wants to be told of the past. Once it is
//! set it is sent, however late.

use platform::clock::Instant;
use platform::table::{Item, Key, Write, WriteError, item, n, s};
use platform::{App, Problem};
use serde::{Deserialize, Serialize};

use crate::ids::ScheduleId;
use crate::schedule::Schedule;
use crate::{TABLE, keys};

const MINUTE_MS: i64 = 60 * 1000;

/// A reminder, as the table keeps it. While it has keys in the index, it waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reminder {
    /// The schedule.
    pub schedule_id: ScheduleId,
    /// Whose it is.
    pub member_id: String,
    /// The schedule's version.
    pub version: u64,
    /// The schedule's title.
    pub title: String,
    /// When the schedule begins. Named unlike the schedule's own, which would
    /// put the reminder into the local index.
    pub schedule_starts_at_ms: i64,
    /// When the reminder is to be sent.
    pub due_at_ms: i64,
    /// When it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fired_at_ms: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    index1_pk: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    index1_sk: Option<String>,
}

impl Reminder {
    /// The reminder that `schedule` asks for, set at `now`.
    fn of(schedule: &Schedule, now: Instant) -> Option<Self> {
        let before_ms = i64::from(schedule.remind_before_minutes?) * MINUTE_MS;
        let id = &schedule.schedule_id;
        // Before 1970 is before now, however long.
        let due_at_ms = (schedule.starts_at_ms - before_ms).max(0);
        let waits = schedule.starts_at_ms >= now.as_millis();
        Some(Self {
            schedule_id: id.clone(),
            member_id: schedule.member_id.clone(),
            version: schedule.version,
            title: schedule.title.clone(),
            schedule_starts_at_ms: schedule.starts_at_ms,
            due_at_ms,
            fired_at_ms: None,
            index1_pk: waits.then(|| keys::due_partition_of(id)),
            index1_sk: waits.then(|| keys::due_position(due_at_ms, id)),
        })
    }

    fn to_item(&self) -> Result<Item, Problem> {
        item(keys::reminder(&self.member_id, &self.schedule_id), self)
    }
}

/// The write that sets the reminder of `schedule`, if it asks for one.
pub fn set(schedule: &Schedule, now: Instant) -> Result<Option<Write>, Problem> {
    let reminder = Reminder::of(schedule, now);
    reminder.map(|reminder| Ok(Write::put(reminder.to_item()?))).transpose()
}

/// The write that makes the reminder of `seen` that of `changed`. One that is
/// due at another time is set anew, even if it was sent; else it goes on
/// waiting, or stays sent, which somebody else may just be doing.
pub fn change(seen: &Schedule, changed: &Schedule, now: Instant) -> Result<Option<Write>, Problem> {
    let timing = |s: &Schedule| s.remind_before_minutes.map(|before| (s.starts_at_ms, before));
    match (timing(seen), timing(changed)) {
        (None, None) => Ok(None),
        (Some(_), None) => Ok(Some(delete(&changed.member_id, &changed.schedule_id))),
        (before, after) if before != after => set(changed, now),
        _ => {
            let key = keys::reminder(&changed.member_id, &changed.schedule_id);
            let rename = Write::update(key, "SET title = :title, version = :version")
                .when("attribute_exists(pk)")
                .bind(":title", s(&changed.title))
                .bind(":version", n(changed.version));
            Ok(Some(rename))
        }
    }
}

/// The write that deletes a schedule's reminder, if it has one.
pub fn delete(member_id: &str, id: &ScheduleId) -> Write {
    Write::delete(keys::reminder(member_id, id))
}

/// A reminder that waits, as the index has it: nothing but keys.
#[derive(Clone, Debug)]
pub struct Waiting {
    key: Key,
    due_at_ms: i64,
}

impl Waiting {
    /// What an item of the index says.
    pub fn of(item: &Item) -> Result<Self, Problem> {
        let position = item.get("index1_sk").and_then(|position| position.as_s().ok());
        let due_at_ms = position.and_then(|position| keys::parse_due_position(position));
        let waiting = Key::of(item).zip(due_at_ms).map(|(key, due_at_ms)| Self { key, due_at_ms });
        waiting.ok_or_else(|| Problem::internal(format!("in the index: {position:?}")))
    }

    /// The write that sends it, if it still waits for the time that the index
    /// has. The index lags: it may have been sent, moved or deleted.
    fn fire(&self, now: Instant) -> Write {
        let fire = "SET fired_at_ms = :now REMOVE index1_pk, index1_sk";
        Write::update(self.key.clone(), fire)
            .when("due_at_ms = :due AND attribute_exists(index1_pk)")
            .bind(":now", n(now.as_millis()))
            .bind(":due", n(self.due_at_ms))
    }

    /// Sends it. Whether it was this call that did.
    pub async fn send(&self, app: &App) -> Result<bool, Problem> {
        match app.table(TABLE).commit(vec![self.fire(app.clock.now())]).await {
            Ok(()) => Ok(true),
            Err(WriteError::Refused(_)) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::ProgressStatus;

    const NOW: i64 = 1_893_456_000_000;

    fn schedule(starts_at_ms: i64, before: Option<u32>) -> Schedule {
        Schedule {
            schedule_id: "01941f29-7c00-7000-8000-000000000001".parse().unwrap(),
            member_id: "m".to_owned(),
            version: 1,
            updated_at_ms: NOW,
            change_id: "c".to_owned(),
            starts_at_ms,
            ends_at_ms: starts_at_ms + MINUTE_MS,
            title: "Dentist".to_owned(),
            contents: String::new(),
            progress_status: ProgressStatus::Planned,
            remind_before_minutes: before,
        }
    }

    fn set_now(starts_at_ms: i64, before: Option<u32>) -> Option<Reminder> {
        Reminder::of(&schedule(starts_at_ms, before), Instant::from_millis(NOW))
    }

    #[test]
    fn a_reminder_is_due_so_long_before_the_start() {
        let reminder = set_now(NOW + 90 * MINUTE_MS, Some(60)).unwrap();
        assert_eq!(reminder.due_at_ms, NOW + 30 * MINUTE_MS);
        let position = reminder.index1_sk.unwrap();
        assert_eq!(keys::parse_due_position(&position), Some(reminder.due_at_ms));
        assert_eq!(set_now(NOW, None), None);
    }

    #[test]
    fn it_waits_unless_the_schedule_has_begun() {
        let waits =
            |starts_at_ms, before| set_now(starts_at_ms, before).unwrap().index1_pk.is_some();
        assert!(waits(NOW + 1, Some(40_320)));
        assert!(waits(NOW, Some(0)));
        assert!(!waits(NOW - 1, Some(0)));
        assert!(!waits(-1_000_000, Some(40_320)));
    }

    #[test]
    fn what_the_index_has_is_read_or_named() {
        let reminder = set_now(NOW, Some(5)).unwrap();
        let item = reminder.to_item().unwrap();
        let waiting = Waiting::of(&item).unwrap();
        assert_eq!(
            (waiting.key.sk.as_str(), waiting.due_at_ms),
            ("REMINDER#01941f29-7c00-7000-8000-000000000001", NOW - 5 * MINUTE_MS,)
        );
        for missing in ["pk", "sk", "index1_sk"] {
            let mut item = item.clone();
            item.remove(missing);
            assert!(Waiting::of(&item).is_err(), "{missing}");
        }
    }
}
