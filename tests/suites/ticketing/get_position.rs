//! get-position.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use suites::{World, count, race};
use ticketing::matches;
use ticketing::queue::Place;

use crate::queue::{
    QUEUE, admitting, bearing, come_in, crowded, enter, environment, poll, poll_after_ms,
    position_in, said, take, ticket as ticket_of, ticket_in, wait,
};

#[tokio::test]
async fn a_position_only_moves_forward_until_the_turn_has_come() {
    let world = admitting(20).await;
    let entered = race(0..200, async |n| enter(&world, &format!("m{n}")).await).await;
    // When each comes back, with which ticket, told which position.
    let mut waiting: BTreeMap<(i64, usize), (String, u64)> = (0..)
        .zip(&entered)
        .map(|(n, e)| ((poll_after_ms(e), n), (ticket_in(e), position_in(e))))
        .collect();
    let (mut at_ms, mut polls) = (0, 0);
    while let Some(((next_ms, n), (ticket, position))) = waiting.pop_first() {
        world.clock.advance(next_ms - at_ms);
        at_ms = next_ms;
        let answer = poll(&world, &format!("m{n}"), &ticket).await.expect(200);
        polls += 1;
        assert!(position_in(&answer) <= position, "{position} before {}", answer.json);
        assert_eq!(answer.json["admitted"], position_in(&answer) == 0);
        if position_in(&answer) > 0 {
            assert!(answer.json["estimatedWaitSeconds"].as_u64().unwrap() >= 1);
            let next_ms = at_ms + poll_after_ms(&answer);
            waiting.insert((next_ms, n), (ticket_in(&answer), position_in(&answer)));
        }
    }
    assert!((9_900..16_000).contains(&at_ms), "200 at 20 a second took {at_ms} ms");
    assert!(polls < 200 * 12, "{polls} polls");
}

#[tokio::test]
async fn a_ticket_that_was_told_a_position_is_never_told_a_later_one() {
    let world = admitting(1).await;
    for n in 0..20 {
        enter(&world, &format!("m{n}")).await.expect(201);
    }
    let entered = enter(&world, "m").await.expect(201);
    poll(&world, "m", &ticket_in(&entered)).await.expect(200);
    world.clock.advance(5_000);
    let told = poll(&world, "m", &ticket_in(&entered)).await.expect(200);
    assert!(position_in(&told) < position_in(&entered));
    // An environment whose clock is behind.
    let app = environment(&world, -3_000);
    let ticket = said(&app, &ticket_in(&told)).await;
    let (match_, now) = (matches::get(&app, &ticket.match_id).await.unwrap(), app.clock.now());
    assert!(ticket.turn - match_.turns(now) > position_in(&told));
    let place = Place::of(&app, &match_, ticket, now).await.unwrap();
    assert_eq!(place.position, position_in(&told));
}

#[tokio::test]
async fn a_poll_reads_nothing_but_the_match_and_one_of_the_admitted_their_entry() {
    let world = World::with_environments(1).await;
    world.a_match("final", json!({ "admitPerSecond": 4 })).await;
    let entered = race(0..100, async |n| enter(&world, &format!("m{n}")).await).await;
    let tickets: Vec<(String, String)> =
        (0..).zip(&entered).map(|(n, e)| (format!("m{n}"), ticket_in(e))).collect();
    let all = async || race(&tickets, async |(m, t)| poll(&world, m, t).await).await;
    let calls = |answers: &[suites::Answer]| -> (u64, u64) {
        let sum = |action| answers.iter().map(|a| a.usage.calls_of(action)).sum();
        (sum("GetItem"), answers.iter().map(|a| a.usage.total_calls()).sum())
    };
    let first = all().await;
    assert_eq!((count(&first, 200), calls(&first)), (100, (1, 1)), "the match");
    world.clock.advance(4_999);
    let soon = all().await;
    let admitted = soon.iter().filter(|answer| answer.json["admitted"] == true).count() as u64;
    assert_eq!((count(&soon, 200), calls(&soon)), (100, (admitted, admitted)));
    assert_eq!(admitted, 19, "four a second, in not quite five");
}

#[tokio::test]
async fn whoever_is_admitted_stays_admitted_whatever_happens_to_the_rate() {
    let world = admitting(100).await;
    let admitted = come_in(&world, "m").await;
    assert_eq!(admitted.json["estimatedWaitSeconds"], 0);
    world.clock.advance(60_000);
    world.as_staff().put("/matches/final", slower()).await.expect(200);
    world.clock.advance(60_000);
    take(&world, "m", &ticket_in(&admitted)).await.expect(201);
}

/// The match, with one admitted a second.
fn slower() -> Value {
    suites::ticketing::match_with(&json!({ "admitPerSecond": 1 }))
}

#[tokio::test]
async fn a_ticket_that_is_missing_or_of_somebody_or_something_else_is_refused() {
    let world = admitting(10).await;
    world.a_match("cup", json!({})).await;
    let own = ticket_of(&world, "m").await;
    let cup = world.as_member("m").post("/matches/cup/queue", Value::Null).await.expect(201);
    let (foreign, cup) = (ticket_of(&world, "n").await, ticket_in(&cup));
    let pass = world.pass("final", "m");
    let token = world.cloud.token("m", platform::auth::Role::Member);
    for bad in [foreign.as_str(), &cup, &pass, &token, "", ".", "x", "é", &"a".repeat(5_000)] {
        let refused = poll(&world, "m", bad).await.refused(400, "INVALID_REQUEST");
        assert_eq!(refused.json["errors"][0]["field"], "X-Queue-Ticket");
        take(&world, "m", bad).await.refused(400, "INVALID_REQUEST");
        assert_eq!(refused.usage.total_calls(), 0);
    }
    let missing = world.as_member("m").get(QUEUE).await.refused(400, "INVALID_REQUEST");
    assert_eq!(missing.json["errors"][0]["field"], "X-Queue-Ticket");
    poll(&world, "m", &own).await.expect(200);
}

#[tokio::test]
async fn a_ticket_that_is_changed_by_one_byte_is_refused() {
    let world = admitting(10).await;
    let own = ticket_of(&world, "m").await;
    for place in 0..own.len() {
        let mut changed = own.clone().into_bytes();
        changed[place] = if changed[place] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(changed).unwrap();
        poll(&world, "m", &changed).await.refused(400, "INVALID_REQUEST");
        take(&world, "m", &changed).await.refused(400, "INVALID_REQUEST");
    }
    poll(&world, "m", &own).await.expect(200);
}

#[tokio::test]
async fn whoever_polls_ten_times_as_often_as_told_is_refused_without_a_read() {
    let world = crowded().await;
    let entered = enter(&world, "m").await.expect(201);
    let first = poll(&world, "m", &ticket_in(&entered)).await.expect(200);
    let told_ms = poll_after_ms(&first);
    let (mut served, mut refused) = (0, 0);
    for n in 0..50 {
        world.clock.advance(told_ms / 10);
        // With the newest ticket or with the first: it is the same place.
        let ticket = if n % 2 == 0 { ticket_in(&first) } else { ticket_in(&entered) };
        let answer = poll(&world, "m", &ticket).await;
        if answer.status == 200 {
            served += 1;
            continue;
        }
        let answer = answer.refused(429, "TOO_MANY_REQUESTS");
        refused += 1;
        assert_eq!(answer.usage.total_calls(), 0);
        let retry_after: i64 = answer.headers["retry-after"].to_str().unwrap().parse().unwrap();
        assert_eq!(retry_after, (told_ms + 999) / 1_000);
    }
    assert_eq!((served, refused), (0, 50), "who hammers is not served");
    let other = bearing(&world, "m0", &ticket_of(&world, "m0").await).get(QUEUE).await;
    other.expect(200);
    world.clock.advance(told_ms / 4 + 1);
    poll(&world, "m", &ticket_in(&first)).await.expect(200);
}

#[tokio::test]
async fn whoever_polls_as_told_is_never_refused() {
    let world = World::with_environments(1).await;
    world.a_match("final", json!({ "admitPerSecond": 1 })).await;
    for n in 0..30 {
        enter(&world, &format!("m{n}")).await.expect(201);
    }
    wait(&world, "m", ticket_of(&world, "m").await).await;
}
