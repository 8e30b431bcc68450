//! release-hold: exactly the seats that still bear the hold.

use serde_json::json;
use suites::World;

#[tokio::test]
async fn released_seats_are_free_at_once_and_so_is_the_member() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let [a, b] = ["a", "b"].map(|member| world.admitted("final", member));
    let hold = a.held("final", &["A-1-1", "A-1-2"]).await;
    a.release(&hold).await.expect(204);
    b.hold("final", &["A-1-1"]).await.expect(201);
    a.hold("final", &["A-1-2"]).await.expect(201);
    a.release(&hold).await.refused(404, "HOLD_NOT_FOUND");
    world.assert_seats_sound(4).await;
    assert_eq!(world.bearers("final").await.len(), 2);
}

#[tokio::test]
async fn a_hold_of_somebody_else_and_one_that_never_was_are_not_found() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let hold = world.admitted("final", "a").held("final", &["A-1-1"]).await;
    let other = world.admitted("final", "b");
    other.release(&hold).await.refused(404, "HOLD_NOT_FOUND");
    other.release("01941f29-7c00-7000-8000-000000000001").await.refused(404, "HOLD_NOT_FOUND");
    other.release("x").await.refused(400, "INVALID_REQUEST");
    other.hold("final", &["A-1-1"]).await.refused(409, "SEAT_TAKEN");
}

#[tokio::test]
async fn a_hold_that_lapsed_is_released_without_a_word_and_takes_nothing_from_anybody() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let [a, b] = ["a", "b"].map(|member| world.admitted("final", member));
    let first = a.held("final", &["A-1-1", "A-1-2"]).await;
    world.clock.advance(5 * 60_000);
    let of_other = b.held("final", &["A-1-2"]).await;
    let second = a.held("final", &["A-1-3"]).await;
    a.release(&first).await.expect(204);
    let bearers = world.bearers("final").await;
    assert_eq!(bearers["A-1-2"], of_other);
    assert_eq!(bearers["A-1-3"], second);
    a.hold("final", &["A-1-4"]).await.refused(409, "HOLD_EXISTS");
    world.assert_seats_sound(4).await;
}

#[tokio::test]
async fn what_was_ordered_is_not_released() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let caller = world.admitted("final", "m");
    let hold = caller.held("final", &["A-1-1"]).await;
    caller.order(&hold).await.expect(201);
    caller.release(&hold).await.refused(404, "HOLD_NOT_FOUND");
    world.assert_seats_sound(4).await;
    assert_eq!(world.bearers("final").await.len(), 1);
}

#[tokio::test]
async fn a_pass_that_is_over_will_do_but_none_will_not() {
    let world = World::start().await;
    world.a_match("final", json!({ "holdMinutes": 60 })).await;
    let pass = world.pass("final", "m");
    let caller = || world.as_member("m");
    let hold = world.admitted("final", "m").held("final", &["A-1-1"]).await;
    caller().release(&hold).await.refused(403, "PASS_REQUIRED");
    for bad in [world.pass("final", "other"), world.pass("semi-final", "m")] {
        caller().with("X-Queue-Pass", &bad).release(&hold).await.refused(403, "PASS_REQUIRED");
    }
    world.clock.advance(45 * 60_000);
    caller().with("X-Queue-Pass", &pass).release(&hold).await.expect(204);
}

#[tokio::test]
async fn a_hold_is_forgotten_a_day_after_its_end() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let holds = [
        world.admitted("final", "a").held("final", &["A-1-1"]).await,
        world.admitted("final", "b").held("final", &["A-1-2"]).await,
    ];
    world.clock.advance(5 * 60_000 + 24 * 60 * 60_000 - 1_000);
    world.admitted("final", "a").release(&holds[0]).await.expect(204);
    world.clock.advance(1_000);
    world.admitted("final", "b").release(&holds[1]).await.refused(404, "HOLD_NOT_FOUND");
}
