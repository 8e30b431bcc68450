//! Who is admitted when: never more than the rate allows, and no fewer while
//! somebody waits, whoever asks and however often.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::join_all;
use platform::App;
use serde_json::json;
use suites::ticketing::match_with;
use suites::{World, race};
use ticketing::{lane, matches};

use crate::queue::{
    admitting, come_in, enter, environment, poll, poll_after_ms, take, ticket_in, turn_in,
};

/// How somebody polls: what is made of the time that they were told, in
/// milliseconds.
type Manner = fn(i64) -> i64;

const AS_TOLD: Manner = |told_ms| told_ms;
const LATE: Manner = |told_ms| told_ms + told_ms / 2 + 70;

/// What was seen of a queue: when each pass was taken, in milliseconds from the
/// begin, in order; and how much longer than told people waited, at most.
struct Seen {
    passes_ms: Vec<i64>,
    latest_ms: i64,
}

impl Seen {
    /// The most passes that were taken within any second.
    fn most_a_second(&self) -> usize {
        let within = |from_ms: &i64| {
            let second = *from_ms..*from_ms + 1_000;
            self.passes_ms.iter().filter(|at_ms| second.contains(at_ms)).count()
        };
        self.passes_ms.iter().map(within).max().unwrap_or(0)
    }

    /// How long it took until all were in.
    fn took_ms(&self) -> i64 {
        *self.passes_ms.last().expect("somebody")
    }
}

/// These members enter at the same time, poll in their manner and take their passes
/// when they are told that their turn has come. Now and then `meanwhile` happens.
async fn watch(
    world: &World,
    members: impl Iterator<Item = String>,
    manner: Manner,
    meanwhile: impl AsyncFn(i64),
) -> Seen {
    let members: Vec<String> = members.collect();
    let entered = race(&members, async |name| enter(world, name).await).await;
    let told = |answer: &suites::Answer| answer.json["estimatedWaitSeconds"].as_i64().unwrap();
    let estimates_ms: Vec<i64> = entered.iter().map(|e| told(e) * 1_000).collect();
    let mut waiting: BTreeMap<(i64, usize), String> =
        (0..).zip(&entered).map(|(n, e)| ((manner(poll_after_ms(e)), n), ticket_in(e))).collect();
    let (begun, mut seen) = (world.clock.now(), Seen { passes_ms: vec![], latest_ms: 0 });
    while let Some(((at_ms, n), ticket)) = waiting.pop_first() {
        let now_ms = world.clock.now().as_millis() - begun.as_millis();
        world.clock.advance(at_ms - now_ms);
        meanwhile(at_ms).await;
        let answer = poll(world, &members[n], &ticket).await.expect(200);
        if answer.json["admitted"] == false {
            waiting.insert((at_ms + manner(poll_after_ms(&answer)), n), ticket_in(&answer));
            continue;
        }
        take(world, &members[n], &ticket_in(&answer)).await.expect(201);
        seen.passes_ms.push(at_ms);
        seen.latest_ms = seen.latest_ms.max(at_ms - estimates_ms[n]);
    }
    seen
}

fn members(count: usize) -> impl Iterator<Item = String> {
    (0..count).map(|n| format!("m{n}"))
}

async fn nothing(_: i64) {}

/// A world with an open sale whose queue is entered by way of one environment, as
/// a queue is that few enter at the same moment.
async fn entered_by_one(rate: u32) -> World {
    let world = World::with_environments(1).await;
    world.a_match("final", json!({ "admitPerSecond": rate })).await;
    world
}

#[tokio::test]
async fn those_who_poll_as_told_come_in_at_the_rate_and_when_they_were_told() {
    for (rate, count) in [(1, 10), (3, 30), (5, 100), (10, 100), (17, 100), (20, 240), (100, 150)] {
        let world = entered_by_one(rate).await;
        let seen = watch(&world, members(count), AS_TOLD, nothing).await;
        assert!(seen.most_a_second() <= rate as usize, "{} of {rate}", seen.most_a_second());
        let ideal_ms = count as i64 * 1_000 / i64::from(rate);
        let most_ms = ideal_ms + ideal_ms / 10 + 1_000;
        let took_ms = seen.took_ms();
        assert!(took_ms <= most_ms, "{count} at {rate}: {took_ms} ms, ideal {ideal_ms}");
        assert!(seen.latest_ms <= 0, "somebody waited {} ms longer than told", seen.latest_ms);
    }
}

#[tokio::test]
async fn many_environments_fill_the_lanes_less_evenly_and_admit_no_more() {
    for (rate, count) in [(5, 100), (20, 240)] {
        let world = admitting(rate).await;
        let seen = watch(&world, members(count), AS_TOLD, nothing).await;
        assert!(seen.most_a_second() <= rate as usize);
        let ideal_ms = count as i64 * 1_000 / i64::from(rate);
        let took_ms = seen.took_ms();
        assert!(took_ms <= ideal_ms * 2, "{count} at {rate}: {took_ms} ms");
    }
}

#[tokio::test]
async fn nobody_comes_before_the_turn_whoever_polls_late() {
    for rate in [1, 7, 20] {
        let world = admitting(rate).await;
        let seen = watch(&world, members(60), LATE, nothing).await;
        for (admitted, at_ms) in (1..).zip(&seen.passes_ms) {
            assert!((admitted - 1) * 1_000 / i64::from(rate) <= *at_ms, "{admitted} by {at_ms}");
        }
    }
}

#[tokio::test]
async fn a_new_sale_admits_no_more_in_its_first_seconds() {
    for rate in [2, 15, 16, 20, 47] {
        let world = World::start().await;
        let opens_at = world.clock.now().plus_millis(60_000);
        world
            .a_match(
                "final",
                json!({ "admitPerSecond": rate, "saleOpensAt": opens_at.to_string() }),
            )
            .await;
        world.clock.advance(60_000);
        let seen = watch(&world, members(4 * rate), AS_TOLD, nothing).await;
        assert!(seen.most_a_second() <= rate, "{} of {rate}", seen.most_a_second());
        for (admitted, at_ms) in (1..).zip(&seen.passes_ms) {
            assert!(admitted * 1_000 <= rate as i64 * at_ms, "{admitted} by {at_ms}");
        }
    }
}

#[tokio::test]
async fn a_rate_that_is_changed_on_sale_holds_six_seconds_later() {
    for (before, after) in [(20, 2), (20, 7), (5, 50), (1, 16)] {
        let world = entered_by_one(before).await;
        let change = match_with(&json!({ "admitPerSecond": after }));
        let (world, has_changed) = (&world, std::sync::atomic::AtomicBool::new(false));
        let seen = watch(world, members(160), AS_TOLD, async |at_ms| {
            let is_time = at_ms >= 1_000;
            if is_time && !has_changed.swap(true, std::sync::atomic::Ordering::Relaxed) {
                world.as_staff().put("/matches/final", change.clone()).await.expect(200);
            }
        })
        .await;
        let (first_ms, most) = (seen.passes_ms[0], seen.most_a_second());
        assert!(first_ms <= 2_000 && most <= before.max(after) as usize, "{most}");
        // What changed at about 1 s holds from 7 s on: a little later for who was told
        // before that they come later.
        let later = seen.passes_ms.iter().filter(|at_ms| **at_ms > 8_000).copied().collect();
        let later = Seen { passes_ms: later, latest_ms: 0 };
        let most = later.most_a_second();
        assert!(most <= after as usize, "{most} a second, {before} changed to {after}");
        let count = later.passes_ms.len() as i64;
        let took_ms = later.took_ms() - 8_000;
        let ideal_ms = count * 1_000 / i64::from(after);
        assert!(took_ms <= ideal_ms * 3 / 2 + 11_000, "{count} at {after}: {took_ms} ms");
    }
}

#[tokio::test]
async fn an_idle_hour_saves_up_nothing() {
    let world = admitting(10).await;
    watch(&world, members(5), AS_TOLD, nothing).await;
    world.clock.advance(3_600_000);
    let early = race(0..100, async |n| enter(&world, &format!("early{n}")).await).await;
    world.clock.advance(3_600_000);
    let seen = watch(&world, (0..100).map(|n| format!("late{n}")), AS_TOLD, nothing).await;
    assert!((1..=10).contains(&seen.most_a_second()), "{:?}", seen.passes_ms);
    assert_eq!(suites::count(&early, 201), 100);
}

#[tokio::test]
async fn who_waits_behind_those_who_left_waits_as_long_as_told() {
    let world = entered_by_one(5).await;
    for n in 0..200 {
        enter(&world, &format!("gone{n}")).await.expect(201);
    }
    let seen = watch(&world, members(1), AS_TOLD, nothing).await;
    assert!((38_000..=42_000).contains(&seen.took_ms()), "{} ms", seen.took_ms());
    assert!(seen.latest_ms <= 0, "{} ms later than told", seen.latest_ms);
}

#[tokio::test]
async fn who_comes_to_an_empty_queue_is_in_within_a_second() {
    for rate in [1, 5, 16, 20, 1_000] {
        let world = admitting(rate).await;
        for n in 0..10 {
            world.clock.advance(3_777);
            let begun = world.clock.now().as_millis();
            come_in(&world, &format!("m{n}")).await;
            let took_ms = world.clock.now().as_millis() - begun;
            assert!(took_ms <= 1_000, "{took_ms} ms at {rate} a second");
        }
    }
}

#[tokio::test]
async fn environments_whose_clocks_differ_give_no_turn_twice() {
    let world = admitting(5).await;
    let ahead_ms = [0, 40, -70, 300, -450, 900];
    let environments: Vec<App> = ahead_ms.iter().map(|ms| environment(&world, *ms)).collect();
    let id = "final".parse().unwrap();
    let mut turns = BTreeSet::new();
    for round in 1..=20 {
        let taken = join_all(environments.iter().map(async |app| {
            let match_ = matches::get(app, &id).await.unwrap();
            let turn = lane::enter(app, &match_).await.unwrap();
            assert!(turn > match_.turns(app.clock.now()), "what has passed is over");
            turn
        }));
        turns.extend(taken.await);
        assert_eq!(turns.len(), round * environments.len());
        for environment in &environments {
            environment.clock.advance(100);
        }
    }
    let entered = enter(&world, "m").await.expect(201);
    assert!(!turns.contains(&turn_in(&world, &entered).await));
}
