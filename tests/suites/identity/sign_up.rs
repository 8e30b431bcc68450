//! `POST /members`.

use serde_json::{Value, json};
use suites::World;

use crate::{DAY_MS, PASSWORD, Tokens, fields, log_in, member, world_of_ada};

fn whole() -> Value {
    json!({
        "loginId": "ada.l_1-x",
        "password": PASSWORD,
        "name": "Ada Lovelace",
        "timeZone": "Europe/London",
        "phone": "+44 20 7946 0123",
        "email": "ada@example.com",
    })
}

#[tokio::test]
async fn whoever_signs_up_is_a_member_and_can_log_in() {
    let world = World::start().await;
    let made = world.as_nobody().post("/members", whole()).await.expect(201);
    assert_eq!(made.headers["location"], "/auth/me");
    assert_eq!(made.usage.password_hashes, 1);
    let mut expected = whole();
    expected.as_object_mut().unwrap().remove("password");
    expected["memberId"] = made.json["memberId"].clone();
    expected["role"] = "member".into();
    assert_eq!(made.json, expected);
    let tokens = Tokens::of(log_in(&world, "ada.l_1-x", PASSWORD).await);
    let me = tokens.caller(&world).get("/auth/me").await.expect(200);
    assert_eq!(me.json, expected);
}

#[tokio::test]
async fn what_is_left_out_is_utc_and_null_and_what_nobody_may_say_is_passed_over() {
    let world = World::start().await;
    let mut body = member("ada");
    body["role"] = "staff".into();
    body["memberId"] = "staff".into();
    let made = world.as_nobody().post("/members", body).await.expect(201).json;
    assert_eq!(made["timeZone"], "UTC");
    assert_eq!((&made["phone"], &made["email"]), (&Value::Null, &Value::Null));
    assert_eq!(made["role"], "member");
    assert_ne!(made["memberId"], "staff");
}

#[tokio::test]
async fn a_login_id_is_taken_once() {
    let world = world_of_ada().await;
    let taken = world.as_nobody().post("/members", member("ada")).await;
    taken.refused(409, "LOGIN_TAKEN");
    world.as_nobody().post("/members", member("ada2")).await.expect(201);
}

#[tokio::test]
async fn what_is_not_valid_is_named_and_makes_nobody() {
    let world = World::start().await;
    let cases = [
        ("loginId", json!("ab")),
        ("loginId", json!("a".repeat(65))),
        ("loginId", json!("Ada")),
        ("loginId", json!("ada lovelace")),
        ("loginId", json!("ada#LOGIN")),
        ("loginId", json!("ada\u{0}")),
        ("loginId", json!("ädä")),
        ("loginId", json!(7)),
        ("loginId", Value::Null),
        ("password", json!("1234567")),
        ("password", json!("e\u{301}".repeat(7))),
        ("password", json!("a".repeat(129))),
        ("password", json!("correct\u{0}horse")),
        ("password", json!(12_345_678)),
        ("password", Value::Null),
        ("name", json!("")),
        ("name", json!("a".repeat(201))),
        ("name", json!("Ada\u{0}")),
        ("name", json!("Ada\u{7f}")),
        ("timeZone", json!("Mars/Olympus")),
        ("timeZone", json!("+09:00")),
        ("timeZone", json!("")),
        ("timeZone", json!("Factory")),
        ("phone", json!("call me")),
        ("phone", json!("123456")),
        ("phone", json!(" +44 20 7946 0123")),
        ("phone", json!("+44 20 7946 0123 ")),
        ("phone", json!("+4420\u{0}79460123")),
        ("email", json!("ada")),
        ("email", json!("ada@localhost\u{0}.com")),
        ("email", json!(["ada@example.com"])),
    ];
    for (field, value) in cases {
        let mut body = whole();
        body[field] = value.clone();
        let refused = world.as_nobody().post("/members", body).await;
        let refused = refused.refused(400, "INVALID_REQUEST");
        assert_eq!(fields(&refused), [field], "{value}");
        assert_eq!(refused.usage.password_hashes, 0);
    }
    for missing in ["loginId", "password", "name"] {
        let mut body = whole();
        body.as_object_mut().unwrap().remove(missing);
        let refused = world.as_nobody().post("/members", body).await;
        assert_eq!(fields(&refused.refused(400, "INVALID_REQUEST")), [missing]);
    }
    world.as_nobody().post("/members", whole()).await.expect(201);
}

#[tokio::test]
async fn the_longest_and_shortest_that_are_valid_are_taken() {
    let world = World::start().await;
    for (login_id, password, name) in [
        ("abc".to_owned(), "12345678".to_owned(), "A".to_owned()),
        ("a".repeat(64), "🎟".repeat(128), "e\u{301}".repeat(200)),
    ] {
        let body = json!({ "loginId": login_id, "password": password, "name": name });
        world.as_nobody().post("/members", body).await.expect(201);
        log_in(&world, &login_id, &password).await.expect(200);
    }
}

#[tokio::test]
async fn a_body_is_read_as_json_whatever_it_is_called() {
    let world = World::start().await;
    let types = ["application/x-www-form-urlencoded", "application/octet-stream", "text/plain"];
    for (number, content_type) in types.into_iter().enumerate() {
        let caller = world.as_nobody().with("content-type", content_type);
        let body = member(&format!("ada{number}")).to_string();
        caller.send_raw("POST", "/members", body).await.expect(201);
    }
    for bad in [&b""[..], b"loginId=ada&password=correct", b"\xff\xfe", b"[]", b"null", b"\"ada\""]
    {
        let refused = world.as_nobody().send_raw("POST", "/members", bad).await;
        refused.refused(400, "INVALID_REQUEST");
    }
    let large = vec![b' '; 1_000_001];
    let refused = world.as_nobody().send_raw("POST", "/members", large).await;
    refused.refused(413, "BODY_TOO_LARGE");
}

#[tokio::test]
async fn a_repeat_under_a_key_gets_the_first_answer() {
    let world = World::start().await;
    let caller = world.as_nobody().with("idempotency-key", "k-1");
    let first = caller.post("/members", whole()).await.expect(201);
    let again = caller.post("/members", whole()).await.expect(201);
    assert_eq!(again.json, first.json);
    assert_eq!(again.headers["location"], first.headers["location"]);
    let spaced = serde_json::to_vec_pretty(&whole()).unwrap();
    assert_eq!(caller.send_raw("POST", "/members", spaced).await.expect(201).json, first.json);
    for (field, value) in [("password", "another horse"), ("name", "Eve"), ("loginId", "eve")] {
        let mut other = whole();
        other[field] = value.into();
        caller.post("/members", other).await.refused(409, "IDEMPOTENCY_KEY_REUSED");
    }
    let other_key = world.as_nobody().with("idempotency-key", "k-2");
    other_key.post("/members", whole()).await.refused(409, "LOGIN_TAKEN");
    world.clock.advance(DAY_MS);
    caller.post("/members", whole()).await.refused(409, "LOGIN_TAKEN");
}

#[tokio::test]
async fn a_key_that_is_none_is_refused() {
    let world = World::start().await;
    for key in ["", &"k".repeat(129), "é"] {
        let caller = world.as_nobody().with("idempotency-key", key);
        caller.post("/members", whole()).await.refused(400, "INVALID_REQUEST");
    }
    world.as_nobody().post("/members", whole()).await.expect(201);
}
