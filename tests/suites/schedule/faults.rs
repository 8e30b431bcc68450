//! Answers get lost, DynamoDB throttles, transactions collide: what a member is
//! told is still what happened.
//!
//! Tokio's clock is paused where a test waits out a budget, so none takes time.

use local::faults::Fault;
use serde_json::json;
use suites::{World, count, race};

use crate::calendar::{
    assert_sound, calendar_version, create, created, delete, get, id_of, on_the_second,
    put_waiting, reminder, send_reminders, update, waiting, with,
};

const WRITE: &str = "TransactWriteItems";

#[tokio::test(start_paused = true)]
async fn every_write_survives_the_loss_of_its_first_answer() {
    let world = World::start().await;
    world.faults.always(WRITE, Fault::LostFirstAnswer);
    for caller in [world.as_member("m1"), world.as_member("m1").with("idempotency-key", "k")] {
        let wanted = with(on_the_second("09:00", "10:00"), "remindBeforeMinutes", 10);
        let first = create(&caller, wanted).await.expect(201);
        let id = id_of(&first);
        assert_eq!(first.json["version"], 1);
        let moved = with(on_the_second("09:30", "10:30"), "remindBeforeMinutes", 10);
        let seeing = world.as_member("m1").with("if-match", "\"1\"");
        assert_eq!(update(&seeing, &id, moved.clone()).await.expect(200).json["version"], 2);
        let renamed = with(moved, "title", "Doctor");
        assert_eq!(update(&caller, &id, renamed.clone()).await.expect(200).json["version"], 3);
        assert_sound(&world, "m1").await;
        let forgotten = with(renamed, "remindBeforeMinutes", json!(null));
        assert_eq!(update(&caller, &id, forgotten).await.expect(200).json["version"], 4);
        assert_sound(&world, "m1").await;
        delete(&caller, &id).await.expect(204);
        delete(&caller, &id).await.refused(404, "SCHEDULE_NOT_FOUND");
    }
    assert!(world.faults.met() >= 10);
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_leaves_one_schedule_and_a_201() {
    for lost in [1, 2, 3, 7] {
        let world = World::start().await;
        world.faults.next(WRITE, &Fault::LostAnswer, lost);
        let wanted = with(on_the_second("09:00", "10:00"), "remindBeforeMinutes", 10);
        create(&world.as_member("m1"), wanted).await.expect(201);
        assert_eq!(world.faults.met(), lost);
        assert_eq!(assert_sound(&world, "m1").await.reminders.len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn when_every_answer_is_lost_nothing_is_promised_and_the_key_finds_the_schedule() {
    let world = World::start().await;
    world.faults.always(WRITE, Fault::LostAnswer);
    let caller = world.as_member("m1").with("idempotency-key", "k-1");
    let wanted = on_the_second("09:00", "10:00");
    let refused = create(&caller, wanted.clone()).await.refused(503, "BUSY");
    assert_eq!(refused.headers["retry-after"], "1");
    world.faults.stop();
    // Its own schedule is in the way, and is the answer.
    let found = create(&caller, wanted.clone()).await.expect(201);
    assert_eq!(create(&caller, wanted.clone()).await.expect(201).json, found.json);
    let there = create(&world.as_member("m1"), wanted).await.refused(409, "SCHEDULE_CONFLICT");
    assert_eq!(there.json["conflictsWith"], found.json["id"]);
    assert_eq!(assert_sound(&world, "m1").await.schedules.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn when_no_request_arrives_nothing_is_changed() {
    let world = World::start().await;
    let caller = world.as_member("m1").with("idempotency-key", "k-1");
    let wanted = with(on_the_second("09:00", "10:00"), "remindBeforeMinutes", 10);
    let id = created(&world.as_member("m1"), on_the_second("12:00", "13:00")).await;
    for fault in [Fault::LostRequest, Fault::Throttled, Fault::ServerError] {
        world.faults.always(WRITE, fault);
        create(&caller, wanted.clone()).await.refused(503, "BUSY");
        update(&caller, &id, wanted.clone()).await.refused(503, "BUSY");
        delete(&caller, &id).await.refused(503, "BUSY");
    }
    world.faults.stop();
    let holdings = assert_sound(&world, "m1").await;
    assert_eq!((holdings.schedules.len(), holdings.schedules[0].version), (1, 1));
    create(&caller, wanted).await.expect(201);
}

#[tokio::test(start_paused = true)]
async fn what_passes_is_waited_out() {
    let world = World::start().await;
    let caller = world.as_member("m1");
    for fault in [Fault::LostRequest, Fault::ServerError, Fault::Throttled] {
        world.faults.next(WRITE, &fault, 3);
        let id = created(&caller, on_the_second("09:00", "10:00")).await;
        world.faults.next(WRITE, &fault, 3);
        update(&caller, &id, on_the_second("09:30", "10:30")).await.expect(200);
        world.faults.next(WRITE, &fault, 3);
        delete(&caller, &id).await.expect(204);
    }
    for places in [vec![0], vec![1], vec![0, 1]] {
        let fault = Fault::Conflict(places);
        world.faults.next(WRITE, &fault, 3);
        let id = created(&caller, on_the_second("09:00", "10:00")).await;
        world.faults.next(WRITE, &fault, 3);
        update(&caller, &id, on_the_second("09:30", "10:30")).await.expect(200);
        world.faults.next(WRITE, &fault, 3);
        delete(&caller, &id).await.expect(204);
    }
    assert_eq!(world.faults.met(), 54);
    assert!(assert_sound(&world, "m1").await.schedules.is_empty());
}

#[tokio::test(start_paused = true)]
async fn contention_past_the_budget_is_503_and_changes_nothing() {
    let world = World::start().await;
    let caller = world.as_member("m1");
    let id = created(&caller, on_the_second("09:00", "10:00")).await;
    world.faults.always(WRITE, Fault::Conflict(vec![0]));
    create(&caller, on_the_second("11:00", "12:00")).await.refused(503, "BUSY");
    update(&caller, &id, on_the_second("11:00", "12:00")).await.refused(503, "BUSY");
    delete(&caller, &id).await.refused(503, "BUSY");
    world.faults.stop();
    assert_eq!(assert_sound(&world, "m1").await.schedules[0].version, 1);
}

#[tokio::test(start_paused = true)]
async fn what_arrived_late_is_met_as_ones_own() {
    for key in [None, Some("k-1")] {
        let world = World::start().await;
        let mut caller = world.as_member("m1");
        if let Some(key) = key {
            caller = caller.with("idempotency-key", key);
        }
        world.faults.next(WRITE, &Fault::LateSuccess(vec![0]), 1);
        let first = create(&caller, on_the_second("09:00", "10:00")).await.expect(201);
        let id = id_of(&first);
        assert_eq!(get(&caller, &id).await.expect(200).json, first.json);
        assert_eq!(calendar_version(&world, "m1").await, 1, "written once");
        world.faults.next(WRITE, &Fault::LateSuccess(vec![0]), 1);
        let seeing = caller.clone().with("if-match", "\"1\"");
        let moved = update(&seeing, &id, on_the_second("09:30", "10:30")).await.expect(200);
        assert_eq!(moved.json["version"], 2);
        assert_eq!(get(&caller, &id).await.expect(200).json, moved.json);
        assert_eq!(assert_sound(&world, "m1").await.schedules.len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn reads_are_tried_again_and_then_given_up() {
    let world = World::start().await;
    let caller = world.as_member("m1");
    let id = created(&caller, on_the_second("09:00", "10:00")).await;
    for operation in ["GetItem", "BatchGetItem", "Query"] {
        for fault in [Fault::Throttled, Fault::ServerError, Fault::LostAnswer] {
            world.faults.next(operation, &fault, 2);
        }
        get(&caller, &id).await.expect(200);
        caller.get("/schedules").await.expect(200);
        update(&caller, &id, on_the_second("09:30", "10:30")).await.expect(200);
        update(&caller, &id, on_the_second("09:00", "10:00")).await.expect(200);
        world.faults.stop();
        world.faults.always(operation, Fault::Throttled);
        match operation {
            "GetItem" => get(&caller, &id).await.refused(503, "BUSY"),
            _ => caller.get("/schedules").await.refused(503, "BUSY"),
        };
        world.faults.stop();
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_cannot_succeed_is_a_500_that_tells_nothing() {
    let world = World::start().await;
    let caller = world.as_member("m1");
    world.faults.next(WRITE, &Fault::Rejected, 1);
    let failed = create(&caller, on_the_second("09:00", "10:00")).await;
    let failed = failed.refused(500, "INTERNAL");
    assert!(!failed.json.to_string().contains("Validation"), "{}", failed.json);
    assert_eq!(failed.usage.calls_of(WRITE), 1, "not tried again");
    create(&caller, on_the_second("09:00", "10:00")).await.expect(201);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_race_in_which_every_first_answer_is_lost_is_still_exact() {
    let world = World::start().await;
    let caller = world.as_member("m1");
    world.faults.always(WRITE, Fault::LostFirstAnswer);
    let hour = |n: u32| {
        let hour = 9 + n % 4;
        let times = on_the_second(&format!("{hour:02}:00"), &format!("{hour:02}:30"));
        with(times, "remindBeforeMinutes", n)
    };
    let answers = race(0..16, |n| create(&caller, hour(n))).await;
    assert_eq!((count(&answers, 201), count(&answers, 409)), (4, 12));
    let holdings = assert_sound(&world, "m1").await;
    assert_eq!((holdings.schedules.len(), holdings.reminders.len()), (4, 4));
    let ids: Vec<String> = holdings.reminders.into_keys().collect();
    let answers = race(ids.iter().chain(&ids).chain(&ids), |id| delete(&caller, id));
    assert_eq!(count(&answers.await, 204), 4);
    assert!(assert_sound(&world, "m1").await.schedules.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_reminder_is_sent_once_whatever_becomes_of_the_answers() {
    for fault in [
        Fault::LostFirstAnswer,
        Fault::LostAnswer,
        Fault::LostRequest,
        Fault::ServerError,
        Fault::Throttled,
        Fault::Conflict(vec![0]),
        Fault::LateSuccess(vec![0]),
    ] {
        let world = World::start().await;
        let wanted = with(on_the_second("09:00", "10:00"), "remindBeforeMinutes", 10);
        created(&world.as_member("m1"), wanted).await;
        world.clock.advance(33 * 60 * 60 * 1000);
        world.faults.next(WRITE, &fault, 2);
        send_reminders(&world).await;
        let sent = reminder(&world, "m1").await;
        assert_eq!(waiting(&world).await, 0, "{fault:?}");
        world.clock.advance(60 * 1000);
        send_reminders(&world).await;
        assert_eq!(reminder(&world, "m1").await, sent, "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_cannot_send_says_so_in_time_and_the_next_one_sends() {
    let world = World::start().await;
    put_waiting(&world, 300).await;
    world.faults.always(WRITE, Fault::Throttled);
    let run = world.cloud.invoke_event("send-reminders", json!({})).await.unwrap();
    assert_eq!(run.response.unwrap_err().code, "BUSY");
    let run_s = run.took.as_secs();
    assert!((45..60).contains(&run_s), "{run_s} s: as long as it may, but no longer");
    world.faults.stop();
    assert_eq!(waiting(&world).await, 300);
    send_reminders(&world).await;
    assert_eq!(waiting(&world).await, 0);
}
