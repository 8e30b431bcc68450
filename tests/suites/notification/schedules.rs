//! What happens to a schedule, told to its member.

use std::collections::BTreeMap;

use local::faults::Fault;
use serde_json::{Value, json};
use suites::{World, instant};

const MINUTE_MS: i64 = 60 * 1000;

fn body(day: u32, hour: u32, title: &str) -> Value {
    json!({
        "title": title,
        "startTime": format!("2030-03-{day:02}T{hour:02}:00:00Z"),
        "endTime": format!("2030-03-{day:02}T{:02}:00:00Z", hour + 1),
        "remindBeforeMinutes": 30,
    })
}

async fn create(world: &World, day: u32, hour: u32) -> String {
    let created = world.as_member("m1").post("/schedules", body(day, hour, "Dentist")).await;
    let id = created.expect(201).json["id"].as_str().unwrap().to_owned();
    format!("/schedules/{id}")
}

/// What a member was told of each schedule, in order: types and versions.
async fn told(world: &World, member: &str) -> BTreeMap<String, Vec<(String, u64)>> {
    let mut told: BTreeMap<String, Vec<(String, u64)>> = BTreeMap::new();
    for notification in world.inbox(member).await.into_iter().rev() {
        let path = format!("/schedules/{}", notification["aggregateId"].as_str().unwrap());
        let kind = notification["type"].as_str().unwrap().to_owned();
        told.entry(path).or_default().push((kind, notification["version"].as_u64().unwrap()));
    }
    told
}

fn is(told: &[(String, u64)], expected: &[(&str, u64)]) -> bool {
    told.iter().map(|(kind, version)| (kind.as_str(), *version)).eq(expected.iter().copied())
}

#[tokio::test]
async fn a_schedule_is_told_from_its_creation_to_its_end_in_order() {
    let world = World::start().await;
    let path = create(&world, 1, 9).await;
    for title in ["Dentist, again", "Dentist, at last"] {
        world.as_member("m1").put(&path, body(1, 9, title)).await.expect(200);
    }
    let now = world.clock.now().as_millis();
    world.clock.advance(instant("2030-03-01T08:30:00Z").as_millis() - now);
    world.settle().await; // the reminder's schedule runs, too
    world.as_member("m1").delete(&path).await.expect(204);
    world.settle().await;
    let told = told(&world, "m1").await;
    let expected = [
        ("SCHEDULE_CREATED", 1),
        ("SCHEDULE_UPDATED", 2),
        ("SCHEDULE_UPDATED", 3),
        ("SCHEDULE_REMINDER", 3),
        ("SCHEDULE_DELETED", 4),
    ];
    assert!(is(&told[&path], &expected), "{told:?}");
    let inbox = world.inbox("m1").await;
    assert_eq!(inbox[1]["payload"]["title"], "Dentist, at last");
    assert_eq!(inbox[1]["occurredAt"], "2030-03-01T08:30:00Z");
    assert_eq!(inbox[0]["payload"]["startTime"], "2030-03-01T09:00:00Z");
    for notification in inbox {
        assert_eq!(notification["payload"].get("contents"), None, "only listed fields");
    }
    assert!(self::told(&world, "m2").await.is_empty());
}

#[tokio::test]
async fn schedules_that_change_while_every_step_fails_are_told_in_order_and_once() {
    let world = World::start().await;
    let mut paths = Vec::new();
    for hour in 8..14 {
        paths.push(create(&world, 1, hour).await);
    }
    for round in 0..8 {
        match round % 4 {
            0 => world.cloud.lose_next_checkpoints(),
            1 => world.queue_faults.next("SendMessageBatch", &Fault::LostAnswer, 2),
            2 => {
                let refused = Fault::RefusedEntries(vec![0, 2, 3]);
                world.queue_faults.next("SendMessageBatch", &refused, 3);
            }
            _ => world.faults.next("PutItem", &Fault::Rejected, 4),
        }
        for (hour, path) in (8..).zip(&paths) {
            let body = body(1, hour, &format!("Round {round}"));
            world.as_member("m1").put(path, body).await.expect(200);
        }
        world.settle().await;
        // Beyond what the queue remembers, and what it hides.
        world.clock.advance(6 * MINUTE_MS);
    }
    for _ in 0..3 {
        world.settle().await;
        world.clock.advance(2 * MINUTE_MS);
    }
    let told = told(&world, "m1").await;
    let mut expected = vec![("SCHEDULE_CREATED", 1)];
    expected.extend((2..10).map(|version| ("SCHEDULE_UPDATED", version)));
    assert_eq!(told.len(), paths.len());
    for path in paths {
        assert!(is(&told[&path], &expected), "{:?}", told[&path]);
    }
    let letters = world.as_staff().get("/dead-letters").await.expect(200);
    assert_eq!(letters.json["count"], 0);
}

#[tokio::test]
async fn characters_that_no_message_may_hold_are_told_all_the_same() {
    let world = World::start().await;
    let title = "\u{FFFE}\u{FFFF}\u{10FFFF}\n\t\"\\";
    let created = world.as_member("m1").post("/schedules", body(1, 9, title)).await.expect(201);
    assert_eq!(created.json["title"], title);
    world.settle().await;
    let inbox = world.inbox("m1").await;
    assert_eq!((inbox.len(), &inbox[0]["payload"]["title"]), (1, &json!(title)));
}

#[tokio::test]
async fn a_reminder_that_was_late_by_a_day_is_told_once() {
    let world = World::start().await;
    let path = create(&world, 1, 9).await;
    world.settle().await;
    let now = world.clock.now().as_millis();
    world.clock.advance(instant("2030-03-02T09:00:00Z").as_millis() - now);
    for _ in 0..5 {
        world.settle().await;
        world.clock.advance(MINUTE_MS);
    }
    let told = told(&world, "m1").await;
    assert!(is(&told[&path], &[("SCHEDULE_CREATED", 1), ("SCHEDULE_REMINDER", 1)]), "{told:?}");
}
