//! enter-queue.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use suites::{World, count, race};
use ticketing::{entry, matches};

use crate::queue::{
    QUEUE, admitting, enter, environment, lanes, poll, poll_after_ms, position_in, take, ticket,
    ticket_in, wait,
};

#[tokio::test]
async fn entering_takes_two_writes_and_no_read() {
    let world = World::with_environments(1).await;
    world.a_match("final", json!({})).await;
    enter(&world, "first").await.expect(201);
    let entered = enter(&world, "m").await.expect(201);
    assert_eq!((entered.usage.total_calls(), entered.usage.calls_of("UpdateItem")), (2, 2));
    assert_eq!((entered.usage.read_units, entered.usage.write_units), (0.0, 2.0));
    assert_eq!(entered.headers["location"], QUEUE);
    assert!(ticket_in(&entered).len() < 1_000);
    assert!(position_in(&entered) >= 1);
    let again = enter(&world, "m").await.expect(201);
    assert_eq!(again.usage.write_units, 2.0, "also when a ticket is replaced");
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
async fn many_lanes_take_about_as_many_each_and_no_place_twice() {
    let world = admitting(16).await;
    let answers = race(0..320, async |n| enter(&world, &format!("m{n}")).await).await;
    assert_eq!(count(&answers, 201), 320);
    let lanes = lanes(&environment(&world, 0), 16).await;
    assert_eq!(lanes.iter().map(|lane| lane.tail).sum::<u64>(), 320);
    assert!(lanes.iter().all(|lane| (4..60).contains(&lane.tail)), "{lanes:?}");
    for answer in &answers {
        assert_eq!(position_in(answer) % 16, 1, "people ahead in the lane, times the lanes");
    }
}

#[tokio::test]
async fn what_is_told_follows_from_the_rate() {
    let world = admitting(2).await;
    let mut last = enter(&world, "m0").await.expect(201);
    let mut longest_ms = 0;
    for n in 1..400 {
        assert!((1_000..=10_000).contains(&poll_after_ms(&last)), "{}", last.json);
        longest_ms = longest_ms.max(poll_after_ms(&last));
        last = enter(&world, &format!("m{n}")).await.expect(201);
    }
    let (position, wait_s) = (position_in(&last), last.json["estimatedWaitSeconds"].as_u64());
    let expected_s = (position + 1).div_ceil(2);
    assert!((expected_s..=expected_s + 1).contains(&wait_s.unwrap()), "{}", last.json);
    assert!(longest_ms > 8_000, "far behind one asks seldom: {longest_ms}");
}

#[tokio::test]
async fn whoever_enters_again_goes_to_the_end_and_the_older_ticket_is_worth_nothing() {
    let world = admitting(1).await;
    let older = ticket(&world, "m").await;
    for n in 0..3 {
        enter(&world, &format!("m{n}")).await.expect(201);
    }
    let again = enter(&world, "m").await.expect(201);
    assert_eq!(position_in(&again), 5);
    take(&world, "m", &older).await.refused(409, "TICKET_REPLACED");
    let admitted = wait(&world, "m", older.clone()).await;
    take(&world, "m", &ticket_in(&admitted)).await.refused(409, "TICKET_REPLACED");
    let admitted = wait(&world, "m", ticket_in(&again)).await;
    take(&world, "m", &ticket_in(&admitted)).await.expect(201);
    take(&world, "m", &older).await.refused(409, "TICKET_REPLACED");
}

#[tokio::test]
async fn a_ticket_that_was_replaced_does_not_wait_for_its_turn() {
    let world = admitting(1).await;
    for n in 0..3 {
        enter(&world, &format!("m{n}")).await.expect(201);
    }
    let older = ticket(&world, "m").await;
    enter(&world, "m").await.expect(201);
    take(&world, "m", &older).await.refused(409, "TICKET_REPLACED");
}

#[tokio::test]
async fn of_a_member_who_enters_from_many_devices_at_once_exactly_one_ticket_works() {
    for devices in [2, 64] {
        let world = admitting(1_000).await;
        let entered = race(0..devices, async |_| enter(&world, "m").await).await;
        assert_eq!(count(&entered, 201), devices);
        for answer in &entered {
            wait(&world, "m", ticket_in(answer)).await;
        }
        let taken = race(&entered, async |e| take(&world, "m", &ticket_in(e)).await).await;
        assert_eq!((count(&taken, 201), count(&taken, 409)), (1, devices - 1));
    }
}

#[tokio::test]
async fn an_entry_comes_after_those_before_it_whatever_the_clocks_say() {
    let world = admitting(10).await;
    let environments = [environment(&world, 10_000), environment(&world, 0)];
    let id = "final".parse().unwrap();
    let mut last = String::new();
    for app in environments.iter().cycle().take(6) {
        let the_match = matches::get(app, &id).await.unwrap();
        let nonce = entry::enter(app, &the_match, "m").await.unwrap();
        assert!(nonce > last, "one that was sent before could take the place of {last}");
        last = nonce;
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
