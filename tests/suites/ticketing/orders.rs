//! list-orders and get-order: the caller's own, as they stand.

use serde_json::{Value, json};
use suites::World;

#[tokio::test]
async fn orders_of_all_matches_are_listed_newest_first() {
    let world = World::start().await;
    for id in ["final", "semi-final"] {
        world.a_match(id, json!({ "maxSeatsPerMember": 50 })).await;
    }
    let mut ids = Vec::new();
    for n in 0..7 {
        let id = if n % 2 == 0 { "final" } else { "semi-final" };
        let caller = world.admitted(id, "m");
        let order = caller.ordered(id, &[format!("A-1-{}", n + 1)]).await;
        world.pay(&order, &format!("p-{n}"), 9_000).await.expect(200);
        ids.insert(0, order);
        world.clock.advance(1);
    }
    world.admitted("final", "other").ordered("final", &["B-1-1"]).await;
    for limit in [1, 3, 7, 100] {
        let listed = world.as_member("m").list("/orders", limit).await;
        let listed: Vec<&str> = listed.iter().map(|o| o["orderId"].as_str().unwrap()).collect();
        assert_eq!(listed, ids, "{limit} a page");
    }
    assert_eq!(world.as_member("nobody").list("/orders", 5).await, Vec::<Value>::new());
    let page = world.as_member("m").get("/orders?limit=2").await.expect(200);
    let cursor = page.json["nextCursor"].as_str().unwrap();
    let foreign = world.as_member("other").get(&format!("/orders?cursor={cursor}")).await;
    foreign.refused(400, "INVALID_REQUEST");
}

#[tokio::test]
async fn a_list_shows_what_the_clock_says_and_what_its_member_has_just_done() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let caller = world.admitted("final", "m");
    let status =
        async || caller.get("/orders").await.expect(200).json["items"][0]["status"].clone();
    let order = caller.ordered("final", &["A-1-1"]).await;
    assert_eq!(status().await, "PENDING_PAYMENT");
    world.clock.advance(10 * 60_000);
    assert_eq!(status().await, "LAPSED");
    world.pay(&order, "p-1", 9_000).await.expect(200);
    assert_eq!(status().await, "PAID");
    caller.cancel(&order).await.expect(204);
    assert_eq!(status().await, "REFUND_DUE");
    let one = caller.get(&format!("/orders/{order}")).await.expect(200);
    assert_eq!(one.json, caller.get("/orders").await.json["items"][0]);
    assert_eq!((one.usage.total_calls(), one.usage.read_units), (1, 1.0));
}
