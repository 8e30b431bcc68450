//! Answers get lost, DynamoDB throttles, transactions collide: what is told is
//! still what happened, and no read fails because of its view.
//!
//! Tokio's clock is paused where a test waits out a budget, so none takes time.

use local::faults::Fault;
use serde_json::json;
use suites::World;

use crate::posts::{
    add, count, create, created, delete, get, hand_over, id_of, indexed, meta, popular, post,
    published, set_status, stripes, update, viewed, with,
};

const WRITE: &str = "TransactWriteItems";

#[tokio::test(start_paused = true)]
async fn every_write_survives_the_loss_of_its_first_answer() {
    let world = World::start().await;
    world.faults.always(WRITE, Fault::LostFirstAnswer);
    for caller in [world.as_member("m1"), world.as_member("m1").with("idempotency-key", "k")] {
        let first = create(&caller, post("Hello")).await.expect(201);
        let id = id_of(&first);
        assert_eq!(get(&caller, &id).await.expect(200).json, first.json);
        let seeing = world.as_member("m1").with("if-match", "\"1\"");
        let answer = update(&seeing, &id, json!({ "body": "Other" })).await.expect(200);
        assert_eq!(answer.json["version"], 2);
        assert_eq!(set_status(&caller, &id, "DRAFT").await.expect(200).json["version"], 3);
        assert_eq!(set_status(&caller, &id, "PUBLISHED").await.expect(200).json["version"], 4);
        assert_eq!(indexed(&world).await, (1, 1));
        delete(&caller, &id).await.expect(204);
        assert_eq!(indexed(&world).await, (0, 0));
    }
    assert!(world.faults.met() >= 10);
}

#[tokio::test(start_paused = true)]
async fn when_every_answer_is_lost_nothing_is_promised_and_the_key_finds_the_post() {
    let world = World::start().await;
    world.faults.always(WRITE, Fault::LostAnswer);
    let caller = world.as_member("m1").with("idempotency-key", "k-1");
    let refused = create(&caller, post("Hello")).await.refused(503, "BUSY");
    assert_eq!(refused.usage.unknown_outcomes, 1);
    world.faults.stop();
    let found = create(&caller, post("Hello")).await.expect(201);
    assert_eq!(create(&caller, post("Hello")).await.expect(201).json, found.json);
    assert_eq!(indexed(&world).await, (1, 1));
}

#[tokio::test(start_paused = true)]
async fn when_no_request_arrives_nothing_is_changed() {
    let world = World::start().await;
    let caller = world.as_member("m1");
    let id = published(&world, "Hello").await;
    for fault in
        [Fault::LostRequest, Fault::Throttled, Fault::ServerError, Fault::Conflict(vec![0])]
    {
        world.faults.always(WRITE, fault);
        let keyed = caller.clone().with("idempotency-key", "k");
        create(&keyed, post("Other")).await.refused(503, "BUSY");
        update(&caller, &id, json!({ "title": "Other" })).await.refused(503, "BUSY");
        delete(&caller, &id).await.refused(503, "BUSY");
    }
    world.faults.stop();
    assert_eq!(meta(&world, &id).await.unwrap().version, 1);
    assert_eq!(indexed(&world).await, (1, 1));
}

#[tokio::test(start_paused = true)]
async fn what_passes_is_waited_out_and_what_arrived_late_is_met_as_ones_own() {
    let world = World::start().await;
    let caller = world.as_member("m1");
    for fault in [
        Fault::LostRequest,
        Fault::ServerError,
        Fault::Throttled,
        Fault::Conflict(vec![0]),
        Fault::Conflict(vec![0, 1]),
    ] {
        world.faults.next(WRITE, &fault, 3);
        let id = created(&caller, post("Hello")).await;
        world.faults.next(WRITE, &fault, 3);
        update(&caller, &id, json!({ "body": "Other" })).await.expect(200);
        world.faults.next(WRITE, &fault, 3);
        delete(&caller, &id).await.expect(204);
    }
    let keyed = caller.clone().with("idempotency-key", "k");
    for caller in [caller, keyed] {
        world.faults.next(WRITE, &Fault::LateSuccess(vec![0]), 1);
        let first = create(&caller, post("Hello")).await.expect(201);
        let id = id_of(&first);
        assert_eq!(get(&caller, &id).await.expect(200).json, first.json);
        world.faults.next(WRITE, &Fault::LateSuccess(vec![0]), 1);
        let seeing = caller.clone().with("if-match", "\"1\"");
        let changed = update(&seeing, &id, json!({ "title": "Other" })).await.expect(200);
        assert_eq!(
            (&changed.json["version"], &changed.json["title"]),
            (&json!(2), &json!("Other"))
        );
    }
}

#[tokio::test(start_paused = true)]
async fn reads_are_tried_again_and_then_given_up() {
    let world = World::with_environments(1).await;
    let author = world.as_member("m1");
    let id = published(&world, "Hello").await;
    for fault in [Fault::Throttled, Fault::ServerError, Fault::LostAnswer] {
        for operation in ["GetItem", "BatchGetItem", "Query"] {
            world.faults.next(operation, &fault, 2);
        }
        get(&author, &id).await.expect(200);
        get(&author, &id).await.expect(200);
        author.get("/posts").await.expect(200);
        author.get("/posts/popular").await.expect(200);
        update(&author, &id, json!({ "title": format!("{fault:?}") })).await.expect(200);
        world.faults.stop();
        world.clock.advance(5_000);
    }
    world.faults.always("Query", Fault::Throttled);
    author.get("/posts").await.refused(503, "BUSY");
    author.get("/posts/popular").await.refused(503, "BUSY");
    world.faults.stop();
    world.faults.always("BatchGetItem", Fault::Throttled);
    get(&world.as_nobody(), &id).await.refused(503, "BUSY");
}

#[tokio::test(start_paused = true)]
async fn a_view_of_unknown_outcome_is_sent_once_and_the_read_is_answered() {
    for (fault, counted) in
        [(Fault::LostAnswer, 1), (Fault::LostRequest, 0), (Fault::ServerError, 0)]
    {
        let world = World::with_environments(1).await;
        let id = published(&world, "Hello").await;
        world.faults.always("UpdateItem", fault.clone());
        let answer = get(&world.as_nobody(), &id).await.expect(200);
        assert_eq!(answer.json["title"], "Hello");
        let usage = &answer.usage;
        assert_eq!((usage.calls_of("UpdateItem"), usage.unknown_outcomes), (1, 1), "{fault:?}");
        assert_eq!(usage.dropped_writes, 0);
        world.faults.stop();
        assert_eq!(stripes(&world, &id).await.into_values().sum::<u64>(), counted);
        let status = world.cloud.status();
        assert_eq!(status["functions"]["get-post"]["unknown_outcomes"], 1);
        assert_eq!(status["functions"]["get-post"]["dropped_writes"], 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_view_that_is_throttled_is_tried_again_and_then_said_to_be_missing() {
    let world = World::with_environments(1).await;
    let id = published(&world, "Hello").await;
    for throttled in [1, 2] {
        world.faults.next("UpdateItem", &Fault::Throttled, throttled);
        let answer = get(&world.as_nobody(), &id).await.expect(200);
        assert_eq!(answer.usage.calls_of("UpdateItem"), throttled + 1);
        assert_eq!((answer.usage.dropped_writes, answer.usage.unknown_outcomes), (0, 0));
    }
    assert_eq!(stripes(&world, &id).await[&0], 2);
    world.faults.always("UpdateItem", Fault::Throttled);
    let answer = get(&world.as_nobody(), &id).await.expect(200);
    assert_eq!((answer.usage.calls_of("UpdateItem"), answer.usage.dropped_writes), (3, 1));
    world.faults.stop();
    world.faults.next("UpdateItem", &Fault::Rejected, 1);
    let answer = get(&world.as_nobody(), &id).await.expect(200);
    assert_eq!((answer.usage.calls_of("UpdateItem"), answer.usage.dropped_writes), (1, 1));
    assert_eq!(world.cloud.status()["functions"]["get-post"]["dropped_writes"], 2);
    assert_eq!(stripes(&world, &id).await[&0], 2);
}

#[tokio::test(start_paused = true)]
async fn under_faults_the_sum_is_off_by_no_more_than_what_was_said() {
    let world = World::with_environments(1).await;
    let id = published(&world, "Hello").await;
    let mut random = fastrand::Rng::with_seed(3);
    let (mut unknown, mut dropped) = (0, 0);
    for _ in 0..200 {
        let faults = [Fault::LostAnswer, Fault::LostRequest, Fault::Throttled, Fault::Rejected];
        if random.bool() {
            world.faults.next("UpdateItem", &faults[random.usize(..4)], random.u64(1..5));
        }
        let usage = get(&world.as_nobody(), &id).await.expect(200).usage;
        unknown += usage.unknown_outcomes;
        dropped += usage.dropped_writes;
    }
    world.faults.stop();
    count(&world).await;
    let views = meta(&world, &id).await.unwrap().views;
    assert!(unknown > 10 && dropped > 10, "{unknown} unknown, {dropped} dropped");
    assert!((200 - dropped - unknown..=200 - dropped).contains(&views), "{views} views");
}

#[tokio::test(start_paused = true)]
async fn a_post_whose_status_changes_while_its_views_are_added_up_is_counted_by_the_new_one() {
    let world = World::start().await;
    let author = world.as_member("m1");
    let id = created(&author, with(post("Hello"), "status", "DRAFT")).await;
    let mut views = 0;
    for status in ["PUBLISHED", "DRAFT", "PUBLISHED"] {
        add(&world, &id, 0, 2).await;
        views += 2;
        world.faults.next("UpdateItem", &Fault::Throttled, 6); // the status changes meanwhile
        let window = [viewed(0, &id, 0, 0)];
        let (failures, changed) =
            tokio::join!(hand_over(&world, &window), set_status(&author, &id, status));
        changed.expect(200);
        assert!(failures.is_empty());
        let place = if status == "DRAFT" { vec![] } else { vec![(id.clone(), views)] };
        assert_eq!(popular(&world).await, place);
        assert_eq!(meta(&world, &id).await.unwrap().views, views);
    }
}
