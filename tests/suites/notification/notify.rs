//! Queue → inbox.

use local::faults::Fault;
use serde_json::{Value, json};
use suites::World;

/// A message about student `id`, at `version`.
fn message(id: &str, student: u64, version: u64) -> Value {
    let event = json!({
        "recordId": format!("r-{student}-{version}"),
        "type": "ENROLLED",
        "aggregate": "student",
        "aggregateId": student.to_string(),
        "version": version,
        "occurredAt": "2030-01-01T00:00:00Z",
        "memberId": format!("m{student}"),
        "payload": {},
    });
    json!({
        "messageId": id,
        "body": event.to_string(),
        "attributes": { "MessageGroupId": format!("student-{student}") },
    })
}

async fn notify(world: &World, messages: &[Value]) -> Vec<String> {
    let outcome = world.cloud.invoke_event("notify", json!({ "Records": messages })).await;
    let answer = outcome.unwrap().response.unwrap();
    let failures = answer["batchItemFailures"].as_array().unwrap();
    failures.iter().map(|f| f["itemIdentifier"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_message_that_comes_again_changes_nothing() {
    let world = World::start().await;
    let messages = [message("a", 1, 1), message("b", 1, 2), message("c", 2, 1)];
    assert!(notify(&world, &messages).await.is_empty());
    let id = world.inbox("m1").await[0]["id"].as_str().unwrap().to_owned();
    let path = format!("/notifications/{id}/read");
    world.as_member("m1").put(&path, Value::Null).await.expect(200);
    let before = world.inbox("m1").await;
    world.clock.advance(600_000);
    assert!(notify(&world, &messages).await.is_empty());
    assert_eq!(world.inbox("m1").await, before);
    assert_eq!(before.len(), 2);
    assert_eq!(world.inbox("m2").await.len(), 1);
}

#[tokio::test]
async fn after_a_failure_the_rest_of_its_thing_waits_and_others_do_not() {
    let world = World::start().await;
    let messages =
        [message("a1", 1, 1), message("b1", 2, 1), message("a2", 1, 2), message("b2", 2, 2)];
    world.faults.next("PutItem", &Fault::Rejected, 1);
    assert_eq!(notify(&world, &messages).await, ["a1", "a2"]);
    assert!(world.inbox("m1").await.is_empty());
    assert_eq!(world.inbox("m2").await.len(), 2);
}

#[tokio::test]
async fn what_is_no_event_is_parked_at_once_and_holds_nobody_up() {
    let world = World::start().await;
    let mut unreadable = message("a2", 1, 2);
    unreadable["body"] = "no event".into();
    let messages = [message("a1", 1, 1), unreadable, message("a3", 1, 3)];
    world.queue_faults.next("SendMessageBatch", &Fault::LostRequest, 1);
    assert_eq!(notify(&world, &messages).await, ["a2", "a3"], "it could not be parked");
    assert!(notify(&world, &messages).await.is_empty());
    assert_eq!(world.inbox("m1").await.len(), 2);
    let letters = world.as_staff().get("/dead-letters").await.expect(200);
    assert_eq!(letters.json["count"], 1);
}

#[tokio::test(start_paused = true)]
async fn what_the_table_does_not_take_is_reported_and_a_lost_answer_is_not_a_failure() {
    let world = World::start().await;
    world.faults.always("PutItem", Fault::LostAnswer);
    let messages = [message("a1", 1, 1), message("a2", 1, 2)];
    // Every answer is lost until time is up: nobody knows, so it must come again.
    assert_eq!(notify(&world, &messages).await, ["a1", "a2"]);
    world.faults.stop();
    world.faults.next("PutItem", &Fault::LostAnswer, 1);
    assert!(notify(&world, &messages).await.is_empty());
    assert_eq!(world.inbox("m1").await.len(), 2);
}
