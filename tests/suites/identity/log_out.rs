//! `POST /auth/logout`.

use crate::{Tokens, log_out, open, refresh, world_of_ada};

#[tokio::test]
async fn a_session_that_was_logged_out_is_over_and_another_is_not() {
    let world = world_of_ada().await;
    let (one, other) = (open(&world).await, open(&world).await);
    let left = log_out(&world, &one.refresh).await.expect(204);
    assert!(left.json.is_null());
    refresh(&world, &one.refresh).await.refused(401, "SESSION_ENDED");
    Tokens::of(refresh(&world, &other.refresh).await);
}

#[tokio::test]
async fn what_is_over_already_or_never_was_is_logged_out_too() {
    let world = world_of_ada().await;
    let tokens = open(&world).await;
    for _ in 0..2 {
        log_out(&world, &tokens.refresh).await.expect(204);
    }
    let forged = log_out(&world, "no.token").await.expect(204);
    assert_eq!(forged.usage.total_calls(), 0);
}

#[tokio::test]
async fn any_token_of_the_session_will_do() {
    let world = world_of_ada().await;
    let first = open(&world).await;
    let second = Tokens::of(refresh(&world, &first.refresh).await);
    log_out(&world, &first.refresh).await.expect(204);
    refresh(&world, &second.refresh).await.refused(401, "SESSION_ENDED");
}
