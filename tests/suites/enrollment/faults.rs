//! Answers get lost, DynamoDB throttles, transactions collide: what a student
//! is told is still what happened.
//!
//! Tokio's clock is paused where a test waits out a budget, so none takes time.

use local::faults::Fault;
use serde_json::json;
use suites::{World, count, course, race, student};

const WRITE: &str = "TransactWriteItems";

async fn world() -> World {
    let world = World::start().await;
    world.course(101, 5).await;
    world.students(2).await;
    world
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_leaves_one_enrollment_one_seat_less_and_a_201() {
    for lost in [1, 2, 3, 7] {
        let world = world().await;
        world.faults.next(WRITE, &Fault::LostAnswer, lost);
        world.enroll(1, 101).await.expect(201);
        assert_eq!(world.faults.met(), lost);
        assert_eq!(world.seats(101).await, (5, 1, 4));
        world.assert_consistent(&[101], 2).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_conflict_after_a_lost_answer_may_be_with_oneself() {
    let world = world().await;
    world.enroll(1, 101).await.expect(201);
    world.faults.next(WRITE, &Fault::LostAnswer, 1);
    world.faults.next(WRITE, &Fault::Conflict(vec![0, 1, 2]), 2);
    world.drop_course(1, 101).await.expect(204);
    assert_eq!(world.faults.met(), 3);
    world.drop_course(1, 101).await.refused(404, "ENROLLMENT_NOT_FOUND");
    assert_eq!(world.seats(101).await, (5, 0, 5));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_never_arrived_is_sent_again() {
    let world = world().await;
    for fault in [Fault::LostRequest, Fault::ServerError, Fault::Throttled] {
        world.faults.next(WRITE, &fault, 3);
        world.enroll(1, 101).await.expect(201);
        world.drop_course(1, 101).await.expect(204);
    }
    assert_eq!(world.faults.met(), 9);
    world.assert_consistent(&[101], 2).await;
}

#[tokio::test(start_paused = true)]
async fn when_every_answer_is_lost_nothing_is_promised_and_the_key_finds_the_enrollment() {
    let world = world().await;
    world.faults.always(WRITE, Fault::LostAnswer);
    let caller = world.as_member("m1").with("idempotency-key", "k-1");
    let refused = caller.enroll(1, 101).await.refused(503, "BUSY");
    assert_eq!(refused.headers["retry-after"], "1");
    world.faults.stop();
    let found = caller.enroll(1, 101).await.expect(201);
    assert_eq!(caller.enroll(1, 101).await.expect(201).json, found.json);
    assert_eq!(world.seats(101).await, (5, 1, 4));
    world.assert_consistent(&[101], 2).await;
}

#[tokio::test(start_paused = true)]
async fn when_no_request_arrives_nothing_is_changed_and_the_key_enrolls_later() {
    let world = world().await;
    let caller = world.as_member("m1").with("idempotency-key", "k-1");
    for fault in [Fault::LostRequest, Fault::Throttled, Fault::ServerError] {
        world.faults.always(WRITE, fault);
        caller.enroll(1, 101).await.refused(503, "BUSY");
    }
    world.faults.stop();
    assert_eq!(world.seats(101).await, (5, 0, 5));
    caller.enroll(1, 101).await.expect(201);
    assert_eq!(world.seats(101).await, (5, 1, 4));
}

#[tokio::test(start_paused = true)]
async fn every_write_survives_the_loss_of_its_first_answer() {
    let world = World::start().await;
    world.faults.always(WRITE, Fault::LostFirstAnswer);
    let staff = world.as_staff();
    for capacity in [300, 280, 310] {
        world.course(101, capacity).await;
        assert_eq!(world.seats(101).await, (capacity, 0, capacity));
    }
    let mut renamed = course(310, "MON", 1, 3);
    renamed["name"] = "Renamed".into();
    assert_eq!(staff.put("/courses/101", renamed).await.expect(200).json["name"], "Renamed");
    staff.put("/students/1", student(1, 18)).await.expect(201);
    staff.put("/students/1", student(1, 20)).await.expect(200);
    world.enroll(1, 101).await.expect(201);
    let timetable = staff.get("/students/1/enrollments").await.expect(200).json;
    assert_eq!(timetable["credits"], json!({ "taken": 3, "max": 20 }));
    world.drop_course(1, 101).await.expect(204);
    world.drop_course(1, 101).await.refused(404, "ENROLLMENT_NOT_FOUND");
    assert_eq!(world.seats(101).await, (310, 0, 310));
    assert!(world.faults.met() > 8);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_sell_out_in_which_every_first_answer_is_lost_is_still_exact() {
    let world = World::start().await;
    world.students(64).await;
    world.course(101, 30).await;
    world.faults.always(WRITE, Fault::LostFirstAnswer);
    let answers = race(1..=64, |student| world.enroll(student, 101)).await;
    assert_eq!(count(&answers, 201), 30);
    assert_eq!(answers.iter().filter(|answer| answer.code() == "COURSE_FULL").count(), 34);
    let drops = race(1..=64, |student| world.drop_course(student, 101)).await;
    assert_eq!(count(&drops, 204), 30);
    assert_eq!(world.seats(101).await, (30, 0, 30));
    world.assert_consistent(&[101], 64).await;
}

#[tokio::test(start_paused = true)]
async fn a_stripe_that_is_held_is_left_for_another() {
    let world = world().await;
    world.faults.next(WRITE, &Fault::Conflict(vec![1]), 3);
    world.enroll(1, 101).await.expect(201);
    assert_eq!(world.faults.met(), 3);
    assert_eq!(world.seats(101).await, (5, 1, 4));
}

#[tokio::test(start_paused = true)]
async fn an_enrollment_that_arrived_late_is_met_as_ones_own() {
    for places in [vec![0], vec![1], vec![0, 1, 2]] {
        let world = world().await;
        world.faults.next(WRITE, &Fault::LateSuccess(places), 1);
        let created = world.enroll(1, 101).await.expect(201);
        assert_eq!(created.usage.calls_of(WRITE), 2);
        assert_eq!(world.seats(101).await, (5, 1, 4));
        world.assert_consistent(&[101], 2).await;
        world.enroll(1, 101).await.refused(409, "ALREADY_ENROLLED");
    }
}

#[tokio::test(start_paused = true)]
async fn a_plan_that_is_held_is_waited_for() {
    let world = world().await;
    world.faults.next(WRITE, &Fault::Conflict(vec![0]), 3);
    world.enroll(1, 101).await.expect(201);
    world.faults.next(WRITE, &Fault::Conflict(vec![0, 1, 2]), 3);
    world.drop_course(1, 101).await.expect(204);
    assert_eq!(world.seats(101).await, (5, 0, 5));
}

#[tokio::test(start_paused = true)]
async fn contention_past_the_budget_is_503_and_changes_nothing() {
    let world = world().await;
    world.faults.always(WRITE, Fault::Conflict(vec![0]));
    world.enroll(1, 101).await.refused(503, "BUSY");
    world.faults.always(WRITE, Fault::Conflict(vec![1]));
    world.enroll(1, 101).await.refused(503, "BUSY");
    world.faults.stop();
    assert_eq!(world.seats(101).await, (5, 0, 5));
}

#[tokio::test(start_paused = true)]
async fn losers_do_not_queue_for_a_full_course_that_is_contended() {
    let world = World::with_environments(1).await;
    world.course(101, 1).await;
    world.students(2).await;
    world.enroll(1, 101).await.expect(201);
    world.enroll(2, 101).await.refused(409, "COURSE_FULL");
    world.faults.always(WRITE, Fault::Conflict(vec![1]));
    let refused = world.enroll(2, 101).await.refused(409, "COURSE_FULL");
    assert_eq!(refused.usage.total_calls(), 2, "one try, one read");
    world.enroll(1, 101).await.refused(409, "ALREADY_ENROLLED");
}

#[tokio::test(start_paused = true)]
async fn reads_are_tried_again_and_then_given_up() {
    let world = world().await;
    for operation in ["GetItem", "BatchGetItem", "Query"] {
        for fault in [Fault::Throttled, Fault::ServerError, Fault::LostAnswer] {
            world.faults.next(operation, &fault, 2);
        }
        world.clock.advance(5_000);
        world.as_nobody().get("/courses/101").await.expect(200);
        world.as_nobody().get("/courses").await.expect(200);
        world.faults.stop();
        world.faults.always(operation, Fault::Throttled);
        world.clock.advance(5_000);
        let path = if operation == "Query" { "/courses" } else { "/courses/101" };
        world.as_nobody().get(path).await.refused(503, "BUSY");
        world.faults.stop();
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_cannot_succeed_is_a_500_that_tells_nothing() {
    let world = world().await;
    world.faults.next(WRITE, &Fault::Rejected, 1);
    let failed = world.enroll(1, 101).await.refused(500, "INTERNAL");
    assert!(!failed.json.to_string().contains("Validation"), "{}", failed.json);
    assert_eq!(failed.usage.total_calls(), 2, "not tried again");
    world.enroll(1, 101).await.expect(201);
}
