//! set-role, which an administrator invokes.

use platform::lambda::Failed;
use serde_json::{Value, json};
use suites::World;

use crate::{Tokens, open, refresh, sign_up, world_of_ada};

async fn set_role(world: &World, event: Value) -> Result<Value, Failed> {
    world.cloud.invoke_event("set-role", event).await.expect("a function").response
}

#[tokio::test]
async fn the_next_token_has_the_role_and_the_one_before_keeps_its_own() {
    let world = World::start().await;
    let member_id = sign_up(&world, "ada").await;
    let tokens = open(&world).await;
    let answer = set_role(&world, json!({ "loginId": "ada", "role": "staff" })).await.unwrap();
    assert_eq!(answer, json!({ "memberId": member_id, "role": "staff" }));
    let course = suites::course(1, "MON", 1, 1);
    tokens.caller(&world).put("/courses/1", course.clone()).await.refused(403, "FORBIDDEN");
    let staff = Tokens::of(refresh(&world, &tokens.refresh).await);
    assert_eq!(staff.claims()["role"], "staff");
    staff.caller(&world).put("/courses/1", course).await.expect(201);
    assert_eq!(staff.caller(&world).get("/auth/me").await.expect(200).json["role"], "staff");
    set_role(&world, json!({ "memberId": member_id, "role": "member" })).await.unwrap();
    assert_eq!(open(&world).await.claims()["role"], "member");
}

#[tokio::test]
async fn a_role_that_a_member_has_is_given_again_without_a_change() {
    let world = world_of_ada().await;
    let event = json!({ "loginId": "ada", "role": "staff" });
    let first = set_role(&world, event.clone()).await.unwrap();
    let again = world.cloud.invoke_event("set-role", event).await.expect("a function");
    assert_eq!(again.response.unwrap(), first);
    assert_eq!(again.usage.write_units, 0.0);
}

#[tokio::test]
async fn nobody_and_nonsense_are_refused() {
    let world = world_of_ada().await;
    for event in [
        json!({ "loginId": "eve", "role": "staff" }),
        json!({ "memberId": "eve", "role": "staff" }),
    ] {
        assert_eq!(set_role(&world, event).await.unwrap_err().code, "MEMBER_NOT_FOUND");
    }
    for event in [
        json!(null),
        json!({}),
        json!({ "role": "staff" }),
        json!({ "loginId": "ada" }),
        json!({ "loginId": "ada", "role": "king" }),
        json!({ "loginId": "A#", "role": "staff" }),
        json!({ "memberId": "a#b", "role": "staff" }),
        json!({ "memberId": "a", "loginId": "ada", "role": "staff" }),
    ] {
        assert_eq!(set_role(&world, event).await.unwrap_err().code, "INVALID_REQUEST");
    }
    assert_eq!(open(&world).await.claims()["role"], "member");
}

#[tokio::test]
async fn it_has_no_route() {
    let world = World::start().await;
    let event = json!({ "loginId": "ada", "role": "staff" });
    for path in ["/set-role", "/auth/role", "/members/1/role"] {
        world.as_staff().post(path, event.clone()).await.refused(404, "ROUTE_NOT_FOUND");
    }
}
