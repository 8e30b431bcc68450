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
            // DynamoDB's clock tells seconds: what happened before may look later.
            let next = Instant::from_millis(last.updated_at_ms + 1);
            let deleted_at = change.made_at().map_or(next, |at| at.max(next));
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
