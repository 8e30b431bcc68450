//! What requests cost, by the meter: the same in an empty calendar and in a
//! full one.

use platform::meter::Usage;
use serde_json::Value;
use suites::{World, instant};

use crate::calendar::{body, create, created, delete, get, id_of, update, with};

const HOUR_MS: i64 = 60 * 60 * 1000;

/// The body of the `n`-th hour of 2031, at its beginning.
fn hour(n: i64) -> Value {
    let start = instant("2031-01-01T00:00:00Z").plus_millis(n * HOUR_MS);
    let end = start.plus_millis(HOUR_MS / 2);
    with(body(&start.to_string(), &end.to_string()), "remindBeforeMinutes", 10)
}

/// What each operation costs in a calendar of `count` schedules, in its middle.
async fn costs(count: i64) -> Vec<(&'static str, Usage)> {
    let world = World::with_environments(1).await;
    let caller = world.as_member("m1");
    for n in 0..count {
        created(&caller, hour(n)).await;
    }
    for n in 1_000..1_020 {
        created(&caller, hour(n)).await; // what is listed below
    }
    let new = create(&caller, hour(500)).await.expect(201);
    let id = id_of(&new);
    let keyed = world.as_member("m1").with("idempotency-key", "k");
    let kept = create(&keyed, hour(501)).await.expect(201);
    let again = create(&keyed, hour(501)).await.expect(201);
    let refused = create(&caller, hour(500)).await.refused(409, "SCHEDULE_CONFLICT");
    let moved = update(&caller, &id, hour(502)).await.expect(200);
    let renamed = update(&caller, &id, with(hour(502), "title", "Doctor")).await.expect(200);
    let same = update(&caller, &id, with(hour(502), "title", "Doctor")).await.expect(200);
    let got = get(&caller, &id).await.expect(200);
    let in_middle = "from=2031-02-11T16:15:00Z"; // hour 1,000
    let listed = caller.get(&format!("/schedules?limit=10&{in_middle}")).await.expect(200);
    assert_eq!(listed.json["items"].as_array().unwrap().len(), 10);
    let cursor = listed.json["nextCursor"].as_str().unwrap();
    let next = format!("/schedules?limit=10&{in_middle}&cursor={cursor}");
    let next = caller.get(&next).await.expect(200);
    assert_eq!(next.json["items"].as_array().unwrap().len(), 10);
    let deleted = delete(&caller, &id).await.expect(204);
    let answers = [
        ("create", new),
        ("create with a key", kept),
        ("create again", again),
        ("create, refused", refused),
        ("move", moved),
        ("rename", renamed),
        ("change nothing", same),
        ("get", got),
        ("list", listed),
        ("list on", next),
        ("delete", deleted),
    ];
    answers.into_iter().map(|(name, answer)| (name, answer.usage)).collect()
}

#[tokio::test]
async fn every_operation_costs_the_same_with_1_100_and_500_schedules() {
    let few = costs(1).await;
    assert_eq!(few, costs(100).await);
    assert_eq!(few, costs(480).await);
    let most = |name: &str| match name {
        "create" => (3, 2.0, 8.0),
        "create with a key" => (3, 3.0, 10.0),
        "create again" => (1, 2.0, 0.0),
        "create, refused" => (2, 2.0, 0.0),
        "move" => (3, 3.0, 10.0),
        "rename" => (2, 2.0, 4.0),
        "change nothing" => (1, 2.0, 0.0),
        "get" => (1, 1.0, 0.0),
        "list" => (3, 12.0, 0.0),
        "list on" => (2, 11.0, 0.0),
        _ => (1, 0.0, 6.0),
    };
    for (name, usage) in few {
        let (calls, read_units, write_units) = most(name);
        assert_eq!(usage.total_calls(), calls, "{name}: {usage:?}");
        assert!(usage.read_units <= read_units, "{name}: {usage:?}");
        assert!(usage.write_units <= write_units, "{name}: {usage:?}");
    }
}

#[tokio::test]
async fn what_is_refused_by_its_form_calls_nothing() {
    let world = World::with_environments(1).await;
    let caller = world.as_member("m1");
    let refused = create(&caller, Value::Null).await.refused(400, "INVALID_REQUEST");
    assert_eq!(refused.usage.total_calls(), 0);
    let refused = create(&world.as_nobody(), hour(1)).await.refused(401, "UNAUTHENTICATED");
    assert_eq!(refused.usage.total_calls(), 0);
}
