//! Answers get lost, DynamoDB throttles, transactions collide: what a member is
//! told is still what happened.
//!
//! Tokio's clock is paused where a test waits out a budget, so none takes time.

use local::faults::Fault;
use serde_json::json;
use suites::{Caller, World, count, race};

const WRITE: &str = "TransactWriteItems";
const MINUTE_MS: i64 = 60_000;

/// Everything that a member can do, each step checked, with `fault` before each
/// write: `times` times, or always if that is 0.
async fn live(world: &World, caller: &Caller<'_>, fault: &Fault, times: u64) {
    let goes_wrong = || {
        world.faults.stop(); // what is left: a step may learn more from a read
        match times {
            0 => world.faults.always(WRITE, fault.clone()),
            times => world.faults.next(WRITE, fault, times),
        }
    };
    let paid = |order: &str| format!("p-{order}");
    goes_wrong();
    let hold = caller.held("final", &["A-1-1", "A-1-2"]).await;
    goes_wrong();
    caller.release(&hold).await.expect(204);
    world.assert_seats_sound(4).await;
    goes_wrong();
    let hold = caller.held("final", &["A-1-1", "A-1-2"]).await;
    goes_wrong();
    let placed = caller.order(&hold).await.expect(201);
    let order = placed.json["orderId"].as_str().unwrap();
    assert_eq!(caller.status(order).await, "PENDING_PAYMENT");
    world.assert_seats_sound(4).await;
    goes_wrong();
    caller.cancel(order).await.expect(204);
    assert_eq!(caller.status(order).await, "CANCELLED");
    goes_wrong();
    let owed = world.pay(order, &paid(order), 18_000).await.expect(200);
    assert_eq!(owed.json["status"], "REFUND_DUE");
    world.assert_seats_sound(4).await;
    goes_wrong();
    let hold = caller.held("final", &["A-1-1"]).await;
    goes_wrong();
    let placed = caller.order(&hold).await.expect(201);
    let order = placed.json["orderId"].as_str().unwrap();
    goes_wrong();
    let sold = world.pay(order, &paid(order), 9_000).await.expect(200);
    assert_eq!((&sold.json["status"], caller.status(order).await), (&"PAID".into(), "PAID".into()));
    world.assert_seats_sound(4).await;
    goes_wrong();
    caller.cancel(order).await.expect(204);
    assert_eq!(caller.status(order).await, "REFUND_DUE");
    assert!(world.bearers("final").await.is_empty());
    world.assert_seats_sound(4).await;
}

/// What goes wrong and passes.
fn faults() -> Vec<Fault> {
    let mut faults = vec![
        Fault::LostAnswer,
        Fault::LostFirstAnswer,
        Fault::LostRequest,
        Fault::ServerError,
        Fault::Throttled,
        Fault::Conflict(vec![0, 1, 2]),
        Fault::LateSuccess(vec![0, 1, 2]),
    ];
    for place in 0..3 {
        faults.push(Fault::Conflict(vec![place]));
        faults.push(Fault::LateSuccess(vec![place]));
    }
    faults
}

#[tokio::test(start_paused = true)]
async fn every_write_survives_the_loss_of_its_first_answer() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    live(&world, &world.admitted("final", "m"), &Fault::LostFirstAnswer, 0).await;
    assert_eq!(world.faults.met(), 10);
}

#[tokio::test(start_paused = true)]
async fn what_passes_is_waited_out_and_what_arrived_late_is_met_as_ones_own() {
    for fault in faults() {
        let world = World::start().await;
        world.a_match("final", json!({})).await;
        live(&world, &world.admitted("final", "m"), &fault, 1).await;
        live(&world, &world.admitted("final", "m"), &fault, 3).await;
        assert!(world.faults.met() >= 20, "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn late_orders_are_told_the_same_whatever_becomes_of_the_answers() {
    for fault in faults() {
        let world = World::start().await;
        world.a_match("final", json!({})).await;
        let [a, b] = ["a", "b"].map(|member| world.admitted("final", member));
        let lost = a.ordered("final", &["A-1-1", "A-1-2"]).await;
        world.clock.advance(10 * MINUTE_MS);
        let held = b.held("final", &["A-1-2"]).await;
        world.faults.next(WRITE, &fault, 2);
        let owed = world.pay(&lost, "p-1", 18_000).await.expect(200);
        world.faults.stop();
        assert_eq!(owed.json["status"], "REFUND_DUE", "{fault:?}");
        assert_eq!(world.pay(&lost, "p-1", 18_000).await.expect(200).json, owed.json);
        let also_lost = a.ordered("final", &["A-1-1", "A-1-3"]).await;
        world.clock.advance(10 * MINUTE_MS);
        let [a, b] = ["a", "b"].map(|member| world.admitted("final", member));
        let of_b = b.held("final", &["A-1-3"]).await;
        world.faults.next(WRITE, &fault, 2);
        a.cancel(&also_lost).await.expect(204);
        world.faults.next(WRITE, &fault, 2);
        b.release(&held).await.expect(204);
        world.faults.stop();
        assert_eq!(world.bearers("final").await, [("A-1-3".to_owned(), of_b)].into());
        world.assert_seats_sound(4).await;
    }
}

#[tokio::test(start_paused = true)]
async fn when_every_answer_is_lost_nothing_is_promised_and_the_same_again_finds_it_done() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let caller = world.admitted("final", "m").with("Idempotency-Key", "k");
    let silent = || world.faults.always(WRITE, Fault::LostAnswer);
    silent();
    let busy = caller.hold("final", &["A-1-1"]).await.refused(503, "BUSY");
    assert_eq!(busy.headers["retry-after"], "1");
    world.faults.stop();
    let hold = caller.held("final", &["A-1-1"]).await;
    let plain = world.admitted("final", "m");
    assert_eq!(plain.hold("final", &["A-1-1"]).await.json["existing"], *hold);
    silent();
    caller.order(&hold).await.refused(503, "BUSY");
    world.faults.stop();
    let placed = plain.order(&hold).await.expect(201);
    assert_eq!(caller.order(&hold).await.expect(201).json, placed.json);
    let order = placed.json["orderId"].as_str().unwrap();
    silent();
    world.pay(order, "p-1", 9_000).await.refused(503, "BUSY");
    world.faults.stop();
    assert_eq!(world.pay(order, "p-1", 9_000).await.expect(200).json["status"], "PAID");
    silent();
    caller.cancel(order).await.refused(503, "BUSY");
    world.faults.stop();
    caller.cancel(order).await.expect(204);
    assert_eq!(caller.status(order).await, "REFUND_DUE");
    let hold = plain.held("final", &["A-1-1"]).await;
    silent();
    plain.release(&hold).await.refused(503, "BUSY");
    world.faults.stop();
    plain.release(&hold).await.refused(404, "HOLD_NOT_FOUND");
    assert!(world.bearers("final").await.is_empty());
    world.assert_seats_sound(4).await;
}

#[tokio::test(start_paused = true)]
async fn contention_past_the_budget_is_503_and_changes_nothing() {
    for fault in [Fault::Conflict(vec![2]), Fault::Throttled, Fault::LostRequest] {
        let world = World::start().await;
        world.a_match("final", json!({})).await;
        let [a, b] = ["a", "b"].map(|member| world.admitted("final", member));
        let order = a.ordered("final", &["A-1-1"]).await;
        let hold = b.held("final", &["A-1-2"]).await;
        let before = world.bearers("final").await;
        world.faults.always(WRITE, fault);
        let c = world.admitted("final", "c");
        c.hold("final", &["A-1-3"]).await.refused(503, "BUSY");
        b.order(&hold).await.refused(503, "BUSY");
        b.release(&hold).await.refused(503, "BUSY");
        world.pay(&order, "p-1", 9_000).await.refused(503, "BUSY");
        a.cancel(&order).await.refused(503, "BUSY");
        world.faults.stop();
        assert_eq!(world.bearers("final").await, before);
        assert_eq!(a.status(&order).await, "PENDING_PAYMENT");
        world.assert_seats_sound(4).await;
        c.hold("final", &["A-1-3"]).await.expect(201);
        b.order(&hold).await.expect(201);
        world.pay(&order, "p-1", 9_000).await.expect(200);
    }
}

#[tokio::test(start_paused = true)]
async fn reads_are_tried_again_and_then_given_up() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let caller = world.admitted("final", "m");
    for operation in ["GetItem", "BatchGetItem", "Query"] {
        let troubled = || {
            for fault in [Fault::Throttled, Fault::ServerError, Fault::LostAnswer] {
                world.faults.next(operation, &fault, 1);
            }
        };
        troubled();
        let hold = caller.held("final", &["A-1-1"]).await;
        troubled();
        let order = caller.order(&hold).await.expect(201).json["orderId"].clone();
        let order = order.as_str().unwrap();
        troubled();
        world.pay(order, &format!("p-{operation}"), 9_000).await.expect(200);
        troubled();
        caller.get("/orders").await.expect(200);
        troubled();
        caller.cancel(order).await.expect(204);
        world.faults.stop();
        world.faults.always(operation, Fault::Throttled);
        match operation {
            "GetItem" => caller.cancel(order).await.refused(503, "BUSY"),
            "BatchGetItem" => world.pay(order, "p", 9_000).await.refused(503, "BUSY"),
            _ => caller.get("/orders").await.refused(503, "BUSY"),
        };
        world.faults.stop();
    }
    world.assert_seats_sound(4).await;
}

#[tokio::test(start_paused = true)]
async fn a_request_that_cannot_succeed_is_a_500_that_tells_nothing() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    world.faults.next(WRITE, &Fault::Rejected, 1);
    let caller = world.admitted("final", "m");
    let failed = caller.hold("final", &["A-1-1"]).await.refused(500, "INTERNAL");
    assert!(!failed.json.to_string().contains("Validation"), "{}", failed.json);
    assert_eq!(failed.usage.calls_of(WRITE), 1, "not tried again");
    caller.hold("final", &["A-1-1"]).await.expect(201);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_race_in_which_every_first_answer_is_lost_is_still_exact() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    world.faults.always(WRITE, Fault::LostFirstAnswer);
    let world = &world;
    let seat = |n: usize| [format!("A-1-{}", n % 4 + 1)];
    let answers = race(0..64, |n| async move {
        world.admitted("final", &format!("m{n}")).hold("final", &seat(n)).await
    });
    let answers = answers.await;
    assert_eq!((count(&answers, 201), count(&answers, 409)), (4, 60));
    world.assert_seats_sound(4).await;
    let mut orders = Vec::new();
    for (n, answer) in answers.iter().enumerate().filter(|(_, answer)| answer.status == 201) {
        let hold = answer.json["holdId"].as_str().unwrap();
        let placed = world.admitted("final", &format!("m{n}")).order(hold).await.expect(201);
        orders.push((format!("m{n}"), placed.json["orderId"].as_str().unwrap().to_owned()));
    }
    let orders = &orders;
    let answers = race(0..64, |n| async move {
        let (member, order) = &orders[n % 4];
        match n / 4 % 2 {
            0 => world.pay(order, member, 9_000).await,
            _ => world.as_member(member).cancel(order).await,
        }
    });
    let answers = answers.await;
    assert_eq!((count(&answers, 200), count(&answers, 204)), (32, 32));
    assert!(world.bearers("final").await.is_empty());
    world.assert_seats_sound(4).await;
}
