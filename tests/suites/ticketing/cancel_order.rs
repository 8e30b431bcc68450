//! cancel-order: the seats are free, once.

use serde_json::json;
use suites::World;

const MINUTE_MS: i64 = 60_000;

#[tokio::test]
async fn an_unpaid_order_is_cancelled_and_frees_its_seats_and_its_member() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let caller = world.admitted("final", "m");
    let order = caller.ordered("final", &["A-1-1", "A-1-2"]).await;
    for _ in 0..3 {
        world.as_member("m").cancel(&order).await.expect(204);
        assert_eq!(caller.status(&order).await, "CANCELLED");
    }
    assert!(world.bearers("final").await.is_empty());
    caller.hold("final", &["A-1-1", "A-1-2", "A-1-3", "A-1-4"]).await.expect(201);
    world.as_member("m").cancel(&order).await.expect(204);
    assert_eq!(world.bearers("final").await.len(), 4, "nothing is freed a second time");
    world.assert_seats_sound(4).await;
}

#[tokio::test]
async fn of_a_lapsed_order_nothing_is_freed_that_is_somebody_elses_by_now() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let [a, b] = ["a", "b"].map(|member| world.admitted("final", member));
    let order = a.ordered("final", &["A-1-1", "A-1-2", "A-1-3"]).await;
    world.clock.advance(10 * MINUTE_MS);
    let of_b = b.held("final", &["A-1-2"]).await;
    let of_a = a.held("final", &["A-1-3"]).await;
    a.cancel(&order).await.expect(204);
    assert_eq!(a.status(&order).await, "CANCELLED");
    let expected = [("A-1-2".to_owned(), of_b), ("A-1-3".to_owned(), of_a)];
    assert_eq!(world.bearers("final").await, expected.into());
    a.hold("final", &["A-1-4"]).await.refused(409, "HOLD_EXISTS");
    world.assert_seats_sound(4).await;
}

#[tokio::test]
async fn a_paid_order_is_owed_and_its_seats_are_free_for_all_but_counted_no_more() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let caller = world.admitted("final", "m");
    let order = caller.ordered("final", &["A-1-1", "A-1-2", "A-1-3"]).await;
    world.pay(&order, "p-1", 27_000).await.expect(200);
    caller.hold("final", &["A-2-1", "A-2-2"]).await.refused(409, "SEAT_LIMIT_EXCEEDED");
    for _ in 0..2 {
        caller.cancel(&order).await.expect(204);
        assert_eq!(caller.status(&order).await, "REFUND_DUE");
    }
    world.admitted("final", "other").hold("final", &["A-1-2"]).await.expect(201);
    caller.hold("final", &["A-2-1", "A-2-2", "A-2-3", "A-1-1"]).await.expect(201);
    world.assert_seats_sound(4).await;
}

#[tokio::test]
async fn tickets_are_taken_back_until_just_before_the_match_begins() {
    let world = World::start().await;
    world.a_match("final", json!({ "startsAt": "2030-01-01T00:05:00Z" })).await;
    let orders = [
        world.admitted("final", "a").ordered("final", &["A-1-1"]).await,
        world.admitted("final", "b").ordered("final", &["A-1-2"]).await,
        world.admitted("final", "c").ordered("final", &["A-1-3"]).await,
    ];
    for (n, order) in orders.iter().take(2).enumerate() {
        world.pay(order, &format!("p-{n}"), 9_000).await.expect(200);
    }
    world.clock.advance(5 * MINUTE_MS - 1);
    world.as_member("a").cancel(&orders[0]).await.expect(204);
    world.clock.advance(1);
    let refused = world.as_member("b").cancel(&orders[1]).await.refused(409, "SALE_CLOSED");
    assert_eq!(refused.json["closedAt"], "2030-01-01T00:05:00Z");
    world.as_member("a").cancel(&orders[0]).await.expect(204);
    world.as_member("c").cancel(&orders[2]).await.expect(204);
    assert_eq!(world.as_member("b").status(&orders[1]).await, "PAID");
    world.assert_seats_sound(4).await;
}

#[tokio::test]
async fn an_order_of_somebody_else_and_one_that_never_was_are_not_found() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let order = world.admitted("final", "m").ordered("final", &["A-1-1"]).await;
    let other = world.as_member("other");
    for caller in [&other, &world.as_staff()] {
        caller.cancel(&order).await.refused(404, "ORDER_NOT_FOUND");
        let shown = caller.get(&format!("/orders/{order}")).await;
        shown.refused(404, "ORDER_NOT_FOUND");
    }
    let nobodys = "01941f29-7c00-7000-8000-000000000001";
    other.cancel(nobodys).await.refused(404, "ORDER_NOT_FOUND");
    other.cancel("x").await.refused(400, "INVALID_REQUEST");
    assert_eq!(world.as_member("m").status(&order).await, "PENDING_PAYMENT");
}
