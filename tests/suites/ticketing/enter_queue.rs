//! enter-queue.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use suites::{World, count, race};

use crate::queue::{
    QUEUE, admitting, come_in, enter, poll, poll_after_ms, position_in, take, ticket, ticket_in,
    turn_in, wait,
};

#[tokio::test]
async fn entering_takes_three_writes_and_no_read_and_again_one_that_is_refused() {
    let world = World::with_environments(1).await;
    world.a_match("final", json!({ "admitPerSecond": 1 })).await;
    let first = enter(&world, "first").await.expect(201);
    let usage = (first.usage.calls_of("UpdateItem"), first.usage.write_units);
    assert_eq!(usage, (4, 4.0), "the match, and a lane that stood still goes on from now");
    let entered = enter(&world, "m").await.expect(201);
    assert_eq!((entered.usage.total_calls(), entered.usage.calls_of("UpdateItem")), (3, 3));
    assert_eq!((entered.usage.read_units, entered.usage.write_units), (0.0, 3.0));
    assert_eq!(entered.headers["location"], QUEUE);
    assert!(ticket_in(&entered).len() < 1_000);
    assert!(position_in(&entered) >= 1);
    let again = enter(&world, "m").await.expect(201);
    assert_eq!((again.usage.total_calls(), again.usage.write_units), (1, 0.0));
}

#[tokio::test]
async fn many_who_enter_at_once_stand_one_behind_the_other() {
    let world = admitting(1).await;
    let answers = race(0..200, async |n| enter(&world, &format!("m{n}")).await).await;
    assert_eq!(count(&answers, 201), 200);
    let positions: BTreeSet<u64> = answers.iter().map(position_in).collect();
    assert_eq!(positions, (1..=200).collect(), "one lane has one place for each");
}

#[tokio::test]
async fn many_lanes_take_about_as_many_each_and_no_turn_twice() {
    for environments in [1, 64] {
        let world = World::with_environments(environments).await;
        world.a_match("final", json!({ "admitPerSecond": 100 })).await;
        let answers = race(0..320, async |n| enter(&world, &format!("m{n}")).await).await;
        assert_eq!(count(&answers, 201), 320);
        let positions: BTreeSet<u64> = answers.iter().map(position_in).collect();
        assert_eq!(positions.len(), 320, "nobody has another one's turn");
        let last = *positions.last().unwrap();
        // By chance alone a lane of twenty has hardly ever twice as many.
        let most = if environments == 1 { 320 } else { 640 };
        assert!(last <= most, "320 stand on {last} turns, in {environments} environments");
    }
}

#[tokio::test]
async fn what_is_told_follows_from_the_rate() {
    let world = admitting(2).await;
    let mut last = enter(&world, "m0").await.expect(201);
    let mut longest_ms = 0;
    for n in 1..400 {
        assert!((1..=10_000).contains(&poll_after_ms(&last)), "{}", last.json);
        longest_ms = longest_ms.max(poll_after_ms(&last));
        last = enter(&world, &format!("m{n}")).await.expect(201);
    }
    let (position, wait_s) = (position_in(&last), last.json["estimatedWaitSeconds"].as_u64());
    let expected_s = position.div_ceil(2);
    assert!((expected_s..=expected_s + 1).contains(&wait_s.unwrap()), "{}", last.json);
    assert!(longest_ms > 8_000, "far behind one asks seldom: {longest_ms}");
}

#[tokio::test]
async fn a_member_has_one_place_however_often_they_enter() {
    let world = admitting(20).await;
    let first = enter(&world, "m").await.expect(201);
    let turn = turn_in(&world, &first).await;
    for n in 0..400 {
        world.clock.advance(n % 3);
        let again = enter(&world, "m").await.expect(201);
        assert_eq!(turn_in(&world, &again).await, turn, "no better place, and no other one");
    }
    let other = enter(&world, "n").await.expect(201);
    assert!(position_in(&other) <= 20, "four hundred places ahead of everybody: {}", other.json);
    let admitted = wait(&world, "m", ticket_in(&first)).await;
    let pass = take(&world, "m", &ticket_in(&admitted)).await.expect(201).json;
    let again = enter(&world, "m").await.expect(201);
    assert_eq!(position_in(&again), 0, "who is in is told so");
    assert_eq!(take(&world, "m", &ticket_in(&again)).await.expect(201).json, pass);
}

#[tokio::test]
async fn when_a_pass_is_over_its_member_goes_to_the_end_and_the_older_ticket_is_worth_nothing() {
    let world = World::start().await;
    world.a_match("final", json!({ "admitPerSecond": 1, "passMinutes": 1 })).await;
    let older = ticket_in(&come_in(&world, "m").await);
    take(&world, "m", &older).await.expect(201);
    world.clock.advance(60_000);
    for n in 0..3 {
        enter(&world, &format!("m{n}")).await.expect(201);
    }
    take(&world, "m", &older).await.refused(403, "PASS_REQUIRED");
    let again = enter(&world, "m").await.expect(201);
    assert_eq!(position_in(&again), 4);
    take(&world, "m", &older).await.refused(409, "TICKET_REPLACED");
    poll(&world, "m", &older).await.refused(409, "TICKET_REPLACED");
    let admitted = wait(&world, "m", ticket_in(&again)).await;
    take(&world, "m", &ticket_in(&admitted)).await.expect(201);
}

#[tokio::test]
async fn a_member_who_enters_from_many_devices_at_once_takes_one_turn_and_gets_one_pass() {
    for devices in [2, 64, 400] {
        let world = admitting(1).await;
        let before = turn_in(&world, &enter(&world, "before").await).await;
        let entered = race(0..devices, async |_| enter(&world, "m").await).await;
        assert_eq!(count(&entered, 201), devices);
        for answer in &entered {
            assert_eq!(turn_in(&world, answer).await, before + 1);
        }
        assert_eq!(turn_in(&world, &enter(&world, "after").await).await, before + 2, "no gap");
        wait(&world, "m", ticket_in(&entered[0])).await;
        let taken = race(&entered, async |e| take(&world, "m", &ticket_in(e)).await).await;
        assert_eq!(count(&taken, 201), devices);
        assert!(taken.iter().all(|answer| answer.json == taken[0].json));
    }
}

#[tokio::test]
async fn the_queue_of_no_match_or_of_a_sale_that_is_over_cannot_be_entered() {
    let world = admitting(10).await;
    let nowhere = world.as_member("m").post("/matches/none/queue", Value::Null).await;
    nowhere.refused(404, "MATCH_NOT_FOUND");
    let bad = world.as_member("m").post("/matches/a%20b/queue", Value::Null).await;
    bad.refused(400, "INVALID_REQUEST");
    let ticket = ticket(&world, "m").await;
    world.clock.advance(365 * 24 * 60 * 60 * 1000);
    enter(&world, "m").await.refused(409, "SALE_CLOSED");
    poll(&world, "m", &ticket).await.refused(409, "SALE_CLOSED");
    take(&world, "m", &ticket).await.refused(409, "SALE_CLOSED");
}
