//! Members are told once when a favorite is about to close.

use std::collections::BTreeMap;
use std::time::Duration;

use announcement::announce_closing::{BEFORE_MS, RUN};
use local::faults::Fault;
use serde_json::{Value, json};
use suites::World;
use suites::gate::Gate;

use crate::announcements::{
    DAY_MS, HOUR_MS, MINUTE_MS, closing_in, favor, get, items, mark, put, run, unfavor, with,
};

/// What a member was told: the closing times, in the order of the telling.
async fn told(world: &World, member: &str) -> Vec<(String, String)> {
    world.settle().await;
    let inbox = world.inbox(member).await.into_iter().rev();
    let told = inbox.map(|notification| {
        assert_eq!(notification["type"], "ANNOUNCEMENT_CLOSING");
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        (text(&notification["aggregateId"]), text(&notification["payload"]["closesAt"]))
    });
    told.collect()
}

/// How often each of members `m0..m<count>` was told.
async fn times_told(world: &World, count: usize) -> BTreeMap<usize, usize> {
    let mut times = BTreeMap::new();
    for member in 0..count {
        *times.entry(told(world, &format!("m{member}")).await.len()).or_default() += 1;
    }
    times
}

async fn favored(world: &World, name: &str, members: usize) {
    let members = (0..members)
        .map(|n| async move { favor(&world.as_member(&format!("m{n}")), name).await.expect(204) });
    futures_util::future::join_all(members).await;
}

async fn announce(world: &World) -> platform::meter::Usage {
    run(world, "announce-closing").await
}

/// How many notices there are.
async fn notices(world: &World) -> usize {
    let items = items(world).await;
    items.iter().filter(|item| item["sk"].as_s().unwrap().starts_with("CLOSING#")).count()
}

#[tokio::test]
async fn a_member_is_told_a_day_before_the_closing_and_not_earlier() {
    let world = World::start().await;
    put(&world, "r", closing_in(&world, BEFORE_MS + 1)).await.expect(201);
    favored(&world, "r", 1).await;
    announce(&world).await;
    assert!(told(&world, "m0").await.is_empty());
    world.clock.advance(1);
    announce(&world).await;
    let closes_at = "2030-01-02T00:00:00.001Z";
    assert_eq!(told(&world, "m0").await, [("r".to_owned(), closes_at.to_owned())]);
    let notification = &world.inbox("m0").await[0];
    assert_eq!(notification["payload"], json!({ "title": "Rooms", "closesAt": closes_at }));
    assert_eq!(notification["occurredAt"], "2030-01-01T00:00:00.001Z");
    assert!(told(&world, "m1").await.is_empty());
}

#[tokio::test]
async fn it_happens_by_itself_every_minute() {
    let world = World::start().await;
    put(&world, "r", closing_in(&world, BEFORE_MS + 90_000)).await.expect(201);
    favored(&world, "r", 2).await;
    for _ in 0..5 {
        world.clock.advance(MINUTE_MS);
        world.settle().await;
    }
    assert_eq!(times_told(&world, 2).await, [(1, 2)].into());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn each_is_told_once_however_often_and_late_one_looks() {
    let world = World::start().await;
    put(&world, "r", closing_in(&world, 2 * DAY_MS)).await.expect(201);
    favored(&world, "r", 60).await;
    world.clock.advance(2 * DAY_MS - HOUR_MS); // nobody looked for most of a day
    futures_util::future::join_all((0..6).map(|_| announce(&world))).await;
    announce(&world).await;
    assert_eq!(times_told(&world, 60).await, [(1, 60)].into());
    assert_eq!(notices(&world).await, 60);
    let again = announce(&world).await;
    assert_eq!(again.write_units, 0.0, "nobody waits any more");
}

#[tokio::test]
async fn nobody_is_told_of_what_has_closed() {
    let world = World::start().await;
    put(&world, "r", closing_in(&world, 2 * DAY_MS)).await.expect(201);
    favored(&world, "r", 1).await;
    world.clock.advance(2 * DAY_MS);
    announce(&world).await;
    assert!(told(&world, "m0").await.is_empty());
}

#[tokio::test]
async fn who_marks_it_on_its_last_day_is_told_too() {
    let world = World::start().await;
    put(&world, "r", closing_in(&world, HOUR_MS)).await.expect(201);
    announce(&world).await;
    favored(&world, "r", 3).await;
    announce(&world).await;
    announce(&world).await;
    assert_eq!(times_told(&world, 3).await, [(1, 3)].into());
}

#[tokio::test]
async fn who_took_it_back_is_not_told_and_who_marks_it_again_is_not_told_again() {
    let world = World::start().await;
    put(&world, "r", closing_in(&world, HOUR_MS)).await.expect(201);
    favored(&world, "r", 3).await;
    unfavor(&world.as_member("m0"), "r").await.expect(204);
    announce(&world).await;
    unfavor(&world.as_member("m1"), "r").await.expect(204);
    favor(&world.as_member("m1"), "r").await.expect(204);
    announce(&world).await;
    assert!(told(&world, "m0").await.is_empty());
    assert_eq!((told(&world, "m1").await.len(), told(&world, "m2").await.len()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn who_takes_it_back_while_being_told_has_no_favorite_left() {
    let gate = Gate::default();
    let world = World::behind(&gate).await;
    put(&world, "r", closing_in(&world, HOUR_MS)).await.expect(201);
    let me = world.as_member("m0");
    favor(&me, "r").await.expect(204);
    let take_back = async {
        unfavor(&me, "r").await.expect(204);
    };
    gate.overtaken(("UpdateItem", 1), announce(&world), take_back).await;
    let left = items(&world).await;
    let left = left.iter().filter(|item| item["sk"].as_s().unwrap().starts_with("FAVORITE#"));
    assert_eq!(left.count(), 0);
    favor(&me, "r").await.expect(204);
    assert_eq!(me.list("/favorites", 10).await.len(), 1);
}

#[tokio::test]
async fn each_closing_time_is_told_once() {
    let world = World::start().await;
    put(&world, "r", closing_in(&world, 20 * HOUR_MS)).await.expect(201);
    favored(&world, "r", 1).await;
    let first = "2030-01-01T20:00:00Z";
    let mut expected = Vec::new();
    // Sooner, later but soon, back to what was told already, and much later.
    for (closes_at, is_told) in [
        (first, true),
        ("2030-01-01T10:00:00Z", true),
        ("2030-01-01T23:00:00Z", true),
        (first, false),
        ("2030-01-01T10:00:00Z", false),
        ("2030-01-09T00:00:00Z", false),
    ] {
        put(&world, "r", with(closing_in(&world, 0), "closesAt", closes_at)).await;
        announce(&world).await;
        announce(&world).await;
        world.clock.advance(1);
        if is_told {
            expected.push(("r".to_owned(), closes_at.to_owned()));
        }
        assert_eq!(told(&world, "m0").await, expected, "{closes_at}");
    }
    world.clock.advance(7 * DAY_MS);
    announce(&world).await;
    assert_eq!(told(&world, "m0").await.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_cut_off_is_made_up_for_by_the_next() {
    let world = World::start().await;
    for name in ["a", "b"] {
        put(&world, name, closing_in(&world, HOUR_MS)).await.expect(201);
        favored(&world, name, 40).await;
    }
    // Neither the first write of some nor the second of others arrives.
    world.faults.next("PutItem", &Fault::Rejected, 15);
    world.faults.next("UpdateItem", &Fault::Rejected, 15);
    let outcome = world.cloud.invoke_event("announce-closing", json!({})).await.unwrap();
    assert!(outcome.response.is_err(), "a run that left something to do says so");
    assert_eq!(notices(&world).await, 65);
    announce(&world).await;
    assert_eq!(times_told(&world, 40).await, [(2, 40)].into());
}

#[tokio::test(start_paused = true)]
async fn answers_that_are_lost_tell_everybody_once() {
    let world = World::start().await;
    put(&world, "r", closing_in(&world, HOUR_MS)).await.expect(201);
    favored(&world, "r", 30).await;
    for operation in ["PutItem", "UpdateItem", "Query", "BatchGetItem"] {
        world.faults.next(operation, &Fault::LostAnswer, 4);
        world.faults.next(operation, &Fault::Throttled, 2);
    }
    announce(&world).await;
    assert!(world.faults.met() >= 20);
    assert_eq!(times_told(&world, 30).await, [(1, 30)].into());
}

#[tokio::test(start_paused = true)]
async fn a_run_stops_in_time_and_later_ones_do_the_rest() {
    let world = World::start().await;
    put(&world, "r", closing_in(&world, DAY_MS)).await.expect(201);
    mark(&world, "r", 300).await;
    // Each write of a notice is tried until its time is over: a run does not get
    // through.
    world.faults.always("PutItem", Fault::Throttled);
    let began = tokio::time::Instant::now();
    let run = world.cloud.invoke_event("announce-closing", json!({})).await.unwrap();
    let took = began.elapsed();
    assert!((RUN..Duration::from_secs(60)).contains(&took), "{took:?}");
    assert!(run.response.is_err() && run.usage.calls_of("UpdateItem") == 0);
    world.faults.stop();
    announce(&world).await;
    assert_eq!(notices(&world).await, 300);
}

#[tokio::test]
async fn a_fan_out_of_many_pages_reaches_everybody() {
    let world = World::start().await;
    put(&world, "r", closing_in(&world, HOUR_MS)).await.expect(201);
    mark(&world, "r", 1_000).await;
    announce(&world).await;
    assert_eq!(notices(&world).await, 1_000);
    world.settle().await;
    for member in [0, 499, 999] {
        assert_eq!(told(&world, &format!("m{member}")).await.len(), 1);
    }
    let letters = world.as_staff().get("/dead-letters").await.expect(200);
    assert_eq!(letters.json["count"], 0);
}

#[tokio::test]
async fn a_run_with_nothing_to_do_costs_by_what_closes_and_not_by_who_marked_it() {
    let world = World::start().await;
    put(&world, "r", closing_in(&world, HOUR_MS)).await.expect(201);
    put(&world, "far", closing_in(&world, 9 * DAY_MS)).await.expect(201);
    let mut costs = Vec::new();
    for members in [1, 300] {
        mark(&world, "r", members).await;
        mark(&world, "far", members).await;
        announce(&world).await;
        let idle = announce(&world).await;
        costs.push((idle.total_calls(), idle.read_units, idle.write_units));
    }
    assert_eq!(costs[0], costs[1]);
    assert_eq!(costs[0].0, 1 + 1 + 8, "the list, its announcement, eight partitions");
    get(&world.as_nobody(), "r").await.expect(200);
}

#[test]
fn a_run_ends_before_its_time_out_and_runs_come_every_minute() {
    let template = local::template::Template::of_checkout().unwrap();
    let function = template.functions.iter().find(|f| f.name == "announce-closing").unwrap();
    // Each of the two writes of a member may be tried for five seconds.
    assert!(function.timeout - RUN >= Duration::from_secs(12));
}
