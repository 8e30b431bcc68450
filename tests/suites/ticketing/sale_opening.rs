//! The sale opens at its instant, on every environment at once, and no job is
//! run for it.

use serde_json::{Value, json};
use suites::{World, count, race};

use crate::queue::{QUEUE, enter, poll, take, ticket, ticket_in};

#[tokio::test]
async fn a_sale_opens_at_its_instant_on_every_environment_without_any_job() {
    let world = World::with_environments(64).await;
    let opens_at = "2030-01-01T00:01:00Z";
    world.a_match("final", json!({ "saleOpensAt": opens_at, "admitPerSecond": 64 })).await;
    let all = async || race(0..64, async |n| enter(&world, &format!("m{n}")).await).await;
    world.clock.advance(58_000);
    let warm = all().await;
    assert_eq!(count(&warm, 409), 64, "every environment knows the match now");
    world.clock.advance(1_999);
    for refused in all().await {
        let refused = refused.refused(409, "SALE_NOT_OPEN");
        assert_eq!(refused.json["opensAt"], opens_at);
        assert_eq!(refused.json["now"], "2030-01-01T00:00:59.999Z");
        assert_eq!(refused.usage.write_units, 0.0);
    }
    world.clock.advance(1);
    let entered = all().await;
    assert_eq!(count(&entered, 201), 64);
    let mut admitted = 0;
    for _ in 0..4 {
        world.clock.advance(250);
        let taken =
            race(0..64, async |n| take(&world, &format!("m{n}"), &ticket_in(&entered[n])).await);
        let taken = taken.await;
        let now_in = taken.iter().filter(|answer| answer.status == 201).count();
        assert!((admitted..=admitted + 16).contains(&now_in), "{now_in} after {admitted}");
        admitted = now_in;
    }
    assert!(admitted > 32, "{admitted} in the first second");
}

#[tokio::test]
async fn before_it_opens_a_ticket_is_no_use_and_after_it_closes_neither() {
    let world = World::start().await;
    world.a_match("cup", json!({})).await;
    let path = "/matches/cup/queue";
    let entered = world.as_member("m").post(path, Value::Null).await.expect(201);
    let sale = json!({ "saleOpensAt": "2030-01-01T00:01:00Z" });
    world.a_match("final", sale).await;
    let other = ticket_in(&entered);
    poll(&world, "m", &other).await.refused(400, "INVALID_REQUEST");
    world.as_member("m").post(QUEUE, Value::Null).await.refused(409, "SALE_NOT_OPEN");
    world.clock.advance(60_000);
    let ticket = ticket(&world, "m").await;
    world.clock.advance(1_000);
    take(&world, "m", &ticket).await.expect(201);
}

#[tokio::test]
async fn an_environment_whose_clock_is_behind_keeps_the_sale_closed() {
    let world = World::start().await;
    world.a_match("final", json!({ "saleOpensAt": "2030-01-01T00:01:00Z" })).await;
    world.clock.advance(60_000);
    let ticket = ticket(&world, "m").await;
    world.clock.advance(-1);
    poll(&world, "m", &ticket).await.refused(409, "SALE_NOT_OPEN");
    take(&world, "m", &ticket).await.refused(409, "SALE_NOT_OPEN");
    world.clock.advance(1_001);
    take(&world, "m", &ticket).await.expect(201);
}
