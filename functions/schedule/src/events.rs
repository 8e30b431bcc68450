//! What a change in the table `Schedule` tells others.
//!
//! A schedule is an aggregate whose events bear its versions: 1 when it is
//! created, one more with each update, and one more than its last when it is
//! deleted. A reminder bears the version of the schedule that it reminds of.

use platform::Problem;
use platform::clock::Instant;
use platform::events::{Aggregate, Change, Event, Source, Type};
use serde_json::json;

use crate::TABLE;
use crate::keys::Kind;
use crate::reminder::Reminder;
use crate::schedule::Schedule;

/// The events of schedules.
pub const SOURCE: Source = Source { table: TABLE, translate };

fn translate(change: &Change) -> Result<Option<Event>, Problem> {
    if change.is_expiry() {
        return Ok(None);
    }
    let sk = change.key("sk").unwrap_or_default();
    match Kind::of(sk) {
        Some(Kind::Schedule) => of_schedule(change).map(Some),
        Some(Kind::Reminder) => of_reminder(change),
        Some(Kind::Calendar | Kind::KeptAnswer) => Ok(None),
        None => Err(Problem::internal(format!("a change of an unknown item {sk:?}"))),
    }
}

fn of_schedule(change: &Change) -> Result<Event, Problem> {
    let (before, after) = (change.before::<Schedule>()?, change.after::<Schedule>()?);
    match (before, after) {
        (None, Some(created)) => Ok(about(Type::ScheduleCreated, &created)),
        (Some(_), Some(updated)) => Ok(about(Type::ScheduleUpdated, &updated)),
        (Some(last), None) => {
            // DynamoDB's clock tells seconds: the end of this one is later than
            // whatever happened in it before, a reminder for one.
            let next = Instant::from_millis(last.updated_at_ms + 1);
            let deleted_at = change.made_at().map_or(next, |at| at.plus_millis(999).max(next));
            let deleted = Schedule {
                version: last.version + 1,
                updated_at_ms: deleted_at.as_millis(),
                ..last
            };
            Ok(about(Type::ScheduleDeleted, &deleted))
        }
        (None, None) => Err(Problem::internal("a change of a schedule without images")),
    }
}

fn about(kind: Type, schedule: &Schedule) -> Event {
    Event {
        r#type: kind,
        aggregate: Aggregate::Schedule,
        aggregate_id: schedule.schedule_id.to_string(),
        version: schedule.version,
        occurred_at: Instant::from_millis(schedule.updated_at_ms),
        member_id: schedule.member_id.clone(),
        payload: json!({
            "title": schedule.title,
            "startTime": Instant::from_millis(schedule.starts_at_ms),
            "endTime": Instant::from_millis(schedule.ends_at_ms),
            "progressStatus": schedule.progress_status,
        }),
    }
}

fn of_reminder(change: &Change) -> Result<Option<Event>, Problem> {
    let (before, after) = (change.before::<Reminder>()?, change.after::<Reminder>()?);
    let Some(reminder) = after else {
        return Ok(None);
    };
    let sent_before = before.and_then(|before| before.fired_at_ms);
    let Some(fired_at_ms) = reminder.fired_at_ms.filter(|_| sent_before.is_none()) else {
        return Ok(None);
    };
    Ok(Some(Event {
        r#type: Type::ScheduleReminder,
        aggregate: Aggregate::Schedule,
        aggregate_id: reminder.schedule_id.to_string(),
        version: reminder.version,
        occurred_at: Instant::from_millis(fired_at_ms),
        member_id: reminder.member_id,
        payload: json!({
            "title": reminder.title,
            "startTime": Instant::from_millis(reminder.schedule_starts_at_ms),
        }),
    }))
}

#[cfg(test)]
mod tests {
    use platform::table::Key;
    use serde::Serialize;
    use serde_json::Value;

    use super::*;
    use crate::ids::ScheduleId;
    use crate::keys;
    use crate::schedule::ProgressStatus;

    const ID: &str = "01941f29-7c00-7000-8000-000000000001";
    const AT_MS: i64 = 1_893_456_000_500;
    /// The second in which DynamoDB made the change.
    const MADE_AT_S: i64 = 1_893_456_000;

    fn id() -> ScheduleId {
        ID.parse().unwrap()
    }

    fn schedule(version: u64) -> Schedule {
        Schedule {
            schedule_id: id(),
            member_id: "m-1".to_owned(),
            version,
            updated_at_ms: AT_MS,
            change_id: "c".to_owned(),
            starts_at_ms: AT_MS + 3_600_000,
            ends_at_ms: AT_MS + 7_200_000,
            title: "Dentist".to_owned(),
            contents: "What nobody else need know".to_owned(),
            progress_status: ProgressStatus::InProgress,
            remind_before_minutes: Some(30),
        }
    }

    /// A stream record of the change from one image to the other.
    fn change<T: Serialize>(key: &Key, before: Option<&T>, after: Option<&T>) -> Value {
        let image = |value: &T| {
            let item: serde_dynamo::Item = serde_dynamo::to_item(value).unwrap();
            json!(item)
        };
        json!({
            "eventID": "e-1",
            "eventSourceARN": "arn:aws:dynamodb:us-east-1:000000000000:table/Schedule/stream/x",
            "dynamodb": {
                "ApproximateCreationDateTime": MADE_AT_S,
                "Keys": { "pk": { "S": key.pk }, "sk": { "S": key.sk } },
                "OldImage": before.map(image),
                "NewImage": after.map(image),
            },
        })
    }

    fn of_schedules(before: Option<&Schedule>, after: Option<&Schedule>) -> Value {
        change(&keys::schedule("m-1", &id()), before, after)
    }

    fn event(record: Value) -> Option<Event> {
        (SOURCE.translate)(&Change::from_record(record)).unwrap()
    }

    #[test]
    fn the_life_of_a_schedule_is_told_in_order() {
        let (first, second) = (schedule(1), schedule(2));
        let created = event(of_schedules(None, Some(&first))).unwrap();
        let updated = event(of_schedules(Some(&first), Some(&second))).unwrap();
        let deleted = event(of_schedules(Some(&second), None)).unwrap();
        assert_eq!(
            serde_json::to_value(&created).unwrap(),
            json!({
                "type": "SCHEDULE_CREATED",
                "aggregate": "schedule",
                "aggregateId": ID,
                "version": 1,
                "occurredAt": "2030-01-01T00:00:00.5Z",
                "memberId": "m-1",
                "payload": {
                    "title": "Dentist",
                    "startTime": "2030-01-01T01:00:00.5Z",
                    "endTime": "2030-01-01T02:00:00.5Z",
                    "progressStatus": "IN_PROGRESS",
                },
            })
        );
        assert_eq!((updated.r#type, updated.version), (Type::ScheduleUpdated, 2));
        assert_eq!((deleted.r#type, deleted.version), (Type::ScheduleDeleted, 3));
        assert_eq!(deleted.payload, updated.payload);
        assert_eq!(deleted.group(), format!("schedule-{ID}"));
    }

    #[test]
    fn a_deletion_is_later_than_the_last_update() {
        let last = schedule(2);
        let deleted_at_ms = |made_at_s: i64| {
            let mut record = of_schedules(Some(&last), None);
            record["dynamodb"]["ApproximateCreationDateTime"] = json!(made_at_s);
            event(record).unwrap().occurred_at.as_millis()
        };
        assert_eq!(deleted_at_ms(MADE_AT_S), MADE_AT_S * 1000 + 999);
        assert_eq!(deleted_at_ms(MADE_AT_S + 7), (MADE_AT_S + 7) * 1000 + 999);
        assert_eq!(deleted_at_ms(MADE_AT_S - 7), AT_MS + 1, "their clock is behind");
    }

    fn reminder(fired_at_ms: Option<i64>) -> Value {
        json!({
            "schedule_id": ID,
            "member_id": "m-1",
            "version": 4,
            "title": "Dentist",
            "schedule_starts_at_ms": AT_MS + 3_600_000,
            "due_at_ms": AT_MS,
            "fired_at_ms": fired_at_ms,
        })
    }

    fn of_reminders(before: Option<&Value>, after: Option<&Value>) -> Value {
        change(&keys::reminder("m-1", &id()), before, after)
    }

    #[test]
    fn a_reminder_is_told_when_it_is_sent_and_only_then() {
        let (waits, sent) = (reminder(None), reminder(Some(AT_MS + 5)));
        let told = event(of_reminders(Some(&waits), Some(&sent))).unwrap();
        assert_eq!(
            serde_json::to_value(&told).unwrap(),
            json!({
                "type": "SCHEDULE_REMINDER",
                "aggregate": "schedule",
                "aggregateId": ID,
                "version": 4,
                "occurredAt": "2030-01-01T00:00:00.505Z",
                "memberId": "m-1",
                "payload": { "title": "Dentist", "startTime": "2030-01-01T01:00:00.5Z" },
            })
        );
        for (before, after) in [
            (None, Some(&waits)),
            (Some(&waits), Some(&waits)),
            (Some(&sent), Some(&sent)),  // renamed
            (Some(&sent), Some(&waits)), // set anew
            (Some(&waits), None),
            (Some(&sent), None),
        ] {
            assert_eq!(event(of_reminders(before, after)), None);
        }
    }

    #[test]
    fn side_items_and_what_only_expired_are_not_told() {
        let calendar = json!({ "version": 1 });
        let record = change(&keys::calendar("m-1"), None, Some(&calendar));
        assert_eq!(event(record), None);
        let kept = json!({ "request_hash": "x", "status": 201, "answer": "{}" });
        let kept_key = || Key::new("IDEMPOTENCY#m-1#create-schedule#k", "IDEMPOTENCY");
        assert_eq!(event(change(&kept_key(), None, Some(&kept))), None);
        for record in
            [change(&kept_key(), Some(&kept), None), of_schedules(Some(&schedule(1)), None)]
        {
            let mut expired = record;
            expired["userIdentity"] =
                json!({ "principalId": "dynamodb.amazonaws.com", "type": "Service" });
            assert_eq!(event(expired), None);
        }
    }

    #[test]
    fn what_cannot_be_understood_is_an_error() {
        let good = of_schedules(None, Some(&schedule(1)));
        let mut bad = Vec::new();
        let mut unreadable = good.clone();
        unreadable["dynamodb"]["NewImage"]["version"] = json!({ "S": "one" });
        bad.push(unreadable);
        let mut incomplete = good.clone();
        incomplete["dynamodb"]["NewImage"].as_object_mut().unwrap().remove("title");
        bad.push(incomplete);
        let mut unknown = good.clone();
        unknown["dynamodb"]["Keys"]["sk"] = json!({ "S": "SOMETHING#1" });
        bad.push(unknown);
        let mut without_key = good;
        without_key["dynamodb"]["Keys"] = Value::Null;
        bad.push(without_key);
        bad.push(of_schedules(None, None));
        bad.push(of_reminders(None, Some(&json!({ "version": 1 }))));
        bad.push(json!({}));
        for record in bad {
            let change = Change::from_record(record);
            assert!((SOURCE.translate)(&change).is_err(), "{change:?}");
        }
    }
}
