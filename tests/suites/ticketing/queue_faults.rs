//! Answers get lost and DynamoDB throttles: nobody loses a place, and nobody is
//! told what did not happen.
//!
//! Tokio's clock is paused where a test waits out a budget, so none takes time.

use local::faults::Fault;
use suites::{World, count, race};
use ticketing::lane::Lane;

use crate::queue::{
    admitting, enter, environment, lanes, poll, position_in, take, ticket, ticket_in, wait,
};

const WRITE: &str = "UpdateItem";

async fn tails(world: &World) -> u64 {
    lanes(&environment(world, 0), 16).await.iter().map(|lane| lane.tail).sum()
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_costs_at_most_numbers_that_nobody_has() {
    for lost in 1..=4 {
        let world = admitting(16).await;
        world.faults.next(WRITE, &Fault::LostAnswer, lost);
        let entered = enter(&world, "m").await.expect(201);
        assert_eq!(world.faults.met(), lost);
        let gaps = tails(&world).await - 1;
        assert_eq!(gaps, entered.usage.unknown_outcomes, "each of which is counted");
        let admitted = wait(&world, "m", ticket_in(&entered)).await;
        take(&world, "m", &ticket_in(&admitted)).await.expect(201);
    }
}

#[tokio::test(start_paused = true)]
async fn many_who_enter_while_every_first_answer_is_lost_all_get_a_ticket_that_works() {
    let world = admitting(16).await;
    world.faults.next(WRITE, &Fault::LostAnswer, 40);
    let members: Vec<String> = (0..64).map(|n| format!("m{n}")).collect();
    let entered = race(&members, async |member| enter(&world, member).await).await;
    assert_eq!((count(&entered, 201), world.faults.met()), (64, 40));
    let lost: u64 = entered.iter().map(|answer| answer.usage.unknown_outcomes).sum();
    assert_eq!(tails(&world).await, 64 + lost);
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
        assert_eq!(position_in(&entered), 1, "{fault:?}");
        world.faults.next(WRITE, &fault, 3);
        world.faults.next("GetItem", &fault, 3);
        let admitted = poll(&world, "m", &ticket_in(&entered)).await.expect(200);
        assert_eq!(admitted.json["admitted"], true);
        world.faults.next(WRITE, &fault, 3);
        take(&world, "m", &ticket_in(&admitted)).await.expect(201);
        let other = ticket(&world, "n").await;
        world.clock.advance(5_000);
        world.faults.next("BatchGetItem", &fault, 3);
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

#[tokio::test(start_paused = true)]
async fn a_lane_that_cannot_be_moved_on_is_told_as_it_is() {
    let world = admitting(1).await;
    enter(&world, "first").await.expect(201);
    let entered = enter(&world, "m").await.expect(201);
    world.faults.always(WRITE, Fault::Throttled);
    let told = poll(&world, "m", &ticket_in(&entered)).await.expect(200);
    assert_eq!((position_in(&told), &told.json["admitted"]), (2, &false.into()));
    world.faults.stop();
    world.clock.advance(2_000);
    wait(&world, "m", ticket_in(&told)).await;
}

#[tokio::test(start_paused = true)]
async fn a_move_whose_answer_is_lost_moves_the_lane_once() {
    let world = admitting(3).await;
    let tickets: Vec<String> = {
        let mut tickets = Vec::new();
        for n in 0..60 {
            tickets.push(ticket(&world, &format!("m{n}")).await);
        }
        tickets
    };
    let app = environment(&world, 0);
    world.faults.always(WRITE, Fault::LostFirstAnswer);
    for round in 1..=5 {
        for (n, ticket) in tickets.iter().enumerate() {
            poll(&world, &format!("m{n}"), ticket).await.expect(200);
        }
        let cursors: Vec<u64> = lanes(&app, 3).await.iter().map(Lane::cursor).collect();
        assert_eq!(cursors, [round; 3]);
        world.clock.advance(15_000);
    }
    assert!(world.faults.met() >= 15);
}
