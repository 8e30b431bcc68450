//! `GET /auth/me`.

use serde_json::json;

use crate::{open, world_of_ada};

#[tokio::test]
async fn what_a_member_changed_is_in_the_members_next_read() {
    let world = world_of_ada().await;
    let caller = open(&world).await.caller(&world);
    for name in ["Ada", "Ada King", "Countess of Lovelace"] {
        caller.send("PATCH", "/auth/me", json!({ "name": name })).await.expect(200);
        let me = caller.get("/auth/me").await.expect(200);
        assert_eq!(me.json["name"], name);
        assert_eq!((me.usage.total_calls(), me.usage.read_units), (1, 1.0), "one consistent read");
    }
}

#[tokio::test]
async fn a_good_token_of_nobody_shows_nobody() {
    let world = world_of_ada().await;
    world.as_nobody().get("/auth/me").await.refused(401, "UNAUTHENTICATED");
    world.as_member("nobody").get("/auth/me").await.refused(401, "UNAUTHENTICATED");
}
