//! What seats cost: calls and capacity units, which do not grow with the number
//! of members, orders or seats that there are.

use platform::meter::Usage;
use serde_json::json;
use suites::World;

/// Calls, read units, write units.
fn cost(usage: &Usage) -> (u64, f64, f64) {
    (usage.total_calls(), usage.read_units, usage.write_units)
}

/// What each step costs for `n` seats, after `before` others have ordered.
async fn costs(n: usize, before: usize) -> Vec<(&'static str, (u64, f64, f64))> {
    let world = World::with_environments(1).await;
    let many = json!({ "maxSeatsPerMember": 8 });
    world.a_match("final", many).await;
    let seats = |row: usize| (1..=n).map(|seat| format!("B-{row}-{seat}")).collect::<Vec<_>>();
    for other in 0..before {
        let caller = world.admitted("final", &format!("other{other}"));
        let order = caller.ordered("final", &[format!("A-{}-1", other % 5 + 1)]).await;
        world.pay(&order, &format!("other{other}"), 9_000).await.expect(200);
        caller.cancel(&order).await.expect(204);
    }
    let caller = world.admitted("final", "m");
    let amount = 5_000 * n as u64;
    // The environments have read the match, and met the member.
    let order = caller.ordered("final", &seats(1)).await;
    world.pay(&order, "p-0", amount).await.expect(200);
    caller.cancel(&order).await.expect(204);

    let held = caller.hold("final", &seats(1)).await.expect(201);
    let taken = world.admitted("final", "late").hold("final", &seats(1)).await;
    let taken = taken.refused(409, "SEAT_TAKEN");
    let hold = held.json["holdId"].as_str().unwrap();
    let released = caller.release(hold).await.expect(204);
    let keyed = caller.clone().with("Idempotency-Key", "k");
    let held_by_key = keyed.hold("final", &seats(2)).await.expect(201);
    let hold = held_by_key.json["holdId"].as_str().unwrap();
    let again = keyed.hold("final", &seats(2)).await.expect(201);
    let placed = caller.order(hold).await.expect(201);
    let placed_again = caller.order(hold).await.expect(201);
    let order = placed.json["orderId"].as_str().unwrap();
    let mismatch = world.pay(order, "p-1", 1).await.refused(409, "AMOUNT_MISMATCH");
    let paid = world.pay(order, "p-1", amount).await.expect(200);
    let paid_again = world.pay(order, "p-1", amount).await.expect(200);
    let taken_back = caller.cancel(order).await.expect(204);
    let order = caller.ordered("final", &seats(3)).await;
    let cancelled = caller.cancel(&order).await.expect(204);
    let cancelled_again = caller.cancel(&order).await.expect(204);
    let owed = world.pay(&order, "p-2", amount).await.expect(200);
    let listed = caller.get("/orders?limit=2").await.expect(200);
    let steps = [
        ("hold", held),
        ("hold what is taken", taken),
        ("release", released),
        ("hold with a key", held_by_key),
        ("hold again with a key", again),
        ("order", placed),
        ("order again", placed_again),
        ("pay another amount", mismatch),
        ("pay", paid),
        ("pay again", paid_again),
        ("cancel what is paid", taken_back),
        ("cancel", cancelled),
        ("cancel again", cancelled_again),
        ("pay what is cancelled", owed),
        ("list", listed),
    ];
    steps.into_iter().map(|(name, answer)| (name, cost(&answer.usage))).collect()
}

#[tokio::test]
async fn every_step_costs_what_its_seats_cost_and_a_little_more() {
    for n in [1, 4, 8] {
        let seats = 2.0 * n as f64;
        let expected = [
            ("hold", (1, 0.0, 4.0 + seats)),
            ("hold what is taken", (1, 0.0, 0.0)),
            ("release", (2, 1.0, 4.0 + seats)),
            ("hold with a key", (1, 0.0, 6.0 + seats)),
            ("hold again with a key", (1, 0.0, 0.0)),
            ("order", (2, 1.0, 8.0 + seats)),
            ("order again", (2, 2.0, 0.0)),
            ("pay another amount", (2, 3.0, 0.0)),
            ("pay", (3, 3.0, 6.0 + seats)),
            ("pay again", (2, 3.0, 0.0)),
            ("cancel what is paid", (2, 1.0, 4.0 + seats)),
            ("cancel", (2, 1.0, 4.0 + seats)),
            ("cancel again", (1, 1.0, 0.0)),
            ("pay what is cancelled", (3, 3.0, 4.0)),
            ("list", (1, 1.0, 0.0)),
        ];
        assert_eq!(costs(n, 0).await, expected, "{n} seats");
    }
}

#[tokio::test]
async fn nothing_costs_more_after_many_others() {
    assert_eq!(costs(2, 60).await, costs(2, 0).await);
}

#[tokio::test]
async fn what_is_refused_by_its_form_calls_nothing() {
    let world = World::with_environments(1).await;
    let caller = world.as_member("m");
    for refused in [
        caller.hold("final", &[] as &[&str]).await.refused(400, "INVALID_REQUEST"),
        caller.release("x").await.refused(400, "INVALID_REQUEST"),
        caller.order("x").await.refused(400, "INVALID_REQUEST"),
        caller.cancel("x").await.refused(400, "INVALID_REQUEST"),
        world.as_nobody().hold("final", &["A-1-1"]).await.refused(401, "UNAUTHENTICATED"),
    ] {
        assert_eq!(refused.usage.total_calls(), 0);
    }
}
