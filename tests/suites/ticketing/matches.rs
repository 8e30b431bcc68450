//! put-match, get-match and list-matches.

use local::faults::Fault;
use serde_json::{Value, json};
use suites::ticketing::{block, match_body, match_with};
use suites::{World, count, race};

#[tokio::test]
async fn a_match_is_created_once_and_then_changed() {
    let world = World::start().await;
    let created = world.as_staff().put("/matches/final", match_body()).await.expect(201);
    assert_eq!(created.headers["location"], "/matches/final");
    assert_eq!(created.json["matchId"], "final");
    assert_eq!(created.json["saleStatus"], "OPEN");
    let venue = match_with(&json!({ "venue": "Park" }));
    let changed = world.as_staff().put("/matches/final", venue).await.expect(200);
    assert_eq!((&changed.json["venue"], &changed.json["version"]), (&"Park".into(), &2.into()));
    let staff = world.as_staff().get("/matches/final").await.expect(200);
    assert_eq!(staff.json, changed.json, "staff see their own change at once");
    let blocks = staff.json["blocks"].as_array().unwrap();
    assert_eq!(blocks[0], block("A", 1, 9_000, 5, 10));
}

#[tokio::test]
async fn only_staff_change_matches_and_anybody_reads_them() {
    let world = World::start().await;
    world.as_nobody().put("/matches/final", match_body()).await.refused(401, "UNAUTHENTICATED");
    world.as_member("m").put("/matches/final", match_body()).await.refused(403, "FORBIDDEN");
    world.as_nobody().get("/matches/final").await.refused(404, "MATCH_NOT_FOUND");
    world.a_match("final", json!({})).await;
    world.as_nobody().get("/matches/final").await.expect(200);
}

#[tokio::test]
async fn the_clock_alone_opens_and_closes_a_sale() {
    let world = World::start().await;
    let sale = json!({
        "saleOpensAt": "2030-01-01T00:01:00Z",
        "saleClosesAt": "2030-01-01T00:02:00Z",
    });
    world.a_match("final", sale).await;
    let status = async || {
        let one = world.as_nobody().get("/matches/final").await.json["saleStatus"].clone();
        let list = world.as_nobody().get("/matches").await.json;
        assert_eq!(list["items"][0]["saleStatus"], one);
        one
    };
    assert_eq!(status().await, "UPCOMING");
    world.clock.advance(59_999);
    assert_eq!(status().await, "UPCOMING");
    world.clock.advance(1);
    assert_eq!(status().await, "OPEN");
    world.clock.advance(59_999);
    assert_eq!(status().await, "OPEN");
    world.clock.advance(1);
    assert_eq!(status().await, "CLOSED");
}

#[tokio::test]
async fn a_match_is_one_write_also_with_fifty_thousand_seats() {
    let world = World::start().await;
    let blocks: Vec<Value> = (0..50).map(|n| block(&format!("N{n}"), 1, 5_000, 20, 50)).collect();
    let body = match_with(&json!({ "blocks": blocks }));
    let created = world.as_staff().put("/matches/final", body).await.expect(201);
    assert_eq!(created.usage.calls_of("TransactWriteItems"), 1);
    assert_eq!(created.usage.total_calls(), 2, "one read, one write");
}

#[tokio::test]
async fn opening_and_blocks_stay_once_the_sale_is_near() {
    let world = World::start().await;
    let at = |time: &str| json!({ "saleOpensAt": format!("2030-01-01T00:{time}Z") });
    world.a_match("final", at("10:00")).await;
    let staff = world.as_staff();
    let put = async |changes: Value| staff.put("/matches/final", match_with(&changes)).await;
    put(at("09:00")).await.expect(200);
    put(at("00:19")).await.refused(409, "MATCH_IN_USE");
    world.clock.advance(9 * 60_000 - 20_000);
    for changes in [
        at("20:00"),
        json!({ "saleOpensAt": "2030-01-01T00:09:00Z", "blocks": [block("Z", 1, 1, 1, 1)] }),
    ] {
        put(changes).await.refused(409, "MATCH_IN_USE");
    }
    let mut same = at("09:00");
    same["admitPerSecond"] = 5.into();
    same["saleClosesAt"] = "2030-02-01T00:00:00Z".into();
    put(same).await.expect(200);
}

#[tokio::test]
async fn what_is_no_valid_match_is_refused_with_its_field() {
    let world = World::start().await;
    let a = block("A", 1, 1, 1, 1);
    let many: Vec<Value> = (0..101).map(|n| block(&format!("A{n}"), 1, 1, 1, 1)).collect();
    for (field, bad) in [
        ("home", json!("")),
        ("away", json!("a\u{0}")),
        ("venue", json!(" \t\u{a0}\n")),
        ("startsAt", json!("soon")),
        ("saleClosesAt", json!("2029-12-31T00:00:00Z")),
        ("blocks", json!([])),
        ("blocks", json!([a, a])),
        ("blocks", json!(many)),
        ("blocks", json!([block("A", 1, 1, 5_000, 5_000)])),
        ("blocks[0].block", json!([block("A b", 1, 1, 1, 1)])),
        ("blocks[0].rows", json!([block("A", 1, 1, 0, 1)])),
        ("blocks[0].grade", json!([block("A", 0, 1, 1, 1)])),
        ("admitPerSecond", json!(0)),
        ("passMinutes", json!(0)),
        ("holdMinutes", json!(-1)),
        ("payMinutes", json!(1.5)),
        ("maxSeatsPerMember", json!(51)),
    ] {
        let name = field.split(['[', '.']).next().unwrap();
        let body = match_with(&json!({ name: bad }));
        let refused = world.as_staff().put("/matches/final", body).await;
        let refused = refused.refused(400, "INVALID_REQUEST");
        assert_eq!(refused.json["errors"][0]["field"], field, "{}", refused.json);
    }
    for id in ["a%20b", "%C3%A9", "%00", &"a".repeat(65)] {
        let refused = world.as_staff().put(&format!("/matches/{id}"), match_body()).await;
        assert!(matches!(refused.status, 400 | 404), "{id}: {}", refused.json);
    }
    assert_eq!(world.as_nobody().list("/matches", 100).await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_version_that_is_gone_is_not_changed() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let staff = |etag: &str| world.as_staff().with("If-Match", etag);
    staff("\"1\"").put("/matches/final", match_body()).await.expect(200);
    let refused = staff("\"1\"").put("/matches/final", match_body()).await;
    assert_eq!(refused.refused(412, "VERSION_MISMATCH").json["version"], 2);
    staff("\"2\"").put("/matches/final", match_body()).await.expect(200);
}

#[tokio::test]
async fn many_who_create_one_match_create_it_once_and_lose_no_change() {
    let world = World::start().await;
    let staff = world.as_staff();
    let answers = race(0..32, |_| async { staff.put("/matches/final", match_body()).await }).await;
    assert_eq!((count(&answers, 201), count(&answers, 200)), (1, 31));
    assert_eq!(staff.get("/matches/final").await.json["version"], 32);
}

#[tokio::test]
async fn a_lost_answer_creates_no_second_match() {
    let world = World::start().await;
    world.faults.always("TransactWriteItems", Fault::LostFirstAnswer);
    let created = world.as_staff().put("/matches/final", match_body()).await.expect(201);
    assert_eq!(created.json["version"], 1);
    let changed = world.as_staff().put("/matches/final", match_body()).await.expect(200);
    assert_eq!(changed.json["version"], 2);
}

#[tokio::test]
async fn matches_are_listed_in_the_order_of_their_starts() {
    let world = World::start().await;
    for (id, starts_at) in [("c", "03"), ("a", "01"), ("b", "02"), ("a2", "01")] {
        let starts_at = format!("2030-06-{starts_at}T18:00:00Z");
        world.a_match(id, json!({ "startsAt": starts_at })).await;
    }
    for limit in [1, 2, 100] {
        let listed = world.as_nobody().list("/matches", limit).await;
        let ids: Vec<&str> = listed.iter().map(|item| item["matchId"].as_str().unwrap()).collect();
        assert_eq!(ids, ["a", "a2", "b", "c"]);
    }
    for bad in ["limit=0", "limit=101", "cursor=x"] {
        let refused = world.as_nobody().get(&format!("/matches?{bad}")).await;
        refused.refused(400, "INVALID_REQUEST");
    }
}
