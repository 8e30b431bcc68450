//! The queue, spoken in its own words.

use platform::App;
use platform::clock::Clock;
use serde_json::{Value, json};
use suites::{Answer, Caller, World};
use ticketing::ticket::{self, Ticket};

pub(crate) const QUEUE: &str = "/matches/final/queue";
pub(crate) const PASS: &str = "/matches/final/queue/pass";

/// A world with an open sale that admits so many each second.
pub(crate) async fn admitting(rate: u32) -> World {
    let world = World::start().await;
    world.a_match("final", json!({ "admitPerSecond": rate })).await;
    world
}

/// A world of one environment, in whose queue a hundred wait, one admitted a second.
pub(crate) async fn crowded() -> World {
    let world = World::with_environments(1).await;
    world.a_match("final", json!({ "admitPerSecond": 1 })).await;
    for n in 0..100 {
        enter(&world, &format!("m{n}")).await.expect(201);
    }
    world
}

/// A member enters the queue.
pub(crate) async fn enter(world: &World, member: &str) -> Answer {
    world.as_member(member).post(QUEUE, Value::Null).await
}

/// A member enters the queue, and gets this ticket.
pub(crate) async fn ticket(world: &World, member: &str) -> String {
    ticket_in(&enter(world, member).await.expect(201))
}

/// The ticket in an answer.
pub(crate) fn ticket_in(answer: &Answer) -> String {
    answer.json["ticket"].as_str().expect("a ticket").to_owned()
}

/// The position in an answer.
pub(crate) fn position_in(answer: &Answer) -> u64 {
    answer.json["position"].as_u64().expect("a position")
}

/// When to come back.
pub(crate) fn poll_after_ms(answer: &Answer) -> i64 {
    answer.json["pollAfterMs"].as_i64().expect("a time")
}

/// A member with a ticket.
pub(crate) fn bearing<'w>(world: &'w World, member: &str, ticket: &str) -> Caller<'w> {
    world.as_member(member).with("X-Queue-Ticket", ticket)
}

/// A member asks how far a ticket has come.
pub(crate) async fn poll(world: &World, member: &str, ticket: &str) -> Answer {
    bearing(world, member, ticket).get(QUEUE).await
}

/// A member asks for the pass of a ticket.
pub(crate) async fn take(world: &World, member: &str, ticket: &str) -> Answer {
    bearing(world, member, ticket).post(PASS, Value::Null).await
}

/// Polls as told until the turn has come: the last answer.
pub(crate) async fn wait(world: &World, member: &str, mut ticket: String) -> Answer {
    for _ in 0..1_000 {
        let answer = poll(world, member, &ticket).await.expect(200);
        if answer.json["admitted"] == true {
            return answer;
        }
        world.clock.advance(poll_after_ms(&answer));
        ticket = ticket_in(&answer);
    }
    panic!("{member} was never admitted");
}

/// A member enters and waits for the turn: the last answer.
pub(crate) async fn come_in(world: &World, member: &str) -> Answer {
    wait(world, member, ticket(world, member).await).await
}

/// An environment of its own, with a clock of its own that is ahead by so much.
pub(crate) fn environment(world: &World, ahead_ms: i64) -> App {
    let clock = Clock::manual(world.clock.now().plus_millis(ahead_ms));
    let keys = ("QUEUE_KEYS".to_owned(), world.cloud.secret("QUEUE_KEYS"));
    let settings = [keys].into_iter().collect();
    App::new(settings, clock, fastrand::Rng::new(), world.cloud.clients()).unwrap()
}

/// What a ticket says.
pub(crate) async fn said(app: &App, ticket: &str) -> Ticket {
    ticket::signer(app).await.unwrap().read_json(ticket).unwrap()
}

/// The turn that a ticket says.
pub(crate) async fn turn_in(world: &World, answer: &Answer) -> u64 {
    said(&environment(world, 0), &ticket_in(answer)).await.turn
}
