//! Answers get lost and DynamoDB throttles: nobody loses a place, and nobody is
//! told what did not happen.
//!
//! Tokio's clock is paused where a test waits out a budget, so none takes time.

use std::collections::BTreeSet;

use local::faults::Fault;
use platform::table::{Write, n, s};
use suites::{Answer, World, count, race};
use ticketing::{TABLE, keys};

use crate::queue::{
    admitting, enter, environment, poll, position_in, take, ticket, ticket_in, turn_in, wait,
};

const WRITE: &str = "UpdateItem";

/// How many turns were taken between those of two members who stand in one lane.
async fn between(world: &World, before: &Answer, after: &Answer) -> u64 {
    turn_in(world, after).await - turn_in(world, before).await - 1
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_costs_at_most_turns_that_nobody_has() {
    for lost in 1..=6 {
        let world = admitting(1).await;
        let before = enter(&world, "before").await.expect(201);
        world.faults.next(WRITE, &Fault::LostAnswer, lost);
        let entered = enter(&world, "m").await.expect(201);
        assert_eq!(world.faults.met(), lost);
        let after = enter(&world, "after").await.expect(201);
        let gaps = between(&world, &before, &after).await - 1;
        assert_eq!(gaps, entered.usage.unknown_outcomes, "each of which is counted");
        let admitted = wait(&world, "m", ticket_in(&entered)).await;
        take(&world, "m", &ticket_in(&admitted)).await.expect(201);
    }
}

#[tokio::test(start_paused = true)]
async fn one_turn_is_lost_if_the_answer_of_each_write_is() {
    let world = admitting(1).await;
    let before = enter(&world, "before").await.expect(201);
    world.faults.always(WRITE, Fault::LostFirstAnswer);
    let entered = enter(&world, "m").await.expect(201);
    assert_eq!(world.faults.met(), 3, "of the claim, of the turn and of the note");
    world.faults.stop();
    assert_eq!(between(&world, &before, &entered).await, 1);
    let again = enter(&world, "m").await.expect(201);
    assert_eq!(turn_in(&world, &again).await, turn_in(&world, &entered).await);
}

#[tokio::test(start_paused = true)]
async fn many_devices_of_a_member_have_one_place_while_every_first_answer_is_lost() {
    let world = admitting(1).await;
    world.faults.always(WRITE, Fault::LostFirstAnswer);
    let entered = race(0..64, async |_| enter(&world, "m").await).await;
    assert_eq!(count(&entered, 201), 64);
    let first = turn_in(&world, &entered[0]).await;
    for answer in &entered {
        assert_eq!(turn_in(&world, answer).await, first);
    }
    let admitted = wait(&world, "m", ticket_in(&entered[63])).await;
    take(&world, "m", &ticket_in(&admitted)).await.expect(201);
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_was_left_lapses_after_a_moment() {
    let world = admitting(1).await;
    let app = environment(&world, 0);
    let left = "SET nonce = :nonce, entered_at_ms = :now";
    let left = Write::update(keys::entry(&"final".parse().unwrap(), "m"), left)
        .bind(":nonce", s("of an environment that is gone"))
        .bind(":now", n(app.clock.now().as_millis()));
    app.table(TABLE).update(left).await.unwrap();
    for after_ms in [0, 2_999] {
        world.clock.advance(after_ms);
        let refused = enter(&world, "m").await.refused(429, "TOO_MANY_REQUESTS");
        assert_eq!(refused.headers["retry-after"], "3");
    }
    world.clock.advance(1);
    let entered = race(0..8, async |_| enter(&world, "m").await).await;
    assert_eq!(count(&entered, 201), 8);
    let admitted = wait(&world, "m", ticket_in(&entered[7])).await;
    take(&world, "m", &ticket_in(&admitted)).await.expect(201);
}

#[tokio::test(start_paused = true)]
async fn many_who_enter_while_every_first_answer_is_lost_all_get_a_ticket_that_works() {
    let world = admitting(16).await;
    world.faults.next(WRITE, &Fault::LostAnswer, 40);
    let members: Vec<String> = (0..64).map(|n| format!("m{n}")).collect();
    let entered = race(&members, async |member| enter(&world, member).await).await;
    assert_eq!((count(&entered, 201), world.faults.met()), (64, 40));
    let mut turns = BTreeSet::new();
    for answer in &entered {
        turns.insert(turn_in(&world, answer).await);
    }
    assert_eq!(turns.len(), 64);
    for (member, answer) in members.iter().zip(&entered) {
        let admitted = wait(&world, member, ticket_in(answer)).await;
        take(&world, member, &ticket_in(&admitted)).await.expect(201);
    }
}

#[tokio::test(start_paused = true)]
async fn what_passes_is_waited_out() {
    for fault in
        [Fault::LostRequest, Fault::ServerError, Fault::Throttled, Fault::Conflict(vec![0])]
    {
        let world = admitting(10).await;
        world.faults.next(WRITE, &fault, 4);
        let entered = enter(&world, "m").await.expect(201);
        assert!((1..=10).contains(&position_in(&entered)), "{fault:?}");
        world.clock.advance(1_000);
        world.faults.next("GetItem", &fault, 3);
        let admitted = poll(&world, "m", &ticket_in(&entered)).await.expect(200);
        assert_eq!(admitted.json["admitted"], true);
        world.faults.next(WRITE, &fault, 3);
        take(&world, "m", &ticket_in(&admitted)).await.expect(201);
        let other = ticket(&world, "n").await;
        world.faults.next("GetItem", &fault, 3);
        take(&world, "n", &other).await.refused(409, "NOT_ADMITTED");
        world.clock.advance(5_000);
        world.faults.next(WRITE, &fault, 3);
        take(&world, "n", &other).await.expect(201);
    }
}

#[tokio::test(start_paused = true)]
async fn when_nothing_can_be_written_nobody_gets_a_ticket_or_a_pass() {
    for fault in [Fault::LostRequest, Fault::Throttled, Fault::ServerError, Fault::LostAnswer] {
        let world = admitting(10).await;
        let older = ticket(&world, "m").await;
        let admitted = wait(&world, "m", older).await;
        world.faults.always(WRITE, fault.clone());
        take(&world, "m", &ticket_in(&admitted)).await.refused(503, "BUSY");
        enter(&world, "n").await.refused(503, "BUSY");
        world.faults.stop();
        take(&world, "m", &ticket_in(&admitted)).await.expect(201);
        world.clock.advance(3_000);
        let entered = ticket(&world, "n").await;
        let admitted = wait(&world, "n", entered).await;
        take(&world, "n", &ticket_in(&admitted)).await.expect(201);
    }
}

#[tokio::test(start_paused = true)]
async fn a_pass_is_the_same_after_lost_answers() {
    let world = admitting(10).await;
    let ticket = ticket_in(&wait(&world, "m", ticket(&world, "m").await).await);
    world.faults.next(WRITE, &Fault::LostAnswer, 3);
    let first = take(&world, "m", &ticket).await.expect(201);
    assert_eq!(world.faults.met(), 2 + 1, "the second time it meets its own success");
    assert_eq!(take(&world, "m", &ticket).await.expect(201).json, first.json);
}
