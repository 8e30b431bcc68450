//! Stream → queue.

use std::collections::BTreeMap;

use local::faults::Fault;
use notification::redrive::{Redriven, redrive};
use notification::relay::relay;
use platform::events::{Change, Event, Failures, Source};
use serde_json::{Value, json};
use suites::World;

fn image(student: u64, version: u64) -> Value {
    let number = |n: u64| json!({ "N": n.to_string() });
    let text = |s: &str| json!({ "S": s });
    let mut image = json!({
        "pk": text(&format!("STUDENT#{student}")),
        "sk": text("PLAN#default"),
        "student_id": number(student),
        "name": text("Ada"),
        "member_id": text(&format!("m{student}")),
        "term": text("default"),
        "version": number(version),
        "updated_at_ms": number(1_893_456_000_000 + version),
        "max_credits": number(18),
        "credits_left": number(18),
    });
    // Every other version has a course more, so that each is an event.
    if version.is_multiple_of(2) {
        image["courses"] = json!({ "NS": ["101"] });
    }
    image
}

/// The record of a student's plan that went to `version`.
fn record(place: usize, student: u64, version: u64) -> Value {
    json!({
        "eventID": format!("e{place}"),
        "eventName": "MODIFY",
        "eventSourceARN": "arn:aws:dynamodb:us-east-1:000000000000:table/Enrollment/stream/x",
        "dynamodb": {
            "ApproximateCreationDateTime": 1_893_456_000,
            "Keys": {
                "pk": { "S": format!("STUDENT#{student}") },
                "sk": { "S": "PLAN#default" },
            },
            "OldImage": image(student, version - 1),
            "NewImage": image(student, version),
            "SequenceNumber": (1_000 + place).to_string(),
        },
    })
}

/// Hands records to relay as a stream does: again from the first that failed.
/// How many times it was called.
async fn hand_over(world: &World, records: &[Value]) -> usize {
    let (mut from, mut calls) = (0, 0);
    while from < records.len() {
        calls += 1;
        assert!(calls < 1_000, "relay makes no progress");
        let event = json!({ "Records": &records[from..] });
        let outcome = world.cloud.invoke_event("relay", event).await.unwrap();
        let answer = outcome.response.unwrap();
        from = match answer["batchItemFailures"][0]["itemIdentifier"].as_str() {
            Some(number) => number.parse::<usize>().unwrap() - 1_000,
            None => records.len(),
        };
    }
    calls
}

/// Everything in the events queue, in the order of its sequence numbers.
async fn queued(world: &World) -> Vec<Value> {
    let sqs = world.cloud.clients().sqs;
    let url = world.queue_url("Events.fifo").await;
    let mut bodies = Vec::new();
    loop {
        let received = sqs.receive_message().queue_url(&url).max_number_of_messages(10).send();
        let messages = received.await.unwrap().messages.unwrap_or_default();
        if messages.is_empty() {
            return bodies;
        }
        for message in messages {
            bodies.push(serde_json::from_str(message.body().unwrap()).unwrap());
            let delete = sqs.delete_message().queue_url(&url);
            delete.receipt_handle(message.receipt_handle().unwrap()).send().await.unwrap();
        }
    }
}

/// Versions by student, in the order of the queue.
fn versions(bodies: &[Value]) -> BTreeMap<String, Vec<u64>> {
    let mut versions: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for body in bodies {
        let student = body["aggregateId"].as_str().unwrap().to_owned();
        versions.entry(student).or_default().push(body["version"].as_u64().unwrap());
    }
    versions
}

#[tokio::test]
async fn records_become_events_with_the_listed_fields_and_no_others() {
    let world = World::start().await;
    hand_over(&world, &[record(0, 7, 2)]).await;
    assert_eq!(
        queued(&world).await,
        [json!({
            "recordId": "e0",
            "type": "ENROLLED",
            "aggregate": "student",
            "aggregateId": "7",
            "version": 2,
            "occurredAt": "2030-01-01T00:00:00.002Z",
            "memberId": "m7",
            "payload": { "studentId": 7, "courseId": 101, "term": "default" },
        })]
    );
}

#[tokio::test]
async fn expiries_and_side_items_tell_nothing() {
    let world = World::start().await;
    let mut expiry = record(0, 1, 2);
    expiry["userIdentity"] = json!({ "type": "Service", "principalId": "dynamodb.amazonaws.com" });
    let mut seats = record(1, 1, 2);
    seats["dynamodb"]["Keys"]["sk"]["S"] = "SEATS".into();
    assert_eq!(hand_over(&world, &[expiry, seats]).await, 1);
    assert_eq!(queued(&world).await, [] as [Value; 0]);
}

/// Batches of many records of few students, taken in part by the queue, again
/// and again: nothing is lost, and no two events of a student change places.
#[tokio::test]
async fn refused_entries_neither_lose_an_event_nor_turn_two_around() {
    for seed in 0..6 {
        let world = World::start().await;
        let mut random = fastrand::Rng::with_seed(seed);
        let mut next = [2_u64; 7];
        let records: Vec<Value> = (0..100)
            .map(|place| {
                let student = random.usize(0..7);
                next[student] += 1;
                record(place, student as u64 + 1, next[student] - 1)
            })
            .collect();
        for _ in 0..40 {
            let places = (0..10).filter(|_| random.u8(0..4) == 0).collect();
            let fault = match random.u8(0..5) {
                0 => Fault::LostAnswer,
                1 => Fault::LostRequest,
                2 => Fault::ServerError,
                _ => Fault::RefusedEntries(places),
            };
            world.queue_faults.next("SendMessageBatch", &fault, 1);
        }
        let calls = hand_over(&world, &records).await;
        assert!(calls > 1, "nothing was refused");
        for (student, versions) in versions(&queued(&world).await) {
            let last = next[student.parse::<usize>().unwrap() - 1];
            let expected: Vec<u64> = (2..last).collect();
            assert_eq!(versions, expected, "student {student}, seed {seed}");
        }
    }
}

#[tokio::test]
async fn records_that_come_again_are_known_for_five_minutes_and_then_queue_in_order() {
    let world = World::start().await;
    let records: Vec<Value> =
        (0..30).map(|i| record(i, i as u64 % 3 + 1, i as u64 / 3 + 2)).collect();
    hand_over(&world, &records).await;
    hand_over(&world, &records).await;
    assert_eq!(queued(&world).await.len(), 30, "within five minutes");
    world.clock.advance(5 * 60 * 1000 + 1);
    hand_over(&world, &records).await;
    let again = versions(&queued(&world).await);
    let expected: Vec<u64> = (2..12).collect();
    assert!(again.values().all(|versions| *versions == expected), "{again:?}");
}

/// Tells of students whom the queue cannot have as a group.
const UNTAKEN: &[Source] = &[Source {
    table: enrollment::TABLE,
    translate: |change| {
        let told = (enrollment::events::SOURCE.translate)(change)?;
        let is_odd = change.key("pk") == Some("STUDENT#2");
        let id = |event: &Event| if is_odd { "a b" } else { &event.aggregate_id }.to_owned();
        Ok(told.map(|event| Event { aggregate_id: id(&event), ..event }))
    },
}];

#[tokio::test]
async fn an_event_that_the_queue_will_never_take_is_parked_and_its_neighbours_go_on() {
    let world = World::start().await;
    let records = [record(0, 1, 2), record(1, 2, 2), record(2, 2, 3), record(3, 3, 2)];
    let changes = records.iter().cloned().map(Change::from_record).collect();
    let failures = relay(&world.app().await, changes, UNTAKEN).await.unwrap();
    assert_eq!(failures, Failures::default());
    assert_eq!(versions(&queued(&world).await).into_keys().collect::<Vec<_>>(), ["1", "3"]);
    let letters = world.as_staff().get("/dead-letters").await.expect(200);
    assert_eq!(letters.json["count"], 2);
    let redriven = redrive(&world.app().await, UNTAKEN).await.unwrap();
    assert_eq!(redriven, Redriven { redriven: 0, left: 2 });
    let redriven = redrive(&world.app().await, notification::SOURCES).await.unwrap();
    assert_eq!(redriven, Redriven { redriven: 2, left: 0 });
    assert_eq!(versions(&queued(&world).await)["2"], [2, 3]);
}

#[tokio::test]
async fn a_record_without_a_number_is_a_failure_of_the_batch() {
    let world = World::start().await;
    let mut nameless = record(0, 1, 2);
    nameless.as_object_mut().unwrap().remove("eventID");
    let event = json!({ "Records": [nameless] });
    let failed = world.cloud.invoke_event("relay", event).await.unwrap().response.unwrap_err();
    assert_eq!(failed.code, "INTERNAL");
}
