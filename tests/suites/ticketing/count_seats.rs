//! Stream → maps: what records lead to, whenever and however often they come.

use local::faults::Fault;
use platform::table::{n, s};
use serde_json::{Value, json};
use suites::gate::Gate;
use suites::ticketing::block;
use suites::{Caller, World, instant};
use ticketing::ids::Seat;
use ticketing::{TABLE, keys};

const HELD_UNTIL: &str = "2030-01-01T00:05:00Z";

/// Writes a seat as a hold leaves it: until when, or sold.
async fn take(world: &World, seat: &str, until: Option<&str>) {
    let seat: Seat = seat.parse().unwrap();
    let mut item = keys::seat(&"final".parse().unwrap(), &seat).into_item();
    match until {
        Some(until) => item.insert("held_until_ms".into(), n(instant(until).as_millis())),
        None => item.insert("sold".into(), platform::table::AttributeValue::Bool(true)),
    };
    item.insert("hold_id".into(), s("h"));
    let put = world.cloud.client().put_item().table_name(TABLE.default).set_item(Some(item));
    put.send().await.unwrap();
}

/// Held, sold and free seats of a block.
async fn counts(world: &World, block: &str) -> (u64, u64, u64) {
    let groups = world.admitted("final", "m").get("/matches/final/seat-groups").await.expect(200);
    let groups = groups.json["items"].as_array().unwrap().clone();
    let group = groups.iter().find(|group| group["block"] == block).unwrap();
    let number = |field: &str| group[field].as_u64().unwrap();
    assert_eq!(number("held") + number("sold") + number("free"), number("seats"));
    (number("held"), number("sold"), number("free"))
}

/// Lets the stream drain and the maps that environments remember grow old.
async fn drain(world: &World) {
    world.settle().await;
    world.clock.advance(1_000);
    world.settle().await;
    world.clock.advance(1_000);
}

fn record(number: usize, block: &str) -> Value {
    json!({
        "eventID": format!("e-{number}"),
        "eventName": "MODIFY",
        "dynamodb": {
            "Keys": {
                "pk": { "S": format!("MATCH#final#BLOCK#{block}") },
                "sk": { "S": "SEAT#0001#0001" },
            },
            "SequenceNumber": number.to_string(),
        },
        "eventSourceARN": "arn:aws:dynamodb:us-east-1:0:table/Ticketing/stream/2030-01-01",
    })
}

async fn hand_over(world: &World, records: &[Value]) -> Vec<String> {
    let event = json!({ "Records": records });
    let answer = world.cloud.invoke_event("count-seats", event).await.unwrap().response.unwrap();
    let failures = answer["batchItemFailures"].as_array().unwrap();
    let named = failures.iter().map(|f| f["itemIdentifier"].as_str().unwrap().to_owned());
    let mut named: Vec<String> = named.collect();
    named.sort();
    named
}

#[tokio::test]
async fn counts_agree_with_the_seats_once_the_stream_is_drained() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    assert_eq!(counts(&world, "A").await, (0, 0, 50), "nothing was taken yet");
    take(&world, "A-1-1", Some(HELD_UNTIL)).await;
    take(&world, "A-5-10", None).await;
    take(&world, "B-10-10", Some(HELD_UNTIL)).await;
    drain(&world).await;
    assert_eq!(counts(&world, "A").await, (1, 1, 48));
    assert_eq!(counts(&world, "B").await, (1, 0, 99));
}

#[tokio::test]
async fn a_hold_that_lapsed_counts_as_free_without_any_write() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    take(&world, "A-1-1", Some(HELD_UNTIL)).await;
    drain(&world).await;
    let left_ms = instant(HELD_UNTIL).as_millis() - world.clock.now().as_millis();
    world.clock.advance(left_ms - 1);
    assert_eq!(counts(&world, "A").await, (1, 0, 49));
    let writes = || world.cloud.status()["functions"]["count-seats"]["requests"].clone();
    let before = writes();
    world.clock.advance(1);
    assert_eq!(counts(&world, "A").await, (0, 0, 50));
    world.settle().await;
    assert_eq!(writes(), before);
}

#[tokio::test(start_paused = true)]
async fn a_count_that_comes_late_does_not_turn_a_map_back() {
    for counted_before in [0, 1] {
        let gate = Gate::default();
        let world = World::behind(&gate).await;
        world.a_match("final", json!({})).await;
        let window = [record(0, "A")];
        for number in 1..=counted_before {
            take(&world, &format!("A-2-{number}"), None).await;
            assert!(hand_over(&world, &window).await.is_empty());
        }
        take(&world, "A-1-1", None).await;
        let overtake = async {
            take(&world, "A-1-2", None).await;
            assert!(hand_over(&world, &window).await.is_empty());
        };
        let late = gate.overtaken(("UpdateItem", 1), hand_over(&world, &window), overtake).await;
        assert!(late.is_empty(), "it has nothing more to do");
        let sold = counted_before + 2;
        assert_eq!(counts(&world, "A").await, (0, sold, 50 - sold));
    }
}

#[tokio::test]
async fn the_same_window_may_come_twice_late_and_to_many_instances_at_once() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    for row in 1..=5 {
        for number in 1..=10 {
            take(&world, &format!("A-{row}-{number}"), Some(HELD_UNTIL)).await;
            let records = [record(0, "A"), record(1, "B"), record(2, "A")];
            let (one, other, third) = tokio::join!(
                hand_over(&world, &records),
                hand_over(&world, &records[..1]),
                hand_over(&world, &records),
            );
            assert!(one.is_empty() && other.is_empty() && third.is_empty());
        }
        world.clock.advance(1_000);
        assert_eq!(counts(&world, "A").await, (row * 10, 0, 50 - row * 10));
    }
    assert_eq!(counts(&world, "B").await, (0, 0, 100));
}

#[tokio::test]
async fn a_map_that_says_what_the_seats_say_is_not_written_again() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    take(&world, "A-1-1", Some(HELD_UNTIL)).await;
    let event = || json!({ "Records": [record(0, "A")] });
    let first = world.cloud.invoke_event("count-seats", event()).await.unwrap();
    assert_eq!(first.usage.calls_of("UpdateItem"), 1);
    let again = world.cloud.invoke_event("count-seats", event()).await.unwrap();
    assert_eq!(again.usage.calls_of("UpdateItem"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_map_that_cannot_be_written_names_the_first_record_of_its_block() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    take(&world, "A-1-1", Some(HELD_UNTIL)).await;
    take(&world, "B-1-1", Some(HELD_UNTIL)).await;
    world.faults.always("UpdateItem", Fault::Throttled);
    let records = [record(7, "A"), record(8, "B"), record(9, "A")];
    assert_eq!(hand_over(&world, &records).await, ["7", "8"]);
    world.faults.stop();
    assert!(hand_over(&world, &records).await.is_empty());
    world.clock.advance(1_000);
    assert_eq!(counts(&world, "A").await, (1, 0, 49));
}

#[tokio::test]
async fn a_lost_answer_leaves_the_map_right() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    world.faults.always("UpdateItem", Fault::LostFirstAnswer);
    take(&world, "A-1-1", Some(HELD_UNTIL)).await;
    assert!(hand_over(&world, &[record(0, "A")]).await.is_empty());
    assert_eq!(counts(&world, "A").await, (1, 0, 49));
}

#[tokio::test]
async fn records_of_nothing_that_is_there_are_passed_over() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let mut odd = record(1, "A");
    odd["dynamodb"]["Keys"]["pk"]["S"] = "MATCH#final".into();
    assert!(hand_over(&world, &[odd, record(2, "Z"), record(3, "A")]).await.is_empty());
    assert_eq!(counts(&world, "A").await, (0, 0, 50));
}

#[tokio::test]
async fn groups_take_a_pass_and_cost_one_call_a_second_however_many_seats_there_are() {
    let world = World::with_environments(1).await;
    world.as_member("m").get("/matches/final/seat-groups").await.refused(404, "MATCH_NOT_FOUND");
    let blocks: Vec<Value> = (0..50).map(|n| block(&format!("N{n}"), 1, 1, 20, 50)).collect();
    world.a_match("final", json!({ "blocks": blocks })).await;
    let groups = "/matches/final/seat-groups";
    world.as_member("m").get(groups).await.refused(403, "PASS_REQUIRED");
    let first = world.admitted("final", "m").get(groups).await.expect(200);
    assert_eq!(first.json["items"].as_array().unwrap().len(), 50);
    assert_eq!(first.json.get("nextCursor"), None);
    assert_eq!(first.usage.calls_of("BatchGetItem"), 1);
    world.clock.advance(999);
    let again = world.admitted("final", "other").get(groups).await.expect(200);
    assert_eq!((again.usage.calls_of("BatchGetItem"), &again.json), (0, &first.json));
    assert_eq!((again.usage.total_calls(), again.usage.read_units), (1, 1.0), "the account");
    world.clock.advance(1);
    let later = world.admitted("final", "m").get(groups).await.expect(200);
    assert_eq!(later.usage.calls_of("BatchGetItem"), 1);
    assert_eq!(world.admitted("final", "m").list(groups, 7).await.len(), 50);
}

#[tokio::test]
async fn seats_are_listed_row_by_row() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    take(&world, "A-1-2", Some(HELD_UNTIL)).await;
    take(&world, "A-5-10", None).await;
    drain(&world).await;
    let seats = world.admitted("final", "m").list("/matches/final/blocks/A/seats", 7).await;
    let expected = (1..=5).flat_map(|row| (1..=10).map(move |number| (row, number)));
    let expected = expected.map(|(row, number)| {
        let seat = format!("A-{row}-{number}");
        let state = match seat.as_str() {
            "A-1-2" => "HELD",
            "A-5-10" => "SOLD",
            _ => "FREE",
        };
        json!({ "seat": seat, "state": state })
    });
    assert_eq!(seats, expected.collect::<Vec<_>>());
    let admitted = world.admitted("final", "m");
    admitted.get("/matches/final/blocks/Z/seats").await.refused(404, "BLOCK_NOT_FOUND");
    admitted.get("/matches/none/blocks/A/seats").await.refused(404, "MATCH_NOT_FOUND");
    let refused = world.as_member("m").get("/matches/final/blocks/A/seats").await;
    refused.refused(403, "PASS_REQUIRED");
}

/// What a member sees of a seat.
async fn seen(caller: &Caller<'_>, seat: &str) -> String {
    let seats = caller.list("/matches/final/blocks/A/seats", 100).await;
    let found = seats.iter().find(|shown| shown["seat"] == seat).unwrap();
    found["state"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn what_one_did_is_in_ones_own_next_list_before_the_stream_tells_anybody() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let [member, other] = ["m", "o"].map(|id| world.admitted("final", id));
    assert_eq!(seen(&member, "A-1-1").await, "FREE");
    let released = member.held("final", &["A-1-1"]).await;
    assert_eq!(seen(&member, "A-1-1").await, "HELD");
    assert_eq!(seen(&other, "A-1-1").await, "FREE", "the stream is behind");
    member.release(&released).await.expect(204);
    assert_eq!(seen(&member, "A-1-1").await, "FREE");
    let cancelled = member.ordered("final", &["A-1-1"]).await;
    assert_eq!(seen(&member, "A-1-1").await, "HELD");
    drain(&world).await;
    assert_eq!(seen(&other, "A-1-1").await, "HELD");
    member.cancel(&cancelled).await.expect(204);
    assert_eq!(seen(&member, "A-1-1").await, "FREE", "the map still says held");
    let paid = member.ordered("final", &["A-1-1"]).await;
    world.pay(&paid, "p-1", 9_000).await.expect(200);
    assert_eq!(seen(&member, "A-1-1").await, "SOLD");
}

#[tokio::test]
async fn whatever_one_gave_back_in_the_last_moments_is_free_for_oneself_at_once() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let [member, other] = ["m", "o"].map(|id| world.admitted("final", id));
    let names = ["A-1-1", "A-1-2", "A-1-3", "A-1-4"];
    let mut orders = Vec::new();
    for (number, name) in names[..3].iter().enumerate() {
        let order = member.ordered("final", &[name]).await;
        world.pay(&order, &format!("p-{number}"), 9_000).await.expect(200);
        orders.push(order);
    }
    let hold = member.held("final", &names[3..]).await;
    drain(&world).await;
    assert_eq!(counts(&world, "A").await, (1, 3, 46));
    for order in &orders {
        member.cancel(order).await.expect(204);
    }
    member.release(&hold).await.expect(204);
    for (name, others) in names.iter().zip(["SOLD", "SOLD", "SOLD", "HELD"]) {
        assert_eq!(seen(&member, name).await, "FREE", "{name}");
        assert_eq!(seen(&other, name).await, others, "the stream is behind");
    }
    assert_eq!(counts(&world, "A").await, (0, 0, 50), "in the groups, too");
    member.held("final", &["A-1-2"]).await;
    assert_eq!(counts(&world, "A").await, (1, 0, 49));
    drain(&world).await;
    assert_eq!(seen(&other, "A-1-1").await, "FREE");
    assert_eq!(seen(&other, "A-1-2").await, "HELD");
}

#[tokio::test]
async fn what_somebody_else_took_since_is_theirs_once_the_stream_tells() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let [member, other] = ["m", "o"].map(|id| world.admitted("final", id));
    let hold = member.held("final", &["A-1-1"]).await;
    member.release(&hold).await.expect(204);
    world.clock.advance(1);
    other.held("final", &["A-1-1"]).await;
    drain(&world).await;
    assert_eq!(seen(&member, "A-1-1").await, "HELD");
}
