//! hold-seats: all of them or none, for a while.

use local::faults::Fault;
use serde_json::json;
use suites::World;

#[tokio::test]
async fn seats_are_held_for_as_long_as_the_match_says() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let held = world.admitted("final", "m").hold("final", &["A-1-2", "A-1-1", "B-10-10"]).await;
    let held = held.expect(201);
    let id = held.json["holdId"].as_str().unwrap();
    assert_eq!(held.headers["location"], format!("/holds/{id}"));
    assert_eq!(
        held.json,
        json!({
            "holdId": id,
            "matchId": "final",
            "seats": ["A-1-2", "A-1-1", "B-10-10"],
            "amount": 23_000,
            "heldUntil": "2030-01-01T00:05:00Z",
        })
    );
}

#[tokio::test]
async fn a_seat_that_is_held_refuses_all_that_are_wanted_with_it() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let [a, b] = ["a", "b"].map(|member| world.admitted("final", member));
    a.hold("final", &["A-1-1", "A-1-2"]).await.expect(201);
    let refused = b.hold("final", &["A-1-3", "A-1-2", "A-1-4", "A-1-1"]).await;
    let refused = refused.refused(409, "SEAT_TAKEN");
    assert_eq!(refused.json["seats"], json!(["A-1-2", "A-1-1"]), "all that are taken");
    // Nothing of it is held: neither the seats nor the member's right to a hold.
    b.hold("final", &["A-1-3", "A-1-4"]).await.expect(201);
}

#[tokio::test]
async fn a_hold_is_over_on_the_millisecond() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let [a, b] = ["a", "b"].map(|member| world.admitted("final", member));
    a.hold("final", &["A-1-1"]).await.expect(201);
    world.clock.advance(5 * 60_000 - 1);
    b.hold("final", &["A-1-1"]).await.refused(409, "SEAT_TAKEN");
    a.hold("final", &["A-1-2"]).await.refused(409, "HOLD_EXISTS");
    world.clock.advance(1);
    b.hold("final", &["A-1-1"]).await.expect(201);
    a.hold("final", &["A-1-2"]).await.expect(201);
}

#[tokio::test]
async fn a_member_has_one_hold_for_each_match() {
    let world = World::start().await;
    for id in ["final", "semi-final"] {
        world.a_match(id, json!({})).await;
    }
    let caller = world.admitted("final", "m");
    let held = caller.hold("final", &["A-1-1"]).await.expect(201);
    let too_many = ["A-1-1", "A-1-2", "A-1-3", "A-1-4", "A-1-5"];
    for wanted in [&["A-1-1"][..], &["A-1-2"], &too_many] {
        let refused = caller.hold("final", wanted).await.refused(409, "HOLD_EXISTS");
        assert_eq!(refused.json["existing"], held.json["holdId"]);
        assert_eq!(refused.json["until"], held.json["heldUntil"]);
    }
    let other = world.admitted("semi-final", "m");
    let refused = other.hold("semi-final", &too_many).await.refused(409, "SEAT_LIMIT_EXCEEDED");
    assert_eq!(refused.json["left"], 4);
    other.hold("semi-final", &too_many[..4]).await.expect(201);
}

#[tokio::test]
async fn what_names_no_seats_is_refused_before_anything_is_asked() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let caller = world.admitted("final", "m");
    for (field, body) in [
        ("seats", json!({})),
        ("seats", json!({ "seats": [] })),
        ("seats", json!({ "seats": "A-1-1" })),
        ("seats", json!({ "seats": ["A-1-1", "A-1-2", "A-1-1"] })),
        ("seats[1]", json!({ "seats": ["A-1-1", "A-1"] })),
        ("seats[0]", json!({ "seats": ["A-01-1"] })),
        ("seats[0]", json!({ "seats": [7] })),
    ] {
        let refused = caller.post("/matches/final/holds", body).await;
        let refused = refused.refused(400, "INVALID_REQUEST");
        assert_eq!(refused.json["errors"][0]["field"], field, "{}", refused.json);
        assert_eq!(refused.usage.total_calls(), 0);
    }
    let refused = caller.hold("final", &["A-1-1", "A-6-1"]).await.refused(404, "SEAT_NOT_FOUND");
    assert_eq!(refused.json["seat"], "A-6-1");
    caller.hold("final", &["Z-1-1"]).await.refused(404, "SEAT_NOT_FOUND");
    caller.hold("none", &["A-1-1"]).await.refused(404, "MATCH_NOT_FOUND");
    caller.hold("final", &["A-1-1"]).await.expect(201);
}

#[tokio::test]
async fn nobody_holds_without_a_pass_of_their_own_for_the_match_that_is_not_over() {
    let world = World::start().await;
    for id in ["final", "semi-final"] {
        world.a_match(id, json!({})).await;
    }
    let member = world.as_member("m");
    let own = world.pass("final", "m");
    for bad in ["", "x", &world.pass("final", "other"), &world.pass("semi-final", "m")] {
        let caller = member.clone().with("X-Queue-Pass", bad);
        caller.hold("final", &["A-1-1"]).await.refused(403, "PASS_REQUIRED");
    }
    member.hold("final", &["A-1-1"]).await.refused(403, "PASS_REQUIRED");
    member.hold("final", &["Z-1-1"]).await.refused(404, "SEAT_NOT_FOUND");
    world.clock.advance(30 * 60_000 - 1);
    let caller = world.as_member("m").with("X-Queue-Pass", &own);
    caller.hold("final", &["A-1-1"]).await.expect(201);
    world.clock.advance(1);
    let caller = world.as_member("m").with("X-Queue-Pass", &own);
    caller.hold("final", &["A-1-2"]).await.refused(403, "PASS_REQUIRED");
}

#[tokio::test]
async fn seats_are_held_only_while_the_sale_is_open_and_a_repeat_gets_its_answer_later_too() {
    let world = World::start().await;
    let sale = json!({
        "saleOpensAt": "2030-01-01T00:01:00Z",
        "saleClosesAt": "2030-01-01T00:02:00Z",
    });
    world.a_match("final", sale).await;
    let caller = world.admitted("final", "m").with("Idempotency-Key", "k");
    let refused = caller.hold("final", &["A-1-1"]).await.refused(409, "SALE_NOT_OPEN");
    assert_eq!(refused.json["opensAt"], "2030-01-01T00:01:00Z");
    assert_eq!(refused.json["now"], "2030-01-01T00:00:00Z");
    world.clock.advance(60_000);
    let held = caller.hold("final", &["A-1-1"]).await.expect(201);
    world.clock.advance(60_000);
    world.admitted("final", "m").hold("final", &["A-1-1"]).await.refused(409, "SALE_CLOSED");
    assert_eq!(caller.hold("final", &["A-1-1"]).await.expect(201).json, held.json);
}

#[tokio::test]
async fn a_repeat_gets_the_first_answer_and_another_request_under_its_key_none() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let caller = world.admitted("final", "m").with("Idempotency-Key", "k");
    let taken = world.admitted("final", "other").hold("final", &["A-1-1"]).await.expect(201);
    caller.hold("final", &["A-1-1"]).await.refused(409, "SEAT_TAKEN"); // is not kept
    let held = caller.hold("final", &["A-1-2"]).await.expect(201);
    assert_ne!(held.json["holdId"], taken.json["holdId"]);
    for _ in 0..3 {
        let again = caller.hold("final", &["A-1-2"]).await.expect(201);
        assert_eq!(again.json, held.json);
        assert_eq!(again.headers["location"], held.headers["location"]);
    }
    caller.hold("final", &["A-1-3"]).await.refused(409, "IDEMPOTENCY_KEY_REUSED");
    let fresh = world.admitted("final", "m");
    fresh.hold("final", &["A-1-2"]).await.refused(409, "HOLD_EXISTS");
}

#[tokio::test]
async fn a_lost_answer_is_no_refusal_by_ones_own_hold() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let faults = [
        Fault::LostFirstAnswer,
        Fault::LostAnswer,
        Fault::LostRequest,
        Fault::ServerError,
        Fault::Throttled,
        Fault::Conflict(vec![2]),
        Fault::Conflict(vec![0, 2]),
        Fault::LateSuccess(vec![2]),
    ];
    for (n, fault) in (1..).zip(faults) {
        world.faults.next("TransactWriteItems", &fault, 2);
        let seat = format!("A-1-{n}");
        let member = format!("m{n}");
        let mut caller = world.admitted("final", &member);
        if n % 2 == 0 {
            caller = caller.with("Idempotency-Key", "k");
        }
        let held = caller.hold("final", &[&seat]).await.expect(201);
        world.faults.stop();
        let again = world.admitted("final", &member).hold("final", &[&seat]).await;
        let again = again.refused(409, "HOLD_EXISTS");
        assert_eq!(again.json["existing"], held.json["holdId"], "{fault:?}");
    }
}
