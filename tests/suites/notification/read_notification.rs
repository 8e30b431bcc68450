//! `PUT /notifications/{id}/read`.

use local::faults::Fault;
use notification::{TABLE, keys};
use serde_json::{Value, json};
use suites::gate::Gate;
use suites::{World, race};

/// A world in which member `m1` has one notification, and the path that reads it.
async fn told() -> (World, String) {
    told_in(World::start().await).await
}

/// Likewise, in a world that is there.
async fn told_in(world: World) -> (World, String) {
    world.course(101, 5).await;
    world.students(2).await;
    world.enroll(1, 101).await.expect(201);
    world.settle().await;
    let id = world.inbox("m1").await[0]["id"].as_str().unwrap().to_owned();
    (world, format!("/notifications/{id}/read"))
}

#[tokio::test]
async fn reading_counts_the_first_time() {
    let (world, path) = told().await;
    world.clock.advance(1_000);
    let first = world.as_member("m1").put(&path, Value::Null).await.expect(200);
    assert_eq!(first.json["readAt"], "2030-01-01T00:00:01Z");
    assert_eq!(first.json["type"], "ENROLLED");
    world.clock.advance(1_000);
    let again = world.as_member("m1").put(&path, json!({ "any": "thing" })).await.expect(200);
    assert_eq!(again.json, first.json);
    assert_eq!(again.usage.write_units, 0.0);
    assert_eq!(world.inbox("m1").await, [first.json]);
}

#[tokio::test]
async fn what_is_not_ones_own_is_not_there() {
    let (world, path) = told().await;
    let not_found = "NOTIFICATION_NOT_FOUND";
    world.as_member("m2").put(&path, Value::Null).await.refused(404, not_found);
    world.as_staff().put(&path, Value::Null).await.refused(404, not_found);
    let m1 = world.as_member("m1");
    m1.put("/notifications/000/read", Value::Null).await.refused(404, not_found);
    for id in ["a%23b", "%00", "a%20b", "%F0%9F%8E%9F", &"a".repeat(201)] {
        let path = format!("/notifications/{id}/read");
        m1.put(&path, Value::Null).await.refused(400, "INVALID_REQUEST");
    }
    world.as_nobody().put(&path, Value::Null).await.refused(401, "UNAUTHENTICATED");
    assert_eq!(world.inbox("m1").await[0].get("readAt"), None);
}

#[tokio::test]
async fn many_who_read_at_once_agree_on_when_it_was_read() {
    let (world, path) = told().await;
    world.faults.always("TransactWriteItems", Fault::LostFirstAnswer);
    let m1 = world.as_member("m1");
    let (m1, path, clock) = (&m1, &path, &world.clock);
    let answers = race(0..40, |turn| async move {
        for _ in 0..turn {
            tokio::task::yield_now().await; // each begins a little later
        }
        clock.advance(1);
        m1.put(path, Value::Null).await
    })
    .await;
    world.faults.stop();
    assert!(world.faults.met() > 0, "no answer was lost");
    let read_at = world.inbox("m1").await[0]["readAt"].clone();
    assert!(read_at.is_string());
    for answer in answers {
        assert_eq!(answer.expect(200).json["readAt"], read_at);
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_is_removed_while_it_is_read_does_not_come_back() {
    let gate = Gate::default();
    let (world, path) = told_in(World::behind(&gate).await).await;
    let id = world.inbox("m1").await[0]["id"].as_str().unwrap().to_owned();
    let remove = async {
        let delete = world.cloud.client().delete_item().table_name(TABLE.default);
        let key = keys::notification("m1", &id).into_item();
        delete.set_key(Some(key)).send().await.expect("it is removed");
    };
    let m1 = world.as_member("m1");
    let late = gate.overtaken(("TransactWriteItems", 1), m1.put(&path, Value::Null), remove).await;
    late.refused(404, "NOTIFICATION_NOT_FOUND");
    assert!(world.inbox("m1").await.is_empty());
}
