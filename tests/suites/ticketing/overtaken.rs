//! A request is held on its way to the table while another overtakes it, or
//! while its time ends.
//!
//! Tokio's clock is paused, so that what is held is not taken for lost.

use platform::table::{Read, n};
use serde_json::json;
use suites::World;
use suites::gate::Gate;
use ticketing::{TABLE, keys};

/// The one write that a request makes.
const WRITE: (&str, u32) = ("TransactWriteItems", 1);
const MINUTE_MS: i64 = 60_000;

/// A sale of the match `final`, at most four seats a member.
async fn sale(gate: &Gate) -> World {
    let world = World::behind(gate).await;
    world.a_match("final", json!({})).await;
    world
}

/// An order of three seats in a row of block A that nobody paid in time.
async fn lapsed(world: &World, row: u32) -> String {
    let seats = [1, 2, 3].map(|number| format!("A-{row}-{number}"));
    let order = world.admitted("final", "m").ordered("final", &seats).await;
    world.clock.advance(10 * MINUTE_MS);
    order
}

#[tokio::test(start_paused = true)]
async fn an_order_that_is_not_written_before_its_hold_lapses_is_none() {
    let gate = Gate::default();
    let world = sale(&gate).await;
    let caller = world.admitted("final", "m");
    let hold = caller.held("final", &["A-1-1"]).await;
    // The hold was live when it was read; next is the match.
    let lapse = async { world.clock.advance(5 * MINUTE_MS) };
    let late = gate.overtaken(("GetItem", 1), caller.order(&hold), lapse).await;
    late.refused(409, "HOLD_LAPSED");
    assert!(world.bearers("final").await.is_empty());
    world.assert_seats_sound(4).await;
}

#[tokio::test(start_paused = true)]
async fn an_order_that_the_next_hold_of_its_member_overtook_is_none() {
    let gate = Gate::default();
    let world = sale(&gate).await;
    let caller = world.admitted("final", "m");
    let hold = caller.held("final", &["A-1-1"]).await;
    let next = async {
        world.clock.advance(5 * MINUTE_MS);
        caller.held("final", &["A-1-2"]).await;
    };
    let late = gate.overtaken(WRITE, caller.order(&hold), next).await;
    late.refused(409, "HOLD_LAPSED");
    caller.hold("final", &["A-1-3"]).await.refused(409, "HOLD_EXISTS");
    assert_eq!(world.bearers("final").await.into_keys().collect::<Vec<_>>(), ["A-1-2"]);
    world.assert_seats_sound(4).await;
}

#[tokio::test(start_paused = true)]
async fn a_release_that_an_order_overtook_releases_nothing_and_the_order_is_told_again() {
    let gate = Gate::default();
    let world = sale(&gate).await;
    let caller = world.admitted("final", "m");
    let hold = caller.held("final", &["A-1-1"]).await;
    let order = async {
        caller.order(&hold).await.expect(201);
    };
    let late = gate.overtaken(WRITE, caller.release(&hold), order).await;
    late.refused(404, "HOLD_NOT_FOUND");
    let told = caller.order(&hold).await.expect(201);
    let bearers = world.bearers("final").await;
    assert_eq!(bearers.into_values().collect::<Vec<_>>(), [told.json["orderId"].as_str().unwrap()]);
    world.assert_seats_sound(4).await;
}

#[tokio::test(start_paused = true)]
async fn a_late_payment_that_a_hold_overtook_does_not_lift_its_member_over_the_limit() {
    for has_closed in [false, true] {
        let gate = Gate::default();
        let world = sale(&gate).await;
        let order = lapsed(&world, 1).await;
        let caller = world.admitted("final", "m");
        if has_closed {
            let hold = caller.held("final", &["B-1-1"]).await;
            caller.release(&hold).await.expect(204);
        }
        let next = async {
            caller.held("final", &["A-2-1", "A-2-2"]).await;
        };
        let late = gate.overtaken(WRITE, world.pay(&order, "p-1", 27_000), next).await;
        assert_eq!(late.expect(200).json["status"], "REFUND_DUE", "{has_closed}");
        caller.hold("final", &["A-3-1"]).await.refused(409, "HOLD_EXISTS");
        world.assert_seats_sound(4).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_late_payment_that_another_overtook_does_not_lift_its_member_over_the_limit() {
    for has_bought in [false, true] {
        let gate = Gate::default();
        let world = sale(&gate).await;
        if has_bought {
            let order = world.admitted("final", "m").ordered("final", &["B-1-1"]).await;
            world.pay(&order, "p-0", 5_000).await.expect(200);
        }
        let orders = [lapsed(&world, 1).await, lapsed(&world, 2).await];
        // With nothing open, only what is bought tells that there was another.
        let caller = world.admitted("final", "m");
        let hold = caller.held("final", &["B-2-1"]).await;
        caller.release(&hold).await.expect(204);
        let other = async {
            let paid = world.pay(&orders[1], "p-2", 27_000).await.expect(200);
            assert_eq!(paid.json["status"], "PAID");
        };
        let late = gate.overtaken(WRITE, world.pay(&orders[0], "p-1", 27_000), other).await;
        assert_eq!(late.expect(200).json["status"], "REFUND_DUE", "{has_bought}");
        world.assert_seats_sound(4).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_late_payment_is_not_owed_for_what_its_member_gave_back_meanwhile() {
    let gate = Gate::default();
    let world = sale(&gate).await;
    let order = lapsed(&world, 1).await;
    let caller = world.admitted("final", "m");
    let hold = caller.held("final", &["A-2-1", "A-2-2"]).await;
    let release = async {
        caller.release(&hold).await.expect(204);
    };
    let late = gate.overtaken(WRITE, world.pay(&order, "p-1", 27_000), release).await;
    assert_eq!(late.expect(200).json["status"], "PAID");
    assert_eq!(world.bearers("final").await.len(), 3);
    world.assert_seats_sound(4).await;
}

#[tokio::test(start_paused = true)]
async fn a_wish_that_another_overtook_takes_the_place_of_that_one() {
    let gate = Gate::default();
    let world = sale(&gate).await;
    let caller = world.admitted("final", "m");
    let put = async |seats: u64| {
        caller.put("/matches/final/booking-options", json!({ "seats": seats })).await
    };
    put(1).await.expect(201);
    let other = async {
        put(2).await.expect(200);
    };
    gate.overtaken(WRITE, put(3), other).await.expect(200);
    let key = keys::options(&"final".parse().unwrap(), "m");
    let item = world.app().await.table(TABLE).get(key, Read::Consistent).await.unwrap().unwrap();
    assert_eq!((&item["seats"], &item["version"]), (&n(3), &n(3)), "a version of its own");
}
