//! What one environment sees of a course's stripes serves the others.

use std::sync::Arc;

use enrollment::course::Course;
use enrollment::looks::{self, EARLIER_MS, LOOK_LIFETIME_MS, Look, TURN_MS};
use enrollment::{TABLE, courses, keys};
use platform::App;
use platform::clock::Instant;
use platform::table::{Write, n};
use suites::{World, count, race};

/// A course of 300 seats in 256 stripes, all taken.
async fn sold_out(environments: u32) -> World {
    let world = World::with_environments(environments).await;
    world.course(101, 300).await;
    world.plans(300).await;
    for student in 1..=300 {
        world.enroll(student, 101).await.expect(201);
    }
    world.clock.advance(LOOK_LIFETIME_MS);
    world
}

async fn course(app: &App) -> Arc<Course> {
    courses::get_fresh(app, 101.try_into().unwrap()).await.unwrap().unwrap()
}

async fn look(app: &App, after: Instant) -> Option<Arc<Look>> {
    looks::look_for_all(app, &*course(app).await, after).await.unwrap()
}

/// Somebody says when it began to look, and when it looked last.
async fn say(world: &World, looking_since: Instant, looked_at: Instant) {
    let said = "SET looking_since_ms = :since, looked_at_ms = :at, stripes = :none";
    let said = Write::update(keys::look(101.try_into().unwrap()), said)
        .bind(":since", n(looking_since.as_millis()))
        .bind(":at", n(looked_at.as_millis()))
        .bind(":none", platform::table::value(&Vec::<u8>::new()).unwrap());
    world.app().await.table(TABLE).update(said).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_environments_that_find_a_course_sold_out_few_look_at_all_of_it() {
    const LOSERS: u64 = 60;
    let world = sold_out(64).await;
    world.students_from(301, 300 + LOSERS).await;
    let answers = race(301..=300 + LOSERS, |student| world.enroll(student, 101)).await;
    assert_eq!(count(&answers, 409), answers.len());
    let read_units: f64 = answers.iter().map(|answer| answer.usage.read_units).sum();
    // Each looks at 16 and at 64 for 0.5 units each; all at all would be 256 each.
    let few = LOSERS as f64 * 60.0 + 4.0 * 256.0;
    assert!(read_units < few, "{read_units} units");
}

#[tokio::test]
async fn what_another_environment_saw_is_as_good_as_memory_for_a_second() {
    let world = sold_out(1).await;
    let (one, other) = (world.app().await, world.app().await);
    let now = world.clock.now();
    assert!(!look(&one, Instant::default()).await.unwrap().has_seats());
    world.drop_course(7, 101).await.expect(204);
    world.clock.advance(LOOK_LIFETIME_MS - EARLIER_MS);
    let seen = look(&other, Instant::default()).await.unwrap();
    assert_eq!((seen.at, seen.has_seats(), seen.is_complete), (now, false, true));
    assert!(look(&other, now).await.unwrap().has_seats(), "something newer was wanted");
    world.clock.advance(EARLIER_MS);
    assert!(look(&other, Instant::default()).await.unwrap().has_seats());
}

#[tokio::test]
async fn who_is_about_to_look_is_waited_for_but_not_for_ever() {
    let world = sold_out(1).await;
    let (app, now) = (world.app().await, world.clock.now());
    say(&world, now, Instant::default()).await; // and dies
    assert!(look(&app, Instant::default()).await.is_none());
    world.clock.advance(TURN_MS - 1);
    assert!(look(&app, Instant::default()).await.is_none());
    world.clock.advance(1);
    assert!(!look(&app, Instant::default()).await.unwrap().has_seats());
}

#[tokio::test]
async fn a_clock_that_is_ahead_closes_no_course() {
    let world = sold_out(1).await;
    world.drop_course(7, 101).await.expect(204);
    let ahead = world.clock.now().plus_millis(60_000);
    say(&world, ahead, ahead).await;
    assert!(look(&world.app().await, Instant::default()).await.unwrap().has_seats());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_at_once_one_looks() {
    let world = sold_out(1).await;
    let app = world.app().await;
    let course = course(&app).await;
    let looks = (0..32).map(|_| looks::look_for_all(&app, &course, Instant::default()));
    let looked = futures_util::future::join_all(looks).await;
    let looked: Vec<_> = looked.into_iter().filter_map(Result::unwrap).collect();
    assert!(looked.iter().all(|look| !look.has_seats()));
    let calls = app.meter.take();
    assert!(calls.calls_of("UpdateItem") >= 2, "{calls:?}");
    // A look at 256 stripes is three calls.
    assert_eq!(calls.calls_of("BatchGetItem"), 3, "{calls:?}");
}
