//! `PATCH /auth/me`.

use serde_json::{Value, json};
use suites::{Answer, Caller, World};

use crate::{PASSWORD, Tokens, fields, log_in, open, refresh, world_of_ada};

async fn patch(caller: &Caller<'_>, body: Value) -> Answer {
    caller.send("PATCH", "/auth/me", body).await
}

async fn change_password(caller: &Caller<'_>, current: &str, new: &str) -> Answer {
    patch(caller, json!({ "password": new, "currentPassword": current })).await
}

#[tokio::test]
async fn each_field_changes_and_the_others_stay() {
    let world = world_of_ada().await;
    let caller = open(&world).await.caller(&world);
    let mut expected = caller.get("/auth/me").await.expect(200).json;
    for (field, value) in [
        ("name", json!("Ada King")),
        ("timeZone", json!("Asia/Seoul")),
        ("phone", json!("+82 2 312 3456")),
        ("email", json!("ada@example.com")),
        ("phone", json!("010-1234-5678")),
        ("phone", Value::Null),
        ("email", Value::Null),
    ] {
        expected[field] = value.clone();
        let changed = patch(&caller, json!({ field: value })).await.expect(200);
        assert_eq!(changed.json, expected);
        assert_eq!(caller.get("/auth/me").await.expect(200).json, expected);
    }
}

#[tokio::test]
async fn when_nothing_changes_nothing_is_written() {
    let world = world_of_ada().await;
    let caller = open(&world).await.caller(&world);
    let body = json!({
        "name": "Ada King", "timeZone": "Asia/Seoul", "phone": "+8223123456", "email": "a@b.example"
    });
    let first = patch(&caller, body.clone()).await.expect(200);
    assert_eq!(first.usage.calls_of("TransactWriteItems"), 1);
    for body in [body, json!({}), json!({ "phone": "+8223123456", "unknown": 1 })] {
        let again = patch(&caller, body).await.expect(200);
        assert_eq!(again.json, first.json);
        assert_eq!((again.usage.total_calls(), again.usage.write_units), (1, 0.0));
    }
    patch(&caller, json!({ "phone": null })).await.expect(200);
    let again = patch(&caller, json!({ "phone": null })).await.expect(200);
    assert_eq!(again.usage.write_units, 0.0);
}

#[tokio::test]
async fn who_one_is_does_not_change() {
    let world = world_of_ada().await;
    let caller = open(&world).await.caller(&world);
    let before = caller.get("/auth/me").await.expect(200).json;
    let body = json!({ "memberId": "staff", "loginId": "eve", "role": "staff", "version": 9 });
    assert_eq!(patch(&caller, body).await.expect(200).json, before);
}

#[tokio::test]
async fn a_new_password_ends_all_sessions_and_the_old_one() {
    let world = world_of_ada().await;
    let (one, other) = (open(&world).await, open(&world).await);
    change_password(&one.caller(&world), PASSWORD, "battery staple").await.expect(200);
    for tokens in [&one, &other] {
        refresh(&world, &tokens.refresh).await.refused(401, "SESSION_ENDED");
    }
    log_in(&world, "ada", PASSWORD).await.refused(401, "BAD_CREDENTIALS");
    let fresh = Tokens::of(log_in(&world, "ada", "battery staple").await);
    Tokens::of(refresh(&world, &fresh.refresh).await);
}

#[tokio::test]
async fn the_same_password_again_changes_nothing() {
    let world = world_of_ada().await;
    let tokens = open(&world).await;
    change_password(&tokens.caller(&world), PASSWORD, PASSWORD).await.expect(200);
    Tokens::of(refresh(&world, &tokens.refresh).await);
    log_in(&world, "ada", PASSWORD).await.expect(200);
}

#[tokio::test]
async fn without_the_current_password_nothing_changes_and_trying_counts() {
    let world = world_of_ada().await;
    let caller = open(&world).await.caller(&world);
    let body = json!({ "name": "Eve", "password": "battery staple", "currentPassword": "wrong" });
    for _ in 0..5 {
        patch(&caller, body.clone()).await.refused(401, "BAD_CREDENTIALS");
        log_in(&world, "ada", "wrong horse").await.refused(401, "BAD_CREDENTIALS");
    }
    let locked = change_password(&caller, PASSWORD, "battery staple").await;
    let locked = locked.refused(429, "LOGIN_LOCKED");
    assert_eq!(
        (&locked.headers["retry-after"], locked.usage.password_hashes),
        (&"900".parse().unwrap(), 0)
    );
    log_in(&world, "ada", PASSWORD).await.refused(429, "LOGIN_LOCKED");
    assert_eq!(caller.get("/auth/me").await.expect(200).json["name"], "Ada Lovelace");
    patch(&caller, json!({ "name": "Ada" })).await.expect(200);
}

#[tokio::test]
async fn a_proven_password_forgets_the_failures_before_it() {
    let world = world_of_ada().await;
    let caller = open(&world).await.caller(&world);
    for (current, new) in [(PASSWORD, "battery staple"), ("battery staple", PASSWORD)] {
        for _ in 0..9 {
            change_password(&caller, "wrong", new).await.refused(401, "BAD_CREDENTIALS");
        }
        change_password(&caller, current, new).await.expect(200);
    }
}

#[tokio::test]
async fn what_is_not_valid_is_named_and_changes_nothing() {
    let world = world_of_ada().await;
    let caller = open(&world).await.caller(&world);
    let before = caller.get("/auth/me").await.expect(200).json;
    for (field, body) in [
        ("name", json!({ "name": "" })),
        ("name", json!({ "name": null })),
        ("name", json!({ "name": "a".repeat(201) })),
        ("name", json!({ "name": "a\u{0}" })),
        ("timeZone", json!({ "timeZone": "Mars/Olympus" })),
        ("timeZone", json!({ "timeZone": null })),
        ("phone", json!({ "phone": "", "name": "Eve" })),
        ("phone", json!({ "phone": 123_456_789 })),
        ("email", json!({ "email": "a b@example.com" })),
        ("password", json!({ "password": "short", "currentPassword": PASSWORD })),
        ("password", json!({ "password": null, "currentPassword": PASSWORD })),
        ("currentPassword", json!({ "password": "battery staple" })),
        ("currentPassword", json!({ "password": "battery staple", "currentPassword": "" })),
    ] {
        let refused = patch(&caller, body).await.refused(400, "INVALID_REQUEST");
        assert_eq!(fields(&refused), [field]);
        assert_eq!(refused.usage.total_calls(), 0);
    }
    assert_eq!(caller.get("/auth/me").await.expect(200).json, before);
}

#[tokio::test]
async fn only_a_member_has_something_to_change() {
    let world = World::start().await;
    let body = json!({ "name": "Eve" });
    patch(&world.as_nobody(), body.clone()).await.refused(401, "UNAUTHENTICATED");
    patch(&world.as_member("nobody"), body).await.refused(401, "UNAUTHENTICATED");
}
