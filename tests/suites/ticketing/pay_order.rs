//! pay-order: the money has come, and nobody pays for a seat of somebody else.

use serde_json::{Value, json};
use suites::World;
use ticketing::signature;

const MINUTE_MS: i64 = 60_000;

#[tokio::test]
async fn a_payment_sells_the_seats() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let caller = world.admitted("final", "m");
    let order = caller.ordered("final", &["A-1-1", "A-1-2"]).await;
    let body = json!({ "paymentId": "p-1", "amount": 18_000, "paidAt": "2029-12-31T23:59:59.5Z" });
    let paid = world.pay_with(&order, &body).await.expect(200);
    let expected = json!({
        "orderId": order,
        "matchId": "final",
        "seats": ["A-1-1", "A-1-2"],
        "amount": 18_000,
        "status": "PAID",
        "payBy": "2030-01-01T00:10:00Z",
        "paidAt": "2029-12-31T23:59:59.5Z",
    });
    assert_eq!(paid.json, expected);
    assert_eq!(caller.get(&format!("/orders/{order}")).await.expect(200).json, expected);
    world.clock.advance(24 * 60 * MINUTE_MS);
    let other = world.admitted("final", "other");
    other.hold("final", &["A-1-1"]).await.refused(409, "SEAT_TAKEN");
    world.assert_seats_sound(4).await;
}

#[tokio::test]
async fn what_is_not_signed_is_refused_before_anything_else() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let order = world.admitted("final", "m").ordered("final", &["A-1-1"]).await;
    let body = json!({ "paymentId": "p-1", "amount": 9_000, "paidAt": "2030-01-01T00:00:00Z" });
    let body = body.to_string();
    let good = signature::sign(&world.cloud.secret("PAYMENT_KEYS"), body.as_bytes());
    let path = format!("/orders/{order}/payment");
    let sign_with = |secret: &str| signature::sign(&world.cloud.secret(secret), body.as_bytes());
    for bad in ["", "sha256=", &sign_with("QUEUE_KEYS"), &format!("{good}0"), &good.to_uppercase()]
    {
        let sender = world.as_nobody().with("X-Signature", bad);
        let refused = sender.send_raw("POST", &path, body.clone()).await;
        assert_eq!(refused.refused(401, "UNAUTHENTICATED").usage.total_calls(), 0);
    }
    let staff = world.as_staff();
    staff.send_raw("POST", &path, body.clone()).await.refused(401, "UNAUTHENTICATED");
    for path in [&path, "/orders/x/payment"] {
        let changed = body.replace("9000", "1");
        let sender = world.as_nobody().with("X-Signature", &good);
        sender.send_raw("POST", path, changed).await.refused(401, "UNAUTHENTICATED");
    }
    let sender = world.as_nobody().with("X-Signature", &good);
    sender.send_raw("POST", &path, body).await.expect(200);
}

#[tokio::test]
async fn what_is_signed_and_not_valid_changes_nothing() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let caller = world.admitted("final", "m");
    let order = caller.ordered("final", &["A-1-1"]).await;
    let good = json!({ "paymentId": "p-1", "amount": 9_000, "paidAt": "2030-01-01T00:00:00Z" });
    for (field, bad) in [
        ("paymentId", json!("")),
        ("paymentId", json!("a\u{0}b")),
        ("paymentId", json!("p".repeat(201))),
        ("paymentId", json!(7)),
        ("amount", json!(-1)),
        ("amount", json!(9_000.5)),
        ("amount", json!("9000")),
        ("amount", Value::Null),
        ("paidAt", json!("now")),
    ] {
        let mut body = good.clone();
        body[field] = bad;
        let refused = world.pay_with(&order, &body).await.refused(400, "INVALID_REQUEST");
        assert_eq!(refused.json["errors"][0]["field"], field, "{}", refused.json);
    }
    world.pay_with("x", &good).await.refused(400, "INVALID_REQUEST");
    let nobodys = "01941f29-7c00-7000-8000-000000000001";
    world.pay_with(nobodys, &good).await.refused(404, "ORDER_NOT_FOUND");
    for amount in [0, 8_999, 9_001, u64::MAX] {
        let refused = world.pay(&order, "p-1", amount).await.refused(409, "AMOUNT_MISMATCH");
        assert_eq!(refused.json["amount"], 9_000);
    }
    assert_eq!(caller.status(&order).await, "PENDING_PAYMENT");
    world.pay(&order, "p-1", 9_000).await.expect(200);
}

#[tokio::test]
async fn a_payment_that_is_told_again_gets_its_answer_whatever_became_of_the_order() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let caller = world.admitted("final", "m");
    let order = caller.ordered("final", &["A-1-1"]).await;
    let paid = world.pay(&order, "p-1", 9_000).await.expect(200);
    assert_eq!(paid.json["status"], "PAID");
    world.clock.advance(20 * MINUTE_MS);
    assert_eq!(world.pay(&order, "p-1", 9_000).await.expect(200).json, paid.json);
    world.pay(&order, "p-2", 9_000).await.refused(409, "ORDER_PAID");
    let caller = world.as_member("m");
    caller.cancel(&order).await.expect(204);
    assert_eq!(world.pay(&order, "p-1", 9_000).await.expect(200).json, paid.json);
    world.pay(&order, "p-2", 9_000).await.refused(409, "ORDER_PAID");
    world.pay(&order, "p-1", 8_000).await.refused(409, "AMOUNT_MISMATCH");
    assert_eq!(caller.status(&order).await, "REFUND_DUE");
    world.assert_seats_sound(4).await;
}

#[tokio::test]
async fn a_late_payment_sells_the_seats_while_nobody_took_them() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let caller = world.admitted("final", "m");
    let order = caller.ordered("final", &["A-1-1"]).await;
    world.clock.advance(24 * 60 * MINUTE_MS);
    assert_eq!(world.as_member("m").status(&order).await, "LAPSED");
    assert_eq!(world.pay(&order, "p-1", 9_000).await.expect(200).json["status"], "PAID");
    let other = world.admitted("final", "other");
    other.hold("final", &["A-1-1"]).await.refused(409, "SEAT_TAKEN");
    world.assert_seats_sound(4).await;
}

#[tokio::test]
async fn a_late_payment_for_seats_of_which_one_is_somebody_elses_is_owed() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let [a, b] = ["a", "b"].map(|member| world.admitted("final", member));
    let order = a.ordered("final", &["A-1-1", "A-1-2"]).await;
    world.clock.advance(10 * MINUTE_MS);
    let hold = b.held("final", &["A-1-2"]).await;
    let owed = world.pay(&order, "p-1", 18_000).await.expect(200);
    assert_eq!(owed.json["status"], "REFUND_DUE");
    assert_eq!(world.pay(&order, "p-1", 18_000).await.expect(200).json, owed.json);
    world.pay(&order, "p-2", 18_000).await.refused(409, "ORDER_PAID");
    assert_eq!(a.status(&order).await, "REFUND_DUE");
    // Its other seat is nobody's, and what the other member has is untouched.
    assert_eq!(world.bearers("final").await, [("A-1-2".to_owned(), hold.clone())].into());
    b.order(&hold).await.expect(201);
    a.hold("final", &["A-1-1"]).await.expect(201);
    world.assert_seats_sound(4).await;
}

#[tokio::test]
async fn seats_that_were_freed_again_do_not_come_back_to_a_lapsed_order() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let [a, b] = ["a", "b"].map(|member| world.admitted("final", member));
    let order = a.ordered("final", &["A-1-1"]).await;
    world.clock.advance(10 * MINUTE_MS);
    let hold = b.held("final", &["A-1-1"]).await;
    b.release(&hold).await.expect(204);
    assert_eq!(world.pay(&order, "p-1", 9_000).await.expect(200).json["status"], "REFUND_DUE");
    world.assert_seats_sound(4).await;
}

#[tokio::test]
async fn a_late_payment_does_not_lift_a_member_over_the_limit() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let caller = world.admitted("final", "m");
    let first = caller.ordered("final", &["A-1-1", "A-1-2"]).await;
    world.clock.advance(10 * MINUTE_MS);
    // What is open counts, and so does what is bought.
    let second = caller.ordered("final", &["A-2-1", "A-2-2", "A-2-3"]).await;
    let third = world.pay(&first, "p-1", 18_000).await.expect(200);
    assert_eq!(third.json["status"], "REFUND_DUE");
    world.assert_seats_sound(4).await;
    world.pay(&second, "p-2", 27_000).await.expect(200);
    let one = caller.ordered("final", &["A-3-1"]).await;
    world.clock.advance(10 * MINUTE_MS);
    let caller = world.admitted("final", "m");
    let other = caller.ordered("final", &["A-3-2"]).await;
    assert_eq!(world.pay(&one, "p-3", 9_000).await.expect(200).json["status"], "REFUND_DUE");
    assert_eq!(world.pay(&other, "p-4", 9_000).await.expect(200).json["status"], "PAID");
    let refused = caller.hold("final", &["A-3-3"]).await.refused(409, "SEAT_LIMIT_EXCEEDED");
    assert_eq!(refused.json["left"], 0);
    world.assert_seats_sound(4).await;
}

#[tokio::test]
async fn a_late_payment_beside_an_open_hold_is_taken_within_the_limit() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let caller = world.admitted("final", "m");
    let first = caller.ordered("final", &["A-1-1", "A-1-2"]).await;
    world.clock.advance(10 * MINUTE_MS);
    let hold = caller.held("final", &["A-2-1", "A-2-2"]).await;
    assert_eq!(world.pay(&first, "p-1", 18_000).await.expect(200).json["status"], "PAID");
    let second = caller.order(&hold).await.expect(201);
    let second = second.json["orderId"].as_str().unwrap();
    assert_eq!(world.pay(second, "p-2", 18_000).await.expect(200).json["status"], "PAID");
    world.assert_seats_sound(4).await;
}

#[tokio::test]
async fn of_two_lapsed_orders_only_as_many_are_sold_as_the_limit_allows() {
    for first_paid in [0, 1] {
        let world = World::start().await;
        world.a_match("final", json!({ "maxSeatsPerMember": 3 })).await;
        let mut orders = Vec::new();
        for seats in [["A-1-1", "A-1-2"], ["A-2-1", "A-2-2"]] {
            orders.push(world.admitted("final", "m").ordered("final", &seats).await);
            world.clock.advance(10 * MINUTE_MS);
        }
        let paid = world.pay(&orders[first_paid], "p-1", 18_000).await.expect(200);
        assert_eq!(paid.json["status"], "PAID");
        let owed = world.pay(&orders[1 - first_paid], "p-2", 18_000).await.expect(200);
        assert_eq!(owed.json["status"], "REFUND_DUE");
        world.assert_seats_sound(3).await;
    }
}

#[tokio::test]
async fn an_order_in_time_is_sold_also_when_the_limit_went_down() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let order = world.admitted("final", "m").ordered("final", &["A-1-1", "A-1-2"]).await;
    let lower = suites::ticketing::match_with(&json!({ "maxSeatsPerMember": 1 }));
    world.as_staff().put("/matches/final", lower).await.expect(200);
    world.clock.advance(6_000);
    assert_eq!(world.pay(&order, "p-1", 18_000).await.expect(200).json["status"], "PAID");
}

#[tokio::test]
async fn a_payment_for_a_cancelled_order_is_owed() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let caller = world.admitted("final", "m");
    let order = caller.ordered("final", &["A-1-1"]).await;
    caller.cancel(&order).await.expect(204);
    let again = caller.ordered("final", &["A-1-1"]).await;
    let owed = world.pay(&order, "p-1", 9_000).await.expect(200);
    assert_eq!(owed.json["status"], "REFUND_DUE");
    assert_eq!(world.pay(&order, "p-1", 9_000).await.expect(200).json, owed.json);
    caller.cancel(&order).await.expect(204);
    assert_eq!(caller.status(&order).await, "REFUND_DUE");
    assert_eq!(world.bearers("final").await["A-1-1"], again);
    world.assert_seats_sound(4).await;
}

#[tokio::test]
async fn a_payment_is_for_one_order_also_when_it_is_sent_on_to_another() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let [a, b] = ["a", "b"].map(|member| world.admitted("final", member));
    let (of_a, of_b) = (a.ordered("final", &["A-1-1"]).await, b.ordered("final", &["A-1-2"]).await);
    world.pay(&of_a, "p-1", 9_000).await.expect(200);
    world.pay(&of_b, "p-1", 9_000).await.refused(409, "PAYMENT_REUSED");
    assert_eq!(b.status(&of_b).await, "PENDING_PAYMENT");
    world.pay(&of_b, "p-2", 9_000).await.expect(200);
    world.assert_seats_sound(4).await;
}
