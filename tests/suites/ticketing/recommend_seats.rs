//! Recommendations, and holding what was recommended in a crowd.

use std::collections::{BTreeMap, BTreeSet};

use local::faults::Fault;
use serde_json::{Value, json};
use suites::ticketing::block;
use suites::{Answer, World, count, race};
use ticketing::ids::Seat;

const PATH: &str = "/matches/final/recommendations";

async fn ask(world: &World, member: &str, wish: Value) -> Answer {
    world.admitted("final", member).post(PATH, wish).await
}

fn seats(answer: &Answer) -> Vec<String> {
    let seats = answer.json["seats"].as_array().expect("seats");
    seats.iter().map(|seat| seat.as_str().unwrap().to_owned()).collect()
}

/// Lets the stream drain and the maps that environments remember grow old.
async fn drain(world: &World) {
    for _ in 0..3 {
        world.settle().await;
        world.clock.advance(1_000);
    }
    world.clock.advance(5_000);
}

#[tokio::test]
async fn the_best_seats_are_recommended_and_nothing_is_written() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let answer = ask(&world, "m", json!({ "seats": 10 })).await;
    answer.refused(400, "INVALID_REQUEST");
    let answer = ask(&world, "m", json!({ "seats": 8 })).await.expect(200);
    let seats = seats(&answer);
    assert_eq!(seats.len(), 8);
    assert!(seats.iter().all(|seat| seat.starts_with("A-1-")), "{seats:?}");
    assert_eq!(answer.json["amount"], 8 * 9_000);
    assert_eq!(answer.json.get("hold"), None);
    assert_eq!(answer.usage.write_units, 0.0);
}

#[tokio::test]
async fn what_the_member_has_said_before_counts_where_the_request_is_silent() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let member = world.admitted("final", "m");
    member.put("/preferences", json!({ "sections": ["B"] })).await.expect(201);
    let preferred = seats(&ask(&world, "m", json!({})).await.expect(200));
    assert!(preferred[0].starts_with("B-1-"), "{preferred:?}");
    let options = json!({ "seats": 3, "sections": ["A"], "adjacent": true });
    member.put("/matches/final/booking-options", options).await.expect(201);
    let by_options = seats(&ask(&world, "m", json!({})).await.expect(200));
    assert_eq!(by_options.len(), 3);
    assert!(by_options.iter().all(|seat| seat.starts_with("A-1-")), "{by_options:?}");
    let asked = ask(&world, "m", json!({ "seats": 1, "sections": ["B"] })).await.expect(200);
    assert!(seats(&asked)[0].starts_with("B-1-"));
    let cheap = ask(&world, "other", json!({ "maxPrice": 5_000 })).await.expect(200);
    assert!(seats(&cheap)[0].starts_with("B-1-"));
    ask(&world, "other", json!({ "maxPrice": 4_999 })).await.refused(409, "SOLD_OUT");
    ask(&world, "other", json!({ "sections": ["Z"] })).await.refused(409, "SOLD_OUT");
}

#[tokio::test]
async fn seats_that_are_taken_are_never_recommended_once_the_stream_is_drained() {
    let world = World::start().await;
    world.a_match("final", json!({ "blocks": [block("A", 1, 10, 1, 10)] })).await;
    let hold = json!({ "seats": ["A-1-2", "A-1-5", "A-1-9"] });
    let holder = world.admitted("final", "holder");
    holder.post("/matches/final/holds", hold).await.expect(201);
    drain(&world).await;
    for member in 0..20 {
        let asked = json!({ "seats": 2, "adjacent": true });
        let two = seats(&ask(&world, &format!("m{member}"), asked).await.expect(200));
        assert!(
            [["A-1-3", "A-1-4"], ["A-1-7", "A-1-8"], ["A-1-6", "A-1-7"]]
                .contains(&[&*two[0], &*two[1]])
        );
        assert_ne!(two, ["A-1-6", "A-1-7"], "A-1-8 would be left alone");
    }
    let four = json!({ "seats": 4, "adjacent": true });
    ask(&world, "m", four).await.refused(409, "SOLD_OUT");
    let apart = ask(&world, "m", json!({ "seats": 4 })).await.expect(200);
    let apart: BTreeSet<String> = seats(&apart).into_iter().collect();
    let taken = ["A-1-2", "A-1-5", "A-1-9"];
    assert_eq!(apart.len(), 4);
    assert!(!taken.iter().any(|seat| apart.contains(*seat)), "{apart:?}");
}

#[tokio::test]
async fn a_hold_comes_with_the_recommendation_when_asked_for() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let wish = json!({ "seats": 2, "hold": true });
    let answer = ask(&world, "m", wish.clone()).await.expect(201);
    let hold = &answer.json["hold"];
    assert_eq!((&hold["seats"], &hold["amount"]), (&answer.json["seats"], &answer.json["amount"]));
    let location = format!("/holds/{}", hold["holdId"].as_str().unwrap());
    assert_eq!(answer.headers["location"], location.as_str());
    ask(&world, "m", wish).await.refused(409, "HOLD_EXISTS");
    let taken = json!({ "seats": answer.json["seats"] });
    let other = world.admitted("final", "other").post("/matches/final/holds", taken).await;
    other.refused(409, "SEAT_TAKEN");
    ask(&world, "third", json!({ "seats": 5, "hold": true }))
        .await
        .refused(409, "SEAT_LIMIT_EXCEEDED");
}

#[tokio::test]
async fn a_repeat_with_the_same_key_gets_the_same_seats_also_when_all_are_gone() {
    let world = World::start().await;
    world.a_match("final", json!({ "blocks": [block("A", 1, 10, 1, 4)] })).await;
    let wish = json!({ "seats": 4, "hold": true });
    let keyed = || world.admitted("final", "m").with("Idempotency-Key", "k");
    let first = keyed().post(PATH, wish.clone()).await.expect(201);
    assert_eq!(keyed().post(PATH, wish.clone()).await.expect(201).json, first.json);
    drain(&world).await;
    assert_eq!(keyed().post(PATH, wish.clone()).await.expect(201).json, first.json);
    ask(&world, "other", wish).await.refused(409, "SOLD_OUT");
    let other = keyed().post(PATH, json!({ "seats": 1, "hold": true })).await;
    other.refused(409, "IDEMPOTENCY_KEY_REUSED");
}

#[tokio::test]
async fn the_sale_must_be_open_and_the_pass_good() {
    let world = World::start().await;
    let opens_at = "2030-01-01T00:00:10Z";
    world.a_match("final", json!({ "saleOpensAt": opens_at })).await;
    for wish in [json!({}), json!({ "hold": true })] {
        world.as_member("m").post(PATH, wish.clone()).await.refused(403, "PASS_REQUIRED");
        let early = ask(&world, "m", wish.clone()).await.refused(409, "SALE_NOT_OPEN");
        assert_eq!(early.json["opensAt"], opens_at);
        let foreign = world.as_member("m").with("X-Queue-Pass", &world.pass("final", "other"));
        foreign.post(PATH, wish).await.refused(403, "PASS_REQUIRED");
    }
    world.clock.advance(10_000);
    ask(&world, "m", json!({ "hold": true })).await.expect(201);
}

/// Everybody who asks at once gets seats that nobody else got, or a clear word.
async fn herd(world: &World, members: usize, wish: &Value) -> Vec<Answer> {
    let answers = race(0..members, |member| {
        let wish = wish.clone();
        async move { ask(world, &format!("m{member}"), wish).await }
    })
    .await;
    let mut taken = BTreeSet::new();
    for answer in answers.iter().filter(|answer| answer.status == 201) {
        for seat in seats(answer) {
            assert!(taken.insert(seat.clone()), "{seat} twice");
        }
    }
    let refused = answers.iter().filter(|answer| answer.status != 201);
    let codes: BTreeMap<&str, usize> = refused.fold(BTreeMap::new(), |mut codes, answer| {
        *codes.entry(answer.code()).or_default() += 1;
        codes
    });
    assert!(codes.keys().all(|code| *code == "SOLD_OUT"), "{codes:?}");
    answers
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_herd_of_two_hundred_gets_different_seats() {
    let world = World::with_environments(200).await;
    let blocks: Vec<Value> = ["A", "B", "C", "D"].map(|id| block(id, 1, 10, 10, 20)).into();
    world.a_match("final", json!({ "blocks": blocks })).await;
    let wish = json!({ "seats": 2, "adjacent": true, "hold": true });
    let answers = herd(&world, 200, &wish).await;
    assert_eq!(count(&answers, 201), 200);
    for answer in &answers {
        let pair: Vec<Seat> = seats(answer).iter().map(|seat| seat.parse().unwrap()).collect();
        let next = Seat { number: pair[0].number + 1, ..pair[0].clone() };
        assert_eq!(pair[1], next);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_herd_for_too_few_seats_takes_them_all_and_the_rest_is_told_so() {
    let world = World::with_environments(200).await;
    world
        .a_match("final", json!({ "blocks": [block("A", 1, 10, 5, 10), block("B", 2, 5, 5, 10)] }))
        .await;
    let answers = herd(&world, 200, &json!({ "hold": true })).await;
    assert_eq!((count(&answers, 201), count(&answers, 409)), (100, 100));
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_holds_no_second_seats() {
    let world = World::start().await;
    world.a_match("final", json!({ "blocks": [block("A", 1, 10, 1, 4)] })).await;
    world.faults.always("TransactWriteItems", Fault::LostFirstAnswer);
    ask(&world, "m", json!({ "seats": 2, "hold": true })).await.expect(201);
    ask(&world, "other", json!({ "seats": 2, "hold": true })).await.expect(201);
    ask(&world, "third", json!({ "hold": true })).await.refused(409, "SOLD_OUT");
}

#[tokio::test]
async fn one_environment_does_not_run_for_the_seats_that_it_has_just_held() {
    let world = World::with_environments(1).await;
    world.a_match("final", json!({ "blocks": [block("A", 1, 10, 10, 20)] })).await;
    for member in 0..50 {
        let wish = json!({ "seats": 4, "hold": true });
        let answer = ask(&world, &format!("m{member}"), wish).await.expect(201);
        assert_eq!(answer.usage.calls_of("TransactWriteItems"), 1, "seats {:?}", seats(&answer));
    }
    let wish = json!({ "hold": true });
    ask(&world, "late", wish).await.refused(409, "SOLD_OUT");
}

#[tokio::test]
async fn without_a_match_or_its_sale_nothing_is_recommended() {
    let world = World::start().await;
    ask(&world, "m", json!({})).await.refused(404, "MATCH_NOT_FOUND");
    world.a_match("final", json!({ "saleClosesAt": "2030-01-01T00:01:00Z" })).await;
    world.clock.advance(60_000);
    ask(&world, "m", json!({})).await.refused(409, "SALE_CLOSED");
    ask(&world, "m", json!({ "hold": true })).await.refused(409, "SALE_CLOSED");
}

#[tokio::test]
async fn what_one_has_just_given_back_is_recommended_at_once() {
    let world = World::start().await;
    world.a_match("final", json!({ "blocks": [block("A", 1, 9_000, 1, 2)] })).await;
    let member = world.admitted("final", "m");
    let hold = member.held("final", &["A-1-1", "A-1-2"]).await;
    drain(&world).await;
    let wish = json!({ "seats": 2, "hold": true });
    ask(&world, "other", wish.clone()).await.refused(409, "SOLD_OUT");
    member.release(&hold).await.expect(204);
    let held = ask(&world, "m", wish).await.expect(201);
    assert_eq!(seats(&held), ["A-1-1", "A-1-2"]);
}
