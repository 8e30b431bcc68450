//! What a change of the table tells others: that a student enrolled or dropped.
//!
//! Both are read from the student's plan, which every such transaction changes
//! and which knows its member. The seats and the enrollment beside it say
//! nothing more.

use platform::Problem;
use platform::clock::Instant;
use platform::events::{Aggregate, Change, Event, Source, Type};
use serde_json::json;

use crate::TABLE;
use crate::ids::CourseId;
use crate::plan::Plan;

/// The changes of plans, as events.
pub const SOURCE: Source = Source { table: TABLE, translate };

fn translate(change: &Change) -> Result<Option<Event>, Problem> {
    if !change.key("sk").is_some_and(|sk| sk.starts_with("PLAN#")) {
        return Ok(None);
    }
    let (Some(before), Some(after)) = (change.before::<Plan>()?, change.after::<Plan>()?) else {
        return Ok(None); // a plan begins empty, and is never removed
    };
    let enrolled = after.courses.difference(&before.courses).next();
    let dropped = before.courses.difference(&after.courses).next();
    Ok(match (enrolled, dropped) {
        (Some(course), _) => Some(event(Type::Enrolled, *course, &after)),
        (None, Some(course)) => Some(event(Type::Dropped, *course, &after)),
        (None, None) => None, // its name or its credits changed
    })
}

fn event(r#type: Type, course: CourseId, plan: &Plan) -> Event {
    Event {
        r#type,
        aggregate: Aggregate::Student,
        aggregate_id: plan.student_id.to_string(),
        version: plan.version,
        occurred_at: Instant::from_millis(plan.updated_at_ms),
        member_id: plan.member_id.clone(),
        payload: json!({ "studentId": plan.student_id, "courseId": course, "term": plan.term }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn plan(version: u64, courses: &[u64]) -> Plan {
        let now = Instant::from_millis(1_893_456_000_000);
        let new = Plan::new(7.try_into().unwrap(), "Ada", "m-1", "default", 18, now);
        let courses = courses.iter().map(|id| CourseId::try_from(*id).unwrap()).collect();
        Plan { version, courses, ..new }
    }

    fn change(before: Option<&Plan>, after: Option<&Plan>) -> Change {
        let image = |plan: Option<&Plan>| -> Value {
            plan.map_or(Value::Null, |plan| {
                let item: serde_dynamo::Item = serde_dynamo::to_item(plan).unwrap();
                serde_json::to_value(item).unwrap()
            })
        };
        Change::from_record(json!({ "dynamodb": {
            "Keys": { "pk": { "S": "STUDENT#7" }, "sk": { "S": "PLAN#default" } },
            "OldImage": image(before),
            "NewImage": image(after),
        }}))
    }

    fn told(before: Option<&Plan>, after: Option<&Plan>) -> Option<Event> {
        translate(&change(before, after)).unwrap()
    }

    #[test]
    fn a_course_more_is_an_enrollment_and_one_less_a_drop() {
        let enrolled = told(Some(&plan(1, &[])), Some(&plan(2, &[101]))).unwrap();
        assert_eq!(
            serde_json::to_value(&enrolled).unwrap(),
            json!({
                "type": "ENROLLED",
                "aggregate": "student",
                "aggregateId": "7",
                "version": 2,
                "occurredAt": "2030-01-01T00:00:00Z",
                "memberId": "m-1",
                "payload": { "studentId": 7, "courseId": 101, "term": "default" },
            })
        );
        let dropped = told(Some(&plan(2, &[101, 102])), Some(&plan(3, &[101]))).unwrap();
        assert_eq!(
            (dropped.r#type, dropped.payload["courseId"].as_u64()),
            (Type::Dropped, Some(102))
        );
        assert_eq!((dropped.version, dropped.group().as_str()), (3, "student-7"));
    }

    #[test]
    fn what_concerns_nobody_tells_nothing() {
        assert_eq!(told(None, Some(&plan(1, &[]))), None);
        assert_eq!(told(Some(&plan(1, &[101])), Some(&plan(2, &[101]))), None);
        let seats = json!({ "dynamodb": { "Keys": { "sk": { "S": "SEATS" } }, "NewImage": 1 } });
        assert_eq!(translate(&Change::from_record(seats)).unwrap(), None);
    }

    #[test]
    fn a_plan_that_cannot_be_read_is_an_error() {
        let record = json!({ "dynamodb": {
            "Keys": { "sk": { "S": "PLAN#default" } },
            "OldImage": {}, "NewImage": { "version": { "S": "two" } },
        }});
        assert!(translate(&Change::from_record(record)).is_err());
    }
}
