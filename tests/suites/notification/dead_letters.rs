//! `GET /dead-letters`, `POST /dead-letters/redrive`, and how anything gets there.

use aws_sdk_dynamodb::types::AttributeValue;
use local::faults::Fault;
use notification::redrive::{Redriven, redrive};
use platform::Problem;
use platform::clock::Instant;
use platform::events::{Aggregate, Change, Event, Source, Type};
use serde_json::{Value, json};
use suites::World;

/// Writes a plan that nobody can read, for a student of member `m9`.
async fn write_a_poison_pill(world: &World) {
    let put = world.cloud.client().put_item().table_name("Enrollment");
    let put = put.item("pk", AttributeValue::S("STUDENT#9".into()));
    let put = put.item("sk", AttributeValue::S("PLAN#default".into()));
    let put = put.item("member_id", AttributeValue::S("m9".into()));
    put.item("version", AttributeValue::S("nine".into())).send().await.unwrap();
}

/// What the code may do once it knows that plan.
const FIXED: &[Source] = &[Source { table: enrollment::TABLE, translate: understand_it }];

fn understand_it(change: &Change) -> Result<Option<Event>, Problem> {
    Ok(Some(Event {
        r#type: Type::Enrolled,
        aggregate: Aggregate::Student,
        aggregate_id: change.key("pk").unwrap_or_default().replace("STUDENT#", ""),
        version: 9,
        occurred_at: Instant::from_millis(1_893_456_000_000),
        member_id: "m9".into(),
        payload: Value::Null,
    }))
}

async fn count(world: &World) -> Value {
    world.as_staff().get("/dead-letters").await.expect(200).json
}

#[tokio::test]
async fn only_staff_see_dead_letters_and_send_them_again() {
    let world = World::start().await;
    let path = "/dead-letters/redrive";
    world.as_nobody().get("/dead-letters").await.refused(401, "UNAUTHENTICATED");
    world.as_nobody().post(path, Value::Null).await.refused(401, "UNAUTHENTICATED");
    world.as_member("m1").get("/dead-letters").await.refused(403, "FORBIDDEN");
    world.as_member("m1").post(path, Value::Null).await.refused(403, "FORBIDDEN");
    assert_eq!(count(&world).await, json!({ "count": 0 }));
    let answer = world.as_staff().post(path, Value::Null).await.expect(202);
    assert_eq!(answer.json, json!({ "redriven": 0, "left": 0 }));
}

#[tokio::test]
async fn a_record_that_nobody_can_read_is_parked_whole_and_holds_nobody_up() {
    let world = World::start().await;
    world.course(101, 5).await;
    world.students(2).await;
    world.enroll(1, 101).await.expect(201);
    write_a_poison_pill(&world).await;
    world.enroll(2, 101).await.expect(201);
    world.settle().await;
    assert_eq!(world.inbox("m1").await.len(), 1, "what came before");
    assert_eq!(world.inbox("m2").await.len(), 1, "what came after");
    let letters = count(&world).await;
    assert_eq!(letters, json!({ "count": 1, "oldestAt": "2030-01-01T00:00:00Z" }));

    // As long as the code is the same, it stays.
    let answer = world.as_staff().post("/dead-letters/redrive", Value::Null).await.expect(202);
    assert_eq!(answer.json, json!({ "redriven": 0, "left": 1 }));
    assert_eq!(count(&world).await["count"], 1);
    world.settle().await;
    assert!(world.inbox("m9").await.is_empty());

    // Once the code knows it, it is told: the whole record was kept.
    let app = world.app().await;
    let redriven = redrive(&app, FIXED).await.unwrap();
    assert_eq!(redriven, Redriven { redriven: 1, left: 0 });
    world.settle().await;
    let told = world.inbox("m9").await;
    assert_eq!((told.len(), &told[0]["aggregateId"]), (1, &json!("9")));
    assert_eq!(count(&world).await, json!({ "count": 0 }));
}

#[tokio::test]
async fn an_event_that_is_refused_five_times_is_a_dead_letter_until_it_is_sent_again() {
    let world = World::start().await;
    world.course(101, 5).await;
    world.students(1).await;
    world.enroll(1, 101).await.expect(201);
    world.drop_course(1, 101).await.expect(204);
    world.faults.always("PutItem", Fault::Rejected);
    for _ in 0..12 {
        world.settle().await;
        world.clock.advance(90_001); // hidden for so long after each refusal
    }
    world.settle().await;
    world.faults.stop();
    assert_eq!(count(&world).await["count"], 2);
    assert!(world.inbox("m1").await.is_empty());

    // An answer that is lost in the middle sends one twice, and tells it once.
    world.queue_faults.next("SendMessageBatch", &Fault::LostAnswer, 1);
    let redrive = "/dead-letters/redrive";
    world.as_staff().post(redrive, Value::Null).await.refused(503, "BUSY");
    world.clock.advance(30_001);
    world.as_staff().post(redrive, Value::Null).await.expect(202);
    world.settle().await;
    let told: Vec<_> = world.inbox("m1").await.iter().map(|n| n["type"].clone()).collect();
    assert_eq!(told, ["DROPPED", "ENROLLED"]);
    assert_eq!(count(&world).await, json!({ "count": 0 }));
}

/// Puts a message among the dead letters by hand.
async fn put(world: &World, group: &str, body: &str) {
    let url = world.queue_url("EventsDeadLetter.fifo").await;
    let sqs = world.cloud.clients().sqs;
    let send = sqs.send_message().queue_url(url).message_group_id(group).message_body(body);
    send.message_deduplication_id(group).send().await.unwrap();
}

#[tokio::test]
async fn a_dead_letter_that_can_never_be_sent_holds_up_no_other() {
    let world = World::start().await;
    let event = |id: &str| {
        json!({
            "recordId": "r", "type": "ENROLLED", "aggregate": "student", "aggregateId": id,
            "version": 1, "occurredAt": "2030-01-01T00:00:00Z", "memberId": format!("m{id}"),
            "payload": {},
        })
        .to_string()
    };
    for id in 0..20 {
        match id {
            5 => put(&world, "odd", &event("a b")).await, // no name of a group
            11 => put(&world, "none", "no event at all").await,
            _ => put(&world, &format!("g{id}"), &event(&id.to_string())).await,
        }
    }
    let redrive = "/dead-letters/redrive";
    // An outage in the middle: what was sent is out, the rest is there at once.
    world.queue_faults.next("SendMessageBatch", &Fault::RefusedEntries(vec![]), 2);
    world.queue_faults.next("SendMessageBatch", &Fault::ServerError, 1);
    world.as_staff().post(redrive, Value::Null).await.refused(503, "BUSY");
    assert_eq!(count(&world).await["count"], 18);
    let answer = world.as_staff().post(redrive, Value::Null).await.expect(202);
    assert_eq!(answer.json, json!({ "redriven": 16, "left": 2 }));
    world.settle().await;
    for id in (0..20).filter(|id| ![5, 11].contains(id)) {
        assert_eq!(world.inbox(&format!("m{id}")).await.len(), 1, "{id}");
    }
    assert_eq!(count(&world).await["count"], 2);
}

#[tokio::test]
async fn two_who_send_again_at_once_tell_everything_once() {
    let world = World::start().await;
    world.course(101, 5).await;
    world.students(3).await;
    for student in 1..=3 {
        world.enroll(student, 101).await.expect(201);
        world.drop_course(student, 101).await.expect(204);
    }
    world.faults.always("PutItem", Fault::Rejected);
    for _ in 0..12 {
        world.settle().await;
        world.clock.advance(90_001);
    }
    world.faults.stop();
    assert_eq!(count(&world).await["count"], 6);
    let staff = world.as_staff();
    let answers = suites::race(0..4, |_| staff.post("/dead-letters/redrive", Value::Null)).await;
    assert_eq!(suites::count(&answers, 202), 4);
    world.settle().await;
    for student in 1..=3 {
        assert_eq!(world.inbox(&format!("m{student}")).await.len(), 2, "student {student}");
    }
    assert_eq!(count(&world).await, json!({ "count": 0 }));
}
