//! place-order: a hold becomes an order, once.

use serde_json::json;
use suites::World;

const MINUTE_MS: i64 = 60_000;

#[tokio::test]
async fn a_hold_becomes_an_order_of_the_same_seats() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let caller = world.admitted("final", "m");
    let hold = caller.held("final", &["A-1-2", "A-1-1", "B-1-1"]).await;
    world.clock.advance(4 * MINUTE_MS);
    let placed = caller.order(&hold).await.expect(201);
    let id = placed.json["orderId"].as_str().unwrap();
    assert_eq!(placed.headers["location"], format!("/orders/{id}"));
    let expected = json!({
        "orderId": id,
        "matchId": "final",
        "seats": ["A-1-2", "A-1-1", "B-1-1"],
        "amount": 23_000,
        "status": "PENDING_PAYMENT",
        "payBy": "2030-01-01T00:14:00Z",
    });
    assert_eq!(placed.json, expected);
    assert_eq!(caller.get(&format!("/orders/{id}")).await.expect(200).json, expected);
    let bearers = world.bearers("final").await;
    assert_eq!(bearers.values().filter(|bearer| *bearer == id).count(), 3);
    let refused = caller.hold("final", &["A-2-1"]).await.refused(409, "HOLD_EXISTS");
    assert_eq!(
        (&refused.json["existing"], &refused.json["until"]),
        (&id.into(), &placed.json["payBy"])
    );
    world.assert_seats_sound(4).await;
}

#[tokio::test]
async fn a_hold_is_ordered_until_just_before_it_lapses() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let callers = ["a", "b"].map(|member| world.admitted("final", member));
    let holds =
        [callers[0].held("final", &["A-1-1"]).await, callers[1].held("final", &["A-1-2"]).await];
    world.clock.advance(5 * MINUTE_MS - 1);
    callers[0].order(&holds[0]).await.expect(201);
    world.clock.advance(1);
    callers[1].order(&holds[1]).await.refused(409, "HOLD_LAPSED");
    world.assert_seats_sound(4).await;
}

#[tokio::test]
async fn an_unpaid_order_frees_its_seats_and_its_member_when_it_lapses() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let [a, b] = ["a", "b"].map(|member| world.admitted("final", member));
    let order = a.ordered("final", &["A-1-1", "A-1-2"]).await;
    world.clock.advance(10 * MINUTE_MS - 1);
    b.hold("final", &["A-1-1"]).await.refused(409, "SEAT_TAKEN");
    a.hold("final", &["A-1-3"]).await.refused(409, "HOLD_EXISTS");
    assert_eq!(a.status(&order).await, "PENDING_PAYMENT");
    world.clock.advance(1);
    assert_eq!(a.status(&order).await, "LAPSED");
    b.hold("final", &["A-1-1"]).await.expect(201);
    a.hold("final", &["A-1-2", "A-1-3"]).await.expect(201);
    world.assert_seats_sound(4).await;
}

#[tokio::test]
async fn a_hold_makes_one_order_and_a_repeat_shows_it_as_it_stands() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let caller = world.admitted("final", "m");
    let hold = caller.held("final", &["A-1-1"]).await;
    let placed = caller.order(&hold).await.expect(201);
    assert_eq!(caller.order(&hold).await.expect(201).json, placed.json);
    world.clock.advance(10 * MINUTE_MS);
    let lapsed = caller.order(&hold).await.expect(201);
    assert_eq!(
        (&lapsed.json["orderId"], &lapsed.json["status"]),
        (&placed.json["orderId"], &"LAPSED".into())
    );
    let id = placed.json["orderId"].as_str().unwrap();
    world.pay(id, "p-1", 9_000).await.expect(200);
    caller.order(&hold).await.refused(409, "ORDER_PAID");
    caller.cancel(id).await.expect(204);
    caller.order(&hold).await.refused(409, "ORDER_CANCELLED");
    let hold = caller.held("final", &["A-1-1"]).await;
    let id = caller.order(&hold).await.expect(201).json["orderId"].clone();
    caller.cancel(id.as_str().unwrap()).await.expect(204);
    caller.order(&hold).await.refused(409, "ORDER_CANCELLED");
    world.assert_seats_sound(4).await;
}

#[tokio::test]
async fn a_key_gets_the_first_answer_whatever_became_of_the_order() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let caller = world.admitted("final", "m").with("Idempotency-Key", "k");
    let hold = world.admitted("final", "m").held("final", &["A-1-1"]).await;
    let placed = caller.order(&hold).await.expect(201);
    caller.cancel(placed.json["orderId"].as_str().unwrap()).await.expect(204);
    let again = caller.order(&hold).await.expect(201);
    assert_eq!(
        (&again.json, &again.headers["location"]),
        (&placed.json, &placed.headers["location"])
    );
    let other = world.admitted("final", "m").held("final", &["A-1-1"]).await;
    caller.order(&other).await.refused(409, "IDEMPOTENCY_KEY_REUSED");
    // Also if the order was there before the key was first used.
    let placed = world.admitted("final", "m").order(&other).await.expect(201);
    let late = world.admitted("final", "m").with("Idempotency-Key", "late");
    assert_eq!(late.order(&other).await.expect(201).json, placed.json);
    world.pay(placed.json["orderId"].as_str().unwrap(), "p-1", 9_000).await.expect(200);
    assert_eq!(late.order(&other).await.expect(201).json, placed.json);
    world.admitted("final", "m").order(&other).await.refused(409, "ORDER_PAID");
}

#[tokio::test]
async fn a_hold_of_somebody_else_and_one_that_never_was_are_not_found() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let caller = world.admitted("final", "a");
    let hold = caller.held("final", &["A-1-1"]).await;
    let other = world.admitted("final", "b");
    other.order(&hold).await.refused(404, "HOLD_NOT_FOUND");
    other.order("01941f29-7c00-7000-8000-000000000001").await.refused(404, "HOLD_NOT_FOUND");
    for bad in [json!({}), json!({ "holdId": "x" }), json!({ "holdId": 7 })] {
        other.post("/orders", bad).await.refused(400, "INVALID_REQUEST");
    }
    caller.release(&hold).await.expect(204);
    caller.order(&hold).await.refused(404, "HOLD_NOT_FOUND");
}

#[tokio::test]
async fn what_was_begun_in_time_is_ended_after_the_sale_and_with_a_pass_that_is_over() {
    let world = World::start().await;
    let closes_at = "2030-01-01T00:01:00Z";
    world.a_match("final", json!({ "holdMinutes": 60, "saleClosesAt": closes_at })).await;
    let pass = world.pass("final", "m");
    let hold = world.admitted("final", "m").held("final", &["A-1-1"]).await;
    world.as_member("m").order(&hold).await.refused(403, "PASS_REQUIRED");
    world.clock.advance(45 * MINUTE_MS);
    let placed = world.as_member("m").with("X-Queue-Pass", &pass).order(&hold).await.expect(201);
    world.pay(placed.json["orderId"].as_str().unwrap(), "p-1", 9_000).await.expect(200);
    world.assert_seats_sound(4).await;
}
