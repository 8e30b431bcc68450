//! `POST /auth/login`.

use serde_json::{Value, json};
use suites::World;

use crate::{MINUTE_MS, PASSWORD, Tokens, fields, log_in, member, open, sign_up, world_of_ada};

#[tokio::test]
async fn a_password_opens_a_session_with_a_token_of_fifteen_minutes() {
    let world = World::start().await;
    let member_id = sign_up(&world, "ada").await;
    let tokens = open(&world).await;
    let claims = tokens.claims();
    let now = world.clock.now().as_seconds();
    assert_eq!(claims["sub"], member_id);
    assert_eq!(claims["role"], "member");
    assert_eq!((&claims["iat"], &claims["exp"]), (&json!(now), &json!(now + 900)));
    assert_ne!(claims["jti"], open(&world).await.claims()["jti"]);
    world.clock.advance(15 * MINUTE_MS - 1);
    tokens.caller(&world).get("/auth/me").await.expect(200);
    world.clock.advance(1);
    tokens.caller(&world).get("/auth/me").await.refused(401, "UNAUTHENTICATED");
}

#[tokio::test]
async fn an_unknown_login_costs_and_answers_what_a_wrong_password_does() {
    let world = world_of_ada().await;
    let wrong = log_in(&world, "ada", "wrong horse").await.refused(401, "BAD_CREDENTIALS");
    let unknown = log_in(&world, "nobody", PASSWORD).await.refused(401, "BAD_CREDENTIALS");
    assert_eq!(wrong.usage.password_hashes, 1);
    assert_eq!(unknown.usage, wrong.usage);
    let without_id = |mut json: Value| {
        json["requestId"] = Value::Null;
        json
    };
    assert_eq!(without_id(unknown.json), without_id(wrong.json));
}

#[tokio::test]
async fn ten_failures_lock_for_fifteen_minutes_even_for_the_right_password() {
    let world = world_of_ada().await;
    for _ in 0..10 {
        log_in(&world, "ada", "wrong horse").await.refused(401, "BAD_CREDENTIALS");
    }
    let answers =
        [log_in(&world, "ada", "wrong horse").await, log_in(&world, "ada", PASSWORD).await];
    for answer in answers {
        let locked = answer.refused(429, "LOGIN_LOCKED");
        assert_eq!(locked.headers["retry-after"], "900");
        assert_eq!(locked.usage.password_hashes, 0, "no password is tried");
    }
    world.clock.advance(15 * MINUTE_MS - 1);
    let locked = log_in(&world, "ada", PASSWORD).await.refused(429, "LOGIN_LOCKED");
    assert_eq!(locked.headers["retry-after"], "1");
    world.clock.advance(1);
    log_in(&world, "ada", PASSWORD).await.expect(200);
}

#[tokio::test]
async fn a_lock_that_has_opened_counts_from_the_beginning() {
    let world = world_of_ada().await;
    for _ in 0..2 {
        for _ in 0..10 {
            log_in(&world, "ada", "wrong horse").await.refused(401, "BAD_CREDENTIALS");
        }
        log_in(&world, "ada", "wrong horse").await.refused(429, "LOGIN_LOCKED");
        world.clock.advance(15 * MINUTE_MS);
    }
}

#[tokio::test]
async fn a_login_that_does_not_exist_is_locked_like_any_other() {
    let world = world_of_ada().await;
    for _ in 0..10 {
        log_in(&world, "nobody", PASSWORD).await.refused(401, "BAD_CREDENTIALS");
    }
    log_in(&world, "nobody", PASSWORD).await.refused(429, "LOGIN_LOCKED");
    log_in(&world, "ada", PASSWORD).await.expect(200);
}

#[tokio::test]
async fn what_was_tried_before_a_login_exists_does_not_lock_it() {
    let world = World::start().await;
    for (login_id, key) in [("ada", None), ("eve", Some("k-1"))] {
        for _ in 0..10 {
            log_in(&world, login_id, "wrong horse").await.refused(401, "BAD_CREDENTIALS");
        }
        let mut caller = world.as_nobody();
        if let Some(key) = key {
            caller = caller.with("idempotency-key", key);
        }
        let made = caller.post("/members", member(login_id)).await.expect(201).json;
        log_in(&world, login_id, PASSWORD).await.expect(200);
        // Whoever asks for a log-in that is taken unlocks nothing.
        for _ in 0..10 {
            log_in(&world, login_id, "wrong horse").await.refused(401, "BAD_CREDENTIALS");
        }
        let stranger = world.as_nobody();
        stranger.post("/members", member(login_id)).await.refused(409, "LOGIN_TAKEN");
        if key.is_some() {
            assert_eq!(caller.post("/members", member(login_id)).await.expect(201).json, made);
        }
        log_in(&world, login_id, PASSWORD).await.refused(429, "LOGIN_LOCKED");
    }
}

#[tokio::test]
async fn a_success_forgets_the_failures_before_it() {
    let world = world_of_ada().await;
    for _ in 0..3 {
        for _ in 0..9 {
            log_in(&world, "ada", "wrong horse").await.refused(401, "BAD_CREDENTIALS");
        }
        log_in(&world, "ada", PASSWORD).await.expect(200);
    }
}

#[tokio::test]
async fn failures_are_forgotten_after_fifteen_minutes() {
    let world = world_of_ada().await;
    for _ in 0..3 {
        for _ in 0..9 {
            log_in(&world, "ada", "wrong horse").await.refused(401, "BAD_CREDENTIALS");
        }
        world.clock.advance(15 * MINUTE_MS);
    }
    log_in(&world, "ada", PASSWORD).await.expect(200);
}

#[tokio::test]
async fn a_password_is_the_same_however_its_characters_are_composed() {
    let world = World::start().await;
    let body = json!({ "loginId": "ada", "password": "cr\u{e8}me br\u{fb}l\u{e9}e", "name": "A" });
    world.as_nobody().post("/members", body).await.expect(201);
    log_in(&world, "ada", "cre\u{300}me bru\u{302}le\u{301}e").await.expect(200);
    log_in(&world, "ada", "creme brulee").await.refused(401, "BAD_CREDENTIALS");
}

#[tokio::test]
async fn what_is_not_valid_is_named_and_not_counted() {
    let world = world_of_ada().await;
    let cases = [
        ("loginId", json!("A")),
        ("loginId", json!("ada#LOGIN")),
        ("loginId", json!("ada\u{0}")),
        ("loginId", json!("a".repeat(65))),
        ("loginId", Value::Null),
        ("password", json!("")),
        ("password", json!("a".repeat(129))),
        ("password", json!("a\u{0}")),
        ("password", json!({ "$ne": 1 })),
    ];
    for (field, value) in cases {
        let mut body = json!({ "loginId": "ada", "password": PASSWORD });
        body[field] = value;
        let refused = world.as_nobody().post("/auth/login", body).await;
        let refused = refused.refused(400, "INVALID_REQUEST");
        assert_eq!(fields(&refused), [field]);
        assert_eq!(refused.usage.total_calls(), 0);
    }
    log_in(&world, "ada", "short").await.refused(401, "BAD_CREDENTIALS");
}

#[tokio::test]
async fn each_log_in_is_a_session_of_its_own() {
    let world = world_of_ada().await;
    let (one, other) = (open(&world).await, open(&world).await);
    assert_ne!(one.refresh, other.refresh);
    crate::log_out(&world, &one.refresh).await.expect(204);
    crate::refresh(&world, &one.refresh).await.refused(401, "SESSION_ENDED");
    Tokens::of(crate::refresh(&world, &other.refresh).await);
}
