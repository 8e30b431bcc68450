//! The whole way, while parts of it fail.

use local::faults::Fault;
use suites::World;

const MINUTE_MS: i64 = 60 * 1000;

/// Three students who enroll and drop, so that each has so many events.
async fn busy(rounds: u64) -> World {
    let world = World::start().await;
    world.course(101, 50).await;
    world.students(3).await;
    work(&world, rounds).await;
    world
}

async fn work(world: &World, rounds: u64) {
    for _ in 0..rounds {
        for student in 1..=3 {
            world.enroll(student, 101).await.expect(201);
            world.clock.advance(1);
            world.drop_course(student, 101).await.expect(204);
        }
    }
}

/// Each student's member was told every version once, in order.
async fn assert_told(world: &World, rounds: u64) {
    for student in 1..=3 {
        let inbox = world.inbox(&format!("m{student}")).await;
        let versions: Vec<u64> = inbox.iter().map(|n| n["version"].as_u64().unwrap()).collect();
        let expected: Vec<u64> = (2..2 + 2 * rounds).rev().collect();
        assert_eq!(versions, expected, "student {student}");
    }
    let letters = world.as_staff().get("/dead-letters").await.expect(200);
    assert_eq!(letters.json["count"], 0);
}

#[tokio::test]
async fn every_change_is_told_once_and_in_order() {
    let world = busy(20).await;
    world.settle().await;
    assert_told(&world, 20).await;
}

#[tokio::test]
async fn nothing_is_lost_or_reordered_while_the_queue_is_away_for_an_hour() {
    let world = busy(5).await;
    world.queue_faults.always("SendMessageBatch", Fault::LostRequest);
    for _ in 0..60 {
        world.settle().await;
        world.clock.advance(MINUTE_MS);
    }
    work(&world, 5).await;
    world.settle().await;
    assert!(world.queue_faults.met() > 10, "relay gave up");
    assert!(world.inbox("m1").await.is_empty());
    world.queue_faults.stop();
    for _ in 0..10 {
        world.clock.advance(MINUTE_MS);
        world.settle().await;
    }
    assert_told(&world, 10).await;
}

#[tokio::test]
async fn a_relay_that_dies_between_sending_and_the_checkpoint_sends_again_and_tells_once() {
    let world = busy(5).await;
    for _ in 0..3 {
        world.cloud.lose_next_checkpoints();
        world.settle().await;
        work(&world, 1).await;
        world.clock.advance(6 * MINUTE_MS); // beyond what the queue remembers
    }
    world.settle().await;
    assert_told(&world, 8).await;
}

#[tokio::test]
async fn answers_that_are_lost_on_every_step_tell_everything_once() {
    let world = busy(3).await;
    for _ in 0..20 {
        world.queue_faults.next("SendMessageBatch", &Fault::LostAnswer, 1);
        world.faults.next("PutItem", &Fault::LostAnswer, 1);
        world.settle().await;
        work(&world, 1).await;
        world.clock.advance(2 * MINUTE_MS);
    }
    world.queue_faults.stop();
    world.faults.stop();
    for _ in 0..5 {
        world.clock.advance(2 * MINUTE_MS);
        world.settle().await;
    }
    assert_told(&world, 23).await;
}
