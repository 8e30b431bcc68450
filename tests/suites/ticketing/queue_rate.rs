//! Who is admitted when: never more than the rate allows, whoever asks.

use futures_util::future::join_all;
use platform::App;
use suites::{World, race};
use ticketing::lane;
use ticketing::{TABLE, keys, matches};

use ticketing::ticket::Ticket;

use crate::queue::{
    admitted, admitting, enter, environment, lanes, poll, poll_after_ms, ticket_in,
};

/// Everybody who was admitted, by the time at which it was seen.
struct Admissions {
    app: App,
    lanes: u32,
    seen: Vec<(i64, u64)>,
}

impl Admissions {
    async fn of(world: &World, lanes: u32) -> Self {
        let app = environment(world, 0);
        let seen = vec![(i64::MIN, admitted(&app, lanes).await)];
        Self { app, lanes, seen }
    }

    async fn note(&mut self, at_ms: i64) {
        self.seen.push((at_ms, admitted(&self.app, self.lanes).await));
    }

    fn total(&self) -> u64 {
        self.seen.last().unwrap().1
    }

    /// The most that were admitted within any `window_ms`.
    fn most_within(&self, window_ms: i64) -> u64 {
        let steps = self.seen.windows(2).map(|pair| (pair[1].0, pair[1].1 - pair[0].1));
        let steps: Vec<(i64, u64)> = steps.filter(|(_, admitted)| *admitted > 0).collect();
        let from = |at_ms: i64| {
            let within = steps.iter().filter(|(ms, _)| (at_ms..at_ms + window_ms).contains(ms));
            within.map(|(_, admitted)| admitted).sum()
        };
        steps.iter().map(|(at_ms, _)| from(*at_ms)).max().unwrap_or(0)
    }
}

/// `members` enter and poll as told, those that are due at the same time. Watches
/// for so many seconds.
async fn watch(world: &World, lanes: u32, members: usize, seconds: i64) -> Admissions {
    let names: Vec<String> = (0..members).map(|n| format!("m{n}")).collect();
    let entered = race(&names, async |name| enter(world, name).await).await;
    let mut waiting: Vec<(i64, &String, String)> =
        names.iter().zip(&entered).map(|(name, e)| (0, name, ticket_in(e))).collect();
    let mut admissions = Admissions::of(world, lanes).await;
    for at_ms in (0..seconds * 1_000).step_by(100) {
        let due = waiting.iter_mut().filter(|(next_ms, ..)| *next_ms <= at_ms);
        join_all(due.map(async |(next_ms, name, ticket)| {
            let answer = poll(world, name, ticket).await.expect(200);
            *next_ms = at_ms + poll_after_ms(&answer);
            *ticket = ticket_in(&answer);
        }))
        .await;
        admissions.note(at_ms).await;
        world.clock.advance(100);
    }
    admissions
}

#[tokio::test]
async fn no_second_admits_more_than_the_rate_rounded_up_per_lane() {
    for (rate, lanes) in [(1, 1), (10, 10), (20, 16)] {
        let world = admitting(rate).await;
        let admissions = watch(&world, lanes, 100, 5).await;
        let most = u64::from(rate.div_ceil(lanes) * lanes);
        let seen = admissions.most_within(1_000);
        assert!(seen <= most, "{seen} of {most} a second");
        let total = admissions.total();
        let least = u64::from(rate) * 3;
        assert!(total >= least, "{total} in five seconds at {rate} a second");
    }
}

#[tokio::test]
async fn an_idle_hour_saves_up_nothing() {
    let world = admitting(10).await;
    watch(&world, 10, 5, 3).await;
    world.clock.advance(3_600_000);
    for n in 0..100 {
        enter(&world, &format!("early{n}")).await.expect(201);
    }
    world.clock.advance(3_600_000);
    let admissions = watch(&world, 10, 100, 4).await;
    let most = admissions.most_within(1_000);
    assert!((1..=10).contains(&most), "{most}: {:?}", admissions.seen);
}

/// A ticket for the end of a lane.
fn at_end(lane: u32, number: u64) -> Ticket {
    Ticket {
        match_id: "final".parse().unwrap(),
        member_id: "m".into(),
        lane,
        number,
        nonce: "n".into(),
        position: u64::MAX,
    }
}

/// What the clocks of all environments have in common: they go on.
async fn look_all(environments: &[App], ticket: &Ticket) {
    join_all(environments.iter().map(async |app| {
        let match_ = matches::get(app, &ticket.match_id).await.unwrap();
        lane::look(app, &match_, ticket).await.unwrap()
    }))
    .await;
}

#[tokio::test]
async fn clocks_that_differ_move_a_lane_no_faster_for_long_and_never_back() {
    let world = admitting(1).await;
    for n in 0..100 {
        enter(&world, &format!("m{n}")).await.expect(201);
    }
    let ahead_ms = [0, 40, -70, 300, -450, 900];
    let environments = ahead_ms.map(|ms| environment(&world, ms));
    let ticket = at_end(0, 100);
    let mut admissions = Admissions::of(&world, 1).await;
    for step in 0..200 {
        look_all(&environments, &ticket).await;
        admissions.note(step * 100).await;
        for environment in &environments {
            environment.clock.advance(100);
        }
    }
    assert!(admissions.seen.is_sorted_by_key(|(_, admitted)| *admitted), "never back");
    // Twenty seconds, the first move, and what the clocks are apart.
    assert!((10..=22).contains(&admissions.total()), "{}", admissions.total());
    for seconds in 2..20 {
        let most = admissions.most_within(seconds * 1_000);
        assert!(most <= seconds.unsigned_abs() + 2, "{most} in {seconds} s");
    }
}

#[tokio::test]
async fn many_environments_that_ask_at_once_move_a_lane_once() {
    let world = admitting(3).await;
    for n in 0..60 {
        enter(&world, &format!("m{n}")).await.expect(201);
    }
    let environments: Vec<App> = (0..32).map(|_| environment(&world, 0)).collect();
    for round in 1..=5 {
        for lane in 0..3 {
            look_all(&environments, &at_end(lane, 1_000)).await;
        }
        let cursors: Vec<u64> =
            lanes(&environments[0], 3).await.iter().map(lane::Lane::cursor).collect();
        assert!(cursors.iter().all(|cursor| *cursor <= round), "{cursors:?}");
        for environment in &environments {
            environment.clock.advance(1_250);
        }
    }
    assert_eq!(admitted(&environments[0], 3).await, 15);
}

#[tokio::test]
async fn somebody_who_enters_a_shorter_lane_comes_no_faster_than_its_rate() {
    let world = admitting(4).await;
    let id = "final".parse().unwrap();
    let app = environment(&world, 0);
    let enter_lane = async |lane: u32, people: u64| {
        app.table(TABLE).add_and_get(keys::lane(&id, lane), "tail", people).await.unwrap()
    };
    for lane in 1..4 {
        enter_lane(lane, 1_000).await; // the others are long
    }
    let mut admissions = Admissions::of(&world, 1).await;
    for step in 0..150 {
        // One, or some, come to the empty lane after it stood still for a while.
        match step {
            0 | 30 | 31 => drop(enter_lane(0, 1).await),
            60 => drop(enter_lane(0, 5).await),
            _ => {}
        }
        look_all(std::slice::from_ref(&app), &at_end(0, 1_000)).await;
        admissions.note(step * 100).await;
        app.clock.advance(100);
    }
    assert_eq!(admissions.total(), 8, "all are in after a while");
    assert_eq!(admissions.most_within(1_000), 1, "{:?}", admissions.seen);
}
