//! `POST /auth/refresh`.

use serde_json::json;
use suites::World;

use crate::{DAY_MS, MINUTE_MS, Tokens, fields, open, refresh, sign_up, world_of_ada};

#[tokio::test]
async fn the_newest_token_is_exchanged_for_the_next() {
    let world = world_of_ada().await;
    let mut tokens = open(&world).await;
    for _ in 0..3 {
        world.clock.advance(20 * MINUTE_MS);
        let next = Tokens::of(refresh(&world, &tokens.refresh).await);
        assert_ne!(next.refresh, tokens.refresh);
        next.caller(&world).get("/auth/me").await.expect(200);
        tokens = next;
    }
}

#[tokio::test]
async fn a_token_that_comes_again_within_thirty_seconds_yields_the_same() {
    let world = world_of_ada().await;
    let first = open(&world).await;
    let second = Tokens::of(refresh(&world, &first.refresh).await);
    for ms in [0, 15_000, 14_999] {
        world.clock.advance(ms);
        let again = refresh(&world, &first.refresh).await;
        assert_eq!(again.usage.write_units, 0.0, "nothing is written");
        assert_eq!(Tokens::of(again).refresh, second.refresh);
    }
    Tokens::of(refresh(&world, &second.refresh).await);
}

#[tokio::test]
async fn a_token_that_comes_again_later_ends_the_session() {
    let world = world_of_ada().await;
    let first = open(&world).await;
    let second = Tokens::of(refresh(&world, &first.refresh).await);
    world.clock.advance(30_000);
    refresh(&world, &first.refresh).await.refused(401, "SESSION_ENDED");
    refresh(&world, &second.refresh).await.refused(401, "SESSION_ENDED");
    Tokens::of(refresh(&world, &open(&world).await.refresh).await);
}

#[tokio::test]
async fn a_token_from_before_the_last_exchange_ends_the_session_at_once() {
    let world = world_of_ada().await;
    let first = open(&world).await;
    let second = Tokens::of(refresh(&world, &first.refresh).await);
    let third = Tokens::of(refresh(&world, &second.refresh).await);
    refresh(&world, &first.refresh).await.refused(401, "SESSION_ENDED");
    refresh(&world, &third.refresh).await.refused(401, "SESSION_ENDED");
}

#[tokio::test]
async fn a_session_lasts_thirty_days_however_often_it_is_refreshed() {
    let world = world_of_ada().await;
    let mut tokens = open(&world).await;
    for _ in 0..29 {
        world.clock.advance(DAY_MS);
        tokens = Tokens::of(refresh(&world, &tokens.refresh).await);
    }
    world.clock.advance(DAY_MS - 1);
    tokens = Tokens::of(refresh(&world, &tokens.refresh).await);
    world.clock.advance(1);
    refresh(&world, &tokens.refresh).await.refused(401, "SESSION_ENDED");
}

#[tokio::test]
async fn what_is_none_of_our_tokens_is_refused_without_a_call() {
    let world = world_of_ada().await;
    let token = open(&world).await.refresh;
    let (content, mac) = token.split_once('.').unwrap();
    let other = open(&world).await.refresh;
    let (_, other_mac) = other.split_once('.').unwrap();
    for bad in [
        String::new(),
        "x".into(),
        content.into(),
        format!("{content}."),
        format!("{content}.{other_mac}"),
        format!("{token}x"),
        format!("x{token}"),
        format!("{token}.{mac}"),
        "\0".into(),
        "é".repeat(100_000),
    ] {
        let refused = refresh(&world, &bad).await.refused(401, "SESSION_ENDED");
        assert_eq!(refused.usage.total_calls(), 0, "{bad:.20}");
    }
    Tokens::of(refresh(&world, &token).await);
}

#[tokio::test]
async fn a_body_without_a_token_is_refused() {
    let world = World::start().await;
    for bad in [json!({}), json!({ "refreshToken": null }), json!({ "refreshToken": 7 })] {
        for path in ["/auth/refresh", "/auth/logout"] {
            let refused = world.as_nobody().post(path, bad.clone()).await;
            assert_eq!(fields(&refused.refused(400, "INVALID_REQUEST")), ["refreshToken"]);
        }
    }
}

#[tokio::test]
async fn a_refresh_is_one_read_and_one_write() {
    let world = World::start().await;
    sign_up(&world, "ada").await;
    let tokens = open(&world).await;
    let usage = refresh(&world, &tokens.refresh).await.expect(200).usage;
    assert_eq!((usage.total_calls(), usage.calls_of("TransactWriteItems")), (2, 1));
    assert_eq!((usage.read_units, usage.write_units), (2.0, 2.0));
}
