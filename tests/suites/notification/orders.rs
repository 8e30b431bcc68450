//! What happens to an order, told to its member.

use local::faults::Fault;
use serde_json::json;
use suites::World;

const MINUTE_MS: i64 = 60 * 1000;

/// What a member was told, in order: types, versions, and the orders.
async fn told(world: &World, member: &str) -> Vec<(String, u64, String)> {
    let inbox = world.inbox(member).await.into_iter().rev();
    let told = inbox.map(|notification| {
        let text = |field: &str| notification[field].as_str().unwrap().to_owned();
        (text("type"), notification["version"].as_u64().unwrap(), text("aggregateId"))
    });
    told.collect()
}

fn expected(order: &str, kinds: &[&str]) -> Vec<(String, u64, String)> {
    let versions = (1..).zip(kinds);
    versions.map(|(version, kind)| (format!("ORDER_{kind}"), version, order.to_owned())).collect()
}

#[tokio::test]
async fn an_order_is_told_from_its_placing_to_its_end_in_order_and_once() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let endings: [(&str, &[&str], &[&str]); 4] = [
        ("paid", &["pay", "pay"], &["PLACED", "PAID"]),
        ("cancelled", &["cancel", "cancel"], &["PLACED", "CANCELLED"]),
        ("taken-back", &["pay", "cancel", "pay"], &["PLACED", "PAID", "REFUND_DUE"]),
        ("too-late", &["cancel", "pay", "cancel"], &["PLACED", "CANCELLED", "REFUND_DUE"]),
    ];
    for (n, (member, steps, kinds)) in (1..).zip(endings) {
        let caller = world.admitted("final", member);
        let order = caller.ordered("final", &[format!("A-1-{n}")]).await;
        for step in steps {
            world.clock.advance(1);
            match *step {
                "pay" => world.pay(&order, member, 9_000).await.expect(200),
                _ => caller.cancel(&order).await.expect(204),
            };
        }
        world.settle().await;
        assert_eq!(told(&world, member).await, expected(&order, kinds));
    }
    let inbox = world.inbox("paid").await;
    assert_eq!(
        inbox[0]["payload"],
        json!({
            "matchId": "final",
            "seats": ["A-1-1"],
            "amount": 9_000,
            "payBy": "2030-01-01T00:10:00Z",
        }),
        "only listed fields"
    );
    assert_eq!(inbox[0]["occurredAt"], "2030-01-01T00:00:00.001Z");
}

#[tokio::test]
async fn holds_and_orders_that_lapse_are_told_to_nobody() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let caller = world.admitted("final", "m");
    let hold = caller.held("final", &["A-1-1"]).await;
    caller.release(&hold).await.expect(204);
    caller.held("final", &["A-1-1"]).await;
    world.settle().await;
    assert!(told(&world, "m").await.is_empty());
    world.clock.advance(5 * MINUTE_MS);
    let order = caller.ordered("final", &["A-1-1"]).await;
    world.clock.advance(9 * MINUTE_MS);
    world.settle().await;
    assert_eq!(told(&world, "m").await, expected(&order, &["PLACED"]));
}

#[tokio::test]
async fn what_is_sent_and_delivered_twice_is_told_once() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let caller = world.admitted("final", "m");
    world.faults.always("TransactWriteItems", Fault::LostFirstAnswer);
    let order = caller.ordered("final", &["A-1-1"]).await;
    world.pay(&order, "p-1", 9_000).await.expect(200);
    world.cloud.lose_next_checkpoints();
    world.queue_faults.next("SendMessageBatch", &Fault::LostAnswer, 2);
    world.settle().await;
    world.clock.advance(6 * MINUTE_MS); // beyond what the queue remembers, and what it hides
    caller.cancel(&order).await.expect(204);
    world.cloud.lose_next_checkpoints();
    for _ in 0..2 {
        world.settle().await;
        world.clock.advance(2 * MINUTE_MS);
    }
    assert_eq!(told(&world, "m").await, expected(&order, &["PLACED", "PAID", "REFUND_DUE"]));
}
