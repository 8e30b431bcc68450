//! put- and get-booking-options, put- and get-preferences.

use local::faults::Fault;
use serde_json::{Value, json};
use suites::{World, count, race};
use ticketing::wishes;

const OPTIONS: &str = "/matches/final/booking-options";
const PREFERENCES: &str = "/preferences";

async fn world() -> World {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    world
}

#[tokio::test]
async fn whoever_has_said_nothing_wants_one_seat_anywhere() {
    let world = world().await;
    let options = world.admitted("final", "m").get(OPTIONS).await.expect(200);
    assert_eq!(options.json, json!({ "seats": 1, "sections": [] }));
    let preferences = world.as_member("m").get(PREFERENCES).await.expect(200);
    assert_eq!(preferences.json, json!({ "sections": [] }));
}

#[tokio::test]
async fn what_was_said_is_in_the_next_read_of_the_same_member_and_of_nobody_else() {
    let world = world().await;
    let member = world.admitted("final", "m");
    let all = json!({ "seats": 8, "sections": ["B", "A"], "maxPrice": 5_000, "adjacent": true });
    let put = member.put(OPTIONS, all.clone()).await.expect(201);
    assert_eq!((&put.json, &put.headers["location"]), (&all, &OPTIONS.parse().unwrap()));
    assert_eq!(member.get(OPTIONS).await.expect(200).json, all);
    let less = json!({ "seats": 2, "sections": [] });
    assert_eq!(member.put(OPTIONS, json!({ "seats": 2 })).await.expect(200).json, less);
    assert_eq!(member.get(OPTIONS).await.expect(200).json, less, "all of it is replaced");
    let likes = json!({ "team": "Reds", "sections": ["C"] });
    let put = member.put(PREFERENCES, likes.clone()).await.expect(201);
    assert_eq!((&put.json, &put.headers["location"]), (&likes, &PREFERENCES.parse().unwrap()));
    assert_eq!(member.get(PREFERENCES).await.expect(200).json, likes);

    world.a_match("cup", json!({})).await;
    let other_match = world.admitted("cup", "m").get("/matches/cup/booking-options").await;
    assert_eq!(other_match.expect(200).json["seats"], 1);
    let other = world.admitted("final", "n");
    assert_eq!(other.get(OPTIONS).await.expect(200).json["seats"], 1);
    assert_eq!(other.get(PREFERENCES).await.expect(200).json, json!({ "sections": [] }));
}

#[tokio::test]
async fn sections_that_are_named_twice_count_once() {
    let world = world().await;
    let member = world.admitted("final", "m");
    let named: Vec<String> = (0..200).map(|n| format!("S{}", n % 50)).collect();
    let put = member.put(PREFERENCES, json!({ "sections": named })).await.expect(201);
    assert_eq!(put.json["sections"].as_array().unwrap().len(), 50);
}

#[tokio::test]
async fn what_says_the_same_again_is_not_written() {
    let world = world().await;
    let member = world.admitted("final", "m");
    for (path, body) in [(OPTIONS, json!({ "seats": 3 })), (PREFERENCES, json!({ "team": "R" }))] {
        let first = member.put(path, body.clone()).await.expect(201);
        assert_eq!(first.usage.calls_of("TransactWriteItems"), 1);
        let again = member.put(path, body).await.expect(200);
        assert_eq!((again.usage.calls_of("TransactWriteItems"), again.usage.total_calls()), (0, 1));
        assert_eq!(again.json, first.json);
    }
}

#[tokio::test]
async fn options_want_a_pass_of_ones_own_for_the_match_that_is_not_over() {
    let world = world().await;
    world.a_match("cup", json!({})).await;
    let own = world.pass("final", "m");
    let foreign = [world.pass("final", "n"), world.pass("cup", "m"), String::new(), "x.y".into()];
    let refused = async |pass: &str| {
        let member = world.as_member("m").with("X-Queue-Pass", pass);
        member.put(OPTIONS, json!({ "seats": 1 })).await.refused(403, "PASS_REQUIRED");
        member.get(OPTIONS).await.refused(403, "PASS_REQUIRED");
    };
    for pass in &foreign {
        refused(pass).await;
    }
    world.as_member("m").get(OPTIONS).await.refused(403, "PASS_REQUIRED");
    world.clock.advance(30 * 60 * 1000 - 1);
    let token_is_over = world.as_member("m").with("X-Queue-Pass", &own);
    token_is_over.put(OPTIONS, json!({ "seats": 1 })).await.expect(201);
    world.clock.advance(1);
    refused(&own).await;
    let nowhere = world.as_member("m").with("X-Queue-Pass", &own);
    let path = "/matches/none/booking-options";
    nowhere.get(path).await.refused(404, "MATCH_NOT_FOUND");
    nowhere.put(path, json!({ "seats": 1 })).await.refused(404, "MATCH_NOT_FOUND");
}

#[tokio::test]
async fn what_is_no_valid_wish_is_refused_with_its_field() {
    let world = world().await;
    let member = world.admitted("final", "m");
    let many: Vec<String> = (0..51).map(|n| n.to_string()).collect();
    let long = "é".repeat(201);
    let sections = [
        ("sections", json!(many)),
        ("sections[0]", json!([""])),
        ("sections[1]", json!(["A", "a\u{0}"])),
        ("sections[0]", json!([long])),
        ("sections", json!("A")),
        ("sections[0]", json!([1])),
    ];
    let refused = async |path: &str, name: &str, field: &str, bad: &Value| {
        let mut body = json!({ "seats": 1 });
        body[name] = bad.clone();
        let refused = member.put(path, body).await.refused(400, "INVALID_REQUEST");
        assert_eq!(refused.json["errors"][0]["field"], field, "{}", refused.json);
    };
    for (field, bad) in &sections {
        refused(OPTIONS, "sections", field, bad).await;
        refused(PREFERENCES, "sections", field, bad).await;
    }
    for (field, bad) in [
        ("seats", json!(0)),
        ("seats", json!(9)),
        ("seats", json!("1")),
        ("seats", Value::Null),
        ("maxPrice", json!(-1)),
        ("maxPrice", json!(1.5)),
        ("maxPrice", json!(1_u64 << 53)),
        ("adjacent", json!("yes")),
    ] {
        refused(OPTIONS, field, field, &bad).await;
    }
    for bad in [json!(""), json!("a\u{7f}"), json!(long), json!(7)] {
        refused(PREFERENCES, "team", "team", &bad).await;
    }
    assert_eq!(member.get(OPTIONS).await.json["seats"], 1);
}

#[tokio::test]
async fn many_who_say_something_at_once_leave_one_of_it_and_only_one_was_first() {
    let world = world().await;
    let member = world.admitted("final", "m");
    let put = async |seats: u64| member.put(OPTIONS, json!({ "seats": seats % 8 + 1 })).await;
    let answers = race(0..32, put).await;
    assert_eq!((count(&answers, 201), count(&answers, 200)), (1, 31));
    let last = member.get(OPTIONS).await.expect(200).json;
    assert!(answers.iter().any(|answer| answer.json == last));
}

#[tokio::test]
async fn a_lost_answer_changes_nothing() {
    let world = world().await;
    let member = world.admitted("final", "m");
    world.faults.always("TransactWriteItems", Fault::LostFirstAnswer);
    for (path, body) in [(OPTIONS, json!({ "seats": 3 })), (PREFERENCES, json!({ "team": "R" }))] {
        member.put(path, body).await.expect(201);
        let changed = member.put(path, json!({ "seats": 4 })).await.expect(200);
        assert_eq!(member.get(path).await.expect(200).json, changed.json);
    }
    assert_eq!(world.faults.met(), 4);
}

#[tokio::test]
async fn both_are_read_with_one_call() {
    let world = world().await;
    let app = world.app().await;
    let id = "final".parse().unwrap();
    assert_eq!(wishes::of(&app, &id, "m").await.unwrap(), (None, None));
    let member = world.admitted("final", "m");
    member.put(OPTIONS, json!({ "seats": 3, "maxPrice": 7 })).await.expect(201);
    member.put(PREFERENCES, json!({ "sections": ["N"] })).await.expect(201);
    app.meter.take();
    let (options, preferences) = wishes::of(&app, &id, "m").await.unwrap();
    assert_eq!(app.meter.take().total_calls(), 1);
    let options = options.unwrap();
    assert_eq!((options.seats, options.max_price), (3, Some(7)));
    assert_eq!(preferences.unwrap().sections.as_slice(), ["N".into()]);
}
