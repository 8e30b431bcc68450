//! Answers get lost, DynamoDB throttles, transactions collide: what is told is
//! still what happened, and home answers from what it has.
//!
//! Tokio's clock is paused where a test waits out a budget, so none takes time.

use std::time::Duration;

use announcement::home::WAIT;
use local::faults::Fault;
use serde_json::json;
use suites::World;
use tokio::time::Instant;

use crate::announcements::{
    announced, body, check, checklist, count, favor, get, held, id, item, meta, put, run, unfavor,
};

const WRITE: &str = "TransactWriteItems";

#[tokio::test(start_paused = true)]
async fn every_write_survives_the_loss_of_its_first_answer() {
    let world = World::start().await;
    world.faults.always(WRITE, Fault::LostFirstAnswer);
    let me = world.as_member("m1");
    put(&world, "r", body("Rooms")).await.expect(201);
    assert_eq!(put(&world, "r", body("Flats")).await.expect(200).json["version"], 2);
    for round in 0..3 {
        favor(&me, "r").await.expect(204);
        assert_eq!(held(&world, "r").await, 1, "{round}");
        unfavor(&me, "r").await.expect(204);
        assert_eq!(held(&world, "r").await, 0, "{round}");
    }
    assert_eq!(check(&me, "r", &["a"]).await.expect(201).json["version"], 1);
    let seeing = me.clone().with("if-match", "\"1\"");
    assert_eq!(check(&seeing, "r", &["b"]).await.expect(200).json["version"], 2);
    run(&world, "refresh-home").await;
    assert!(world.faults.met() >= 11);
    assert_eq!(checklist(&me, "r").await["checked"], json!(["b"]));
}

#[tokio::test(start_paused = true)]
async fn what_passes_is_waited_out_and_what_arrived_late_is_met_as_ones_own() {
    let world = World::start().await;
    announced(&world, "r").await;
    let me = world.as_member("m1");
    let faults = [
        Fault::LostRequest,
        Fault::ServerError,
        Fault::Throttled,
        Fault::Conflict(vec![0]),
        Fault::Conflict(vec![2]),
        Fault::LateSuccess(vec![0]),
        Fault::LateSuccess(vec![2]),
    ];
    for (n, fault) in faults.into_iter().enumerate() {
        world.faults.next(WRITE, &fault, 1);
        favor(&me, "r").await.expect(204);
        assert_eq!(held(&world, "r").await, 1, "{fault:?}");
        world.faults.next(WRITE, &fault, 1);
        unfavor(&me, "r").await.expect(204);
        assert_eq!(held(&world, "r").await, 0, "{fault:?}");
        world.faults.next(WRITE, &fault, 1);
        let list = if n % 2 == 0 { vec!["a"] } else { vec!["b"] };
        let status = if n == 0 { 201 } else { 200 };
        assert_eq!(check(&me, "r", &list).await.expect(status).json["version"], n + 1);
        world.faults.next(WRITE, &fault, 1);
        let title = format!("Title {n}");
        assert_eq!(put(&world, "r", body(&title)).await.expect(200).json["version"], n + 2);
    }
    world.faults.next(WRITE, &Fault::LateSuccess(vec![0]), 1);
    put(&world, "s", body("Rooms")).await.expect(201);
    world.faults.next(WRITE, &Fault::LateSuccess(vec![0]), 1);
    check(&me, "s", &["a"]).await.expect(201);
}

#[tokio::test(start_paused = true)]
async fn when_no_request_arrives_nothing_is_changed_and_when_no_answer_does_nothing_is_promised() {
    let world = World::start().await;
    announced(&world, "r").await;
    let me = world.as_member("m1");
    for fault in [Fault::LostRequest, Fault::Throttled, Fault::Conflict(vec![2])] {
        world.faults.always(WRITE, fault);
        favor(&me, "r").await.refused(503, "BUSY");
        unfavor(&me, "r").await.refused(503, "BUSY");
        check(&me, "r", &["a"]).await.refused(503, "BUSY");
        put(&world, "r", body("Flats")).await.refused(503, "BUSY");
    }
    world.faults.stop();
    assert_eq!((held(&world, "r").await, meta(&world, "r").await.version), (0, 1));
    assert_eq!(checklist(&me, "r").await["version"], 0);
    world.faults.always(WRITE, Fault::LostAnswer);
    let refused = favor(&me, "r").await.refused(503, "BUSY");
    assert_eq!(refused.usage.unknown_outcomes, 1);
    world.faults.stop();
    favor(&me, "r").await.expect(204);
    assert_eq!(held(&world, "r").await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_view_never_fails_a_read() {
    let world = World::with_environments(1).await;
    announced(&world, "r").await;
    for fault in [Fault::LostAnswer, Fault::Rejected, Fault::Throttled] {
        world.faults.always("UpdateItem", fault.clone());
        let usage = get(&world.as_nobody(), "r").await.expect(200).usage;
        assert_eq!(usage.unknown_outcomes + usage.dropped_writes, 1, "{fault:?}");
    }
    world.faults.stop();
    count(&world).await;
    assert_eq!(meta(&world, "r").await.views, 1, "the one whose answer was lost");
}

#[tokio::test(start_paused = true)]
async fn reads_are_tried_again_and_then_given_up() {
    let world = World::start().await;
    announced(&world, "r").await;
    let me = world.as_member("m1");
    let paths = ["/favorites", "/announcements", "/announcements/r/checklist", "/home"];
    for fault in [Fault::Throttled, Fault::ServerError, Fault::LostAnswer] {
        for path in paths {
            for operation in ["GetItem", "BatchGetItem", "Query"] {
                world.faults.next(operation, &fault, 2);
            }
            me.get(path).await.expect(200);
            world.faults.stop();
        }
    }
    world.faults.always("Query", Fault::Throttled);
    for path in ["/favorites", "/announcements", "/home"] {
        me.get(path).await.refused(503, "BUSY");
    }
}

#[tokio::test(start_paused = true)]
async fn home_does_not_wait_for_a_snapshot_that_cannot_be_read_again() {
    let world = World::with_environments(1).await;
    announced(&world, "r").await;
    run(&world, "refresh-home").await;
    let anyone = world.as_nobody();
    let first = anyone.get("/home").await.expect(200).json;
    let old = anyone.clone();
    for fault in [Fault::LostRequest, Fault::Throttled, Fault::ServerError, Fault::Rejected] {
        world.clock.advance(10 * 60_000);
        world.faults.always("GetItem", fault.clone());
        let asked = Instant::now();
        let home = old.get("/home").await.expect(200);
        assert!(asked.elapsed() <= WAIT + Duration::from_millis(1), "{fault:?}");
        assert_eq!(home.json["builtAt"], first["builtAt"], "{fault:?}");
        let again = old.get("/home").await.expect(200).usage;
        assert_eq!(again.calls_of("GetItem"), 0, "and the next ones leave it alone for a second");
        world.faults.stop();
    }
    run(&world, "refresh-home").await;
    world.clock.advance(1_000);
    assert_ne!(anyone.get("/home").await.expect(200).json["builtAt"], first["builtAt"]);
}

#[tokio::test(start_paused = true)]
async fn only_the_first_request_of_an_environment_waits_for_the_snapshot() {
    let world = World::with_environments(1).await;
    world.faults.next("GetItem", &Fault::Throttled, 4);
    let first = world.as_nobody().get("/home").await.expect(200);
    assert_eq!(first.usage.calls_of("GetItem"), 5);
    let world = World::with_environments(1).await;
    world.faults.always("GetItem", Fault::Throttled);
    world.as_nobody().get("/home").await.refused(503, "BUSY");
}

#[tokio::test(start_paused = true)]
async fn a_refresh_that_fails_leaves_the_snapshot_as_it_was() {
    let world = World::start().await;
    announced(&world, "r").await;
    run(&world, "refresh-home").await;
    let before = item(&world, announcement::keys::snapshot()).await;
    for (operation, fault) in [
        ("Query", Fault::Throttled),
        ("BatchGetItem", Fault::Rejected),
        (WRITE, Fault::LostRequest),
    ] {
        world.clock.advance(60_000);
        world.faults.always(operation, fault);
        let run = world.cloud.invoke_event("refresh-home", json!({})).await.unwrap();
        assert!(run.response.is_err(), "{operation}");
        world.faults.stop();
        assert_eq!(item(&world, announcement::keys::snapshot()).await, before);
    }
    run(&world, "refresh-home").await;
    assert_ne!(item(&world, announcement::keys::snapshot()).await, before);
    assert_eq!(id("r").as_str(), "r");
}
