//! take-pass.

use serde_json::json;
use suites::{World, count, race};

use crate::queue::{
    PASS, QUEUE, admitting, come_in, crowded, enter, poll, position_in, take, ticket, ticket_in,
    wait,
};

const MINUTE_MS: i64 = 60_000;

#[tokio::test]
async fn a_ticket_whose_turn_has_come_is_changed_into_a_pass_that_opens_the_sale() {
    let world = admitting(10).await;
    let ticket = ticket_in(&come_in(&world, "m").await);
    let taken = take(&world, "m", &ticket).await.expect(201);
    assert_eq!(taken.headers["location"], QUEUE);
    let expires_at = world.clock.now().plus_millis(30 * MINUTE_MS).to_string();
    assert_eq!(taken.json["expiresAt"], expires_at.as_str());
    let pass = taken.json["pass"].as_str().unwrap();
    let options = "/matches/final/booking-options";
    let asks =
        async |member: &str| world.as_member(member).with("X-Queue-Pass", pass).get(options).await;
    asks("m").await.expect(200);
    asks("n").await.refused(403, "PASS_REQUIRED");
    world.clock.advance(30 * MINUTE_MS - 1);
    asks("m").await.expect(200);
    world.clock.advance(1);
    asks("m").await.refused(403, "PASS_REQUIRED");
}

#[tokio::test]
async fn a_pass_is_the_same_whoever_asks_for_it_again() {
    let world = admitting(10).await;
    let entered = ticket(&world, "m").await;
    let admitted = ticket_in(&wait(&world, "m", entered.clone()).await);
    let first = take(&world, "m", &entered).await.expect(201);
    for ticket in [&entered, &admitted] {
        for _ in 0..2 {
            world.clock.advance(MINUTE_MS);
            assert_eq!(take(&world, "m", ticket).await.expect(201).json, first.json);
        }
    }
    world.clock.advance(26 * MINUTE_MS - 1);
    assert_eq!(take(&world, "m", &admitted).await.expect(201).json, first.json);
    world.clock.advance(1);
    take(&world, "m", &admitted).await.refused(403, "PASS_REQUIRED");
    let anew = ticket(&world, "m").await;
    let second = take(&world, "m", &ticket_in(&wait(&world, "m", anew).await)).await.expect(201);
    assert_ne!(second.json["pass"], first.json["pass"]);
}

#[tokio::test]
async fn callers_with_one_ticket_at_once_get_the_same_pass_byte_for_byte() {
    let world = admitting(10).await;
    let entered = ticket_in(&come_in(&world, "m").await);
    let taken = race(0..64, async |n| {
        if n % 2 == 0 {
            world.clock.advance(1); // nobody's own time ends up in a pass of its own
        }
        take(&world, "m", &entered).await
    });
    let taken = taken.await;
    assert_eq!(count(&taken, 201), 64);
    for answer in &taken {
        assert_eq!(answer.json.to_string(), taken[0].json.to_string());
    }
}

#[tokio::test]
async fn before_the_turn_there_is_no_pass_but_the_position() {
    let world = admitting(1).await;
    for n in 0..10 {
        enter(&world, &format!("m{n}")).await.expect(201);
    }
    let entered = enter(&world, "m").await.expect(201);
    assert_eq!(position_in(&entered), 11);
    let ticket = ticket_in(&entered);
    let mut before = position_in(&entered);
    let taken = loop {
        let answer = take(&world, "m", &ticket).await;
        if answer.status == 201 {
            break answer;
        }
        let refused = answer.refused(409, "NOT_ADMITTED");
        assert!(position_in(&refused) <= before, "turns come though nobody polls");
        assert!(refused.usage.read_units <= 2.0, "the match, and the entry");
        assert_eq!(refused.usage.write_units, 0.0);
        before = position_in(&refused);
        let polled = poll(&world, "m", &ticket).await.expect(200);
        assert!(position_in(&polled) <= before, "{} after {before}", polled.json);
        world.clock.advance(1_000);
    };
    assert_eq!(before, 1);
    assert!(taken.json["pass"].is_string());
}

#[tokio::test]
async fn whoever_was_told_of_the_admission_gets_the_pass_with_one_write() {
    let world = World::with_environments(1).await;
    world.a_match("final", json!({})).await;
    let other = come_in(&world, "other").await;
    take(&world, "other", &ticket_in(&other)).await.expect(201);
    let told = come_in(&world, "m").await;
    let taken = take(&world, "m", &ticket_in(&told)).await.expect(201);
    assert_eq!((taken.usage.total_calls(), taken.usage.calls_of("UpdateItem")), (1, 1));
    assert_eq!(taken.usage.write_units, 1.0);
    let again = take(&world, "m", &ticket_in(&told)).await.expect(201);
    assert_eq!(again.usage.total_calls(), 1, "a repeat reads nothing either");
}

#[tokio::test]
async fn no_pass_without_a_match() {
    let world = admitting(10).await;
    let ticket = ticket(&world, "m").await;
    let elsewhere = world.as_member("m").with("X-Queue-Ticket", &ticket);
    let path = "/matches/none/queue/pass";
    elsewhere.post(path, json!(null)).await.refused(400, "INVALID_REQUEST");
    let without = world.as_member("m").post(PASS, json!(null)).await;
    without.refused(400, "INVALID_REQUEST");
    poll(&world, "m", &ticket).await.expect(200);
}

#[tokio::test]
async fn whoever_hammers_for_a_pass_before_the_turn_is_refused_without_a_read() {
    let world = crowded().await;
    let entered = ticket(&world, "m").await;
    take(&world, "m", &entered).await.refused(409, "NOT_ADMITTED");
    for _ in 0..300 {
        world.clock.advance(1);
        let refused = take(&world, "m", &entered).await.refused(429, "TOO_MANY_REQUESTS");
        assert_eq!(refused.usage.total_calls(), 0);
        assert!(refused.headers["retry-after"].to_str().unwrap().parse::<u32>().unwrap() >= 8);
    }
    world.clock.advance(3_000);
    take(&world, "m", &entered).await.refused(409, "NOT_ADMITTED");
    world.clock.advance(100_000);
    for _ in 0..3 {
        take(&world, "m", &entered).await.expect(201);
    }
}
