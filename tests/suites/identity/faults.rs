//! Answers get lost and DynamoDB fails: nobody is locked out, and no session
//! ends, for it.
//!
//! Tokio's clock is paused where a test waits out a budget, so none takes time.

use local::faults::Fault;
use serde_json::json;
use suites::World;

use crate::{PASSWORD, Tokens, log_in, log_out, member, open, refresh, sign_up, world_of_ada};

const WRITE: &str = "TransactWriteItems";

#[tokio::test(start_paused = true)]
async fn every_write_survives_the_loss_of_its_first_answer() {
    let world = World::start().await;
    world.faults.always(WRITE, Fault::LostFirstAnswer);
    let member_id = sign_up(&world, "ada").await;
    let tokens = open(&world).await;
    log_in(&world, "ada", "wrong horse").await.refused(401, "BAD_CREDENTIALS");
    let next = Tokens::of(refresh(&world, &tokens.refresh).await);
    let caller = next.caller(&world);
    let phone = json!({ "phone": "+8223123456" });
    assert_eq!(
        caller.send("PATCH", "/auth/me", phone).await.expect(200).json["phone"],
        "+8223123456"
    );
    let event = json!({ "memberId": member_id, "role": "staff" });
    world.cloud.invoke_event("set-role", event).await.unwrap().response.unwrap();
    let body = json!({ "password": "battery staple", "currentPassword": PASSWORD });
    caller.send("PATCH", "/auth/me", body).await.expect(200);
    let staff = Tokens::of(log_in(&world, "ada", "battery staple").await);
    assert_eq!(staff.claims()["role"], "staff");
    log_out(&world, &staff.refresh).await.expect(204);
    refresh(&world, &staff.refresh).await.refused(401, "SESSION_ENDED");
    assert!(world.faults.met() > 10);
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_to_a_refresh_does_not_end_the_session() {
    let world = world_of_ada().await;
    let tokens = open(&world).await;
    world.faults.always(WRITE, Fault::LostAnswer);
    refresh(&world, &tokens.refresh).await.refused(503, "BUSY");
    world.faults.stop();
    world.clock.advance(29_999);
    let next = Tokens::of(refresh(&world, &tokens.refresh).await);
    assert_ne!(next.refresh, tokens.refresh);
    world.clock.advance(600_000);
    Tokens::of(refresh(&world, &next.refresh).await);
}

#[tokio::test(start_paused = true)]
async fn a_refresh_that_never_arrived_leaves_the_token_as_it_was() {
    let world = world_of_ada().await;
    let tokens = open(&world).await;
    for fault in [Fault::LostRequest, Fault::Throttled, Fault::ServerError] {
        world.faults.always(WRITE, fault);
        refresh(&world, &tokens.refresh).await.refused(503, "BUSY");
    }
    world.faults.stop();
    world.clock.advance(600_000);
    Tokens::of(refresh(&world, &tokens.refresh).await);
}

#[tokio::test(start_paused = true)]
async fn a_write_that_arrives_late_is_met_as_ones_own() {
    let world = World::start().await;
    world.faults.next(WRITE, &Fault::LateSuccess(vec![0, 1]), 1);
    let member_id = sign_up(&world, "ada").await;
    let mut tokens = open(&world).await;
    assert_eq!(tokens.claims()["sub"], member_id);
    world.faults.next(WRITE, &Fault::LateSuccess(vec![0]), 1);
    tokens = Tokens::of(refresh(&world, &tokens.refresh).await);
    let caller = tokens.caller(&world);
    world.faults.next(WRITE, &Fault::LateSuccess(vec![0]), 1);
    let named = caller.send("PATCH", "/auth/me", json!({ "name": "Ada" })).await.expect(200);
    assert_eq!(named.json["name"], "Ada");
    // The first write counts the attempt, the second changes the password.
    world.faults.next(WRITE, &Fault::LateSuccess(vec![0]), 2);
    let body = json!({ "password": "battery staple", "currentPassword": PASSWORD });
    caller.send("PATCH", "/auth/me", body).await.expect(200);
    Tokens::of(log_in(&world, "ada", "battery staple").await);
    assert_eq!(world.faults.met(), 5);
}

#[tokio::test(start_paused = true)]
async fn when_every_answer_is_lost_the_key_finds_the_member() {
    let world = World::start().await;
    let caller = world.as_nobody().with("idempotency-key", "k-1");
    world.faults.always(WRITE, Fault::LostAnswer);
    caller.post("/members", member("ada")).await.refused(503, "BUSY");
    world.faults.stop();
    let found = caller.post("/members", member("ada")).await.expect(201);
    assert_eq!(open(&world).await.claims()["sub"], found.json["memberId"]);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_cannot_be_counted_is_not_made() {
    let world = world_of_ada().await;
    for fault in [Fault::LostRequest, Fault::Throttled, Fault::LostAnswer] {
        world.faults.always(WRITE, fault);
        for password in [PASSWORD, "wrong horse"] {
            let refused = log_in(&world, "ada", password).await.refused(503, "BUSY");
            assert_eq!(refused.usage.password_hashes, 0);
        }
    }
    world.faults.stop();
    log_in(&world, "ada", PASSWORD).await.expect(200);
}

#[tokio::test(start_paused = true)]
async fn reads_are_tried_again_and_then_given_up() {
    let world = world_of_ada().await;
    let tokens = open(&world).await;
    for fault in [Fault::Throttled, Fault::ServerError, Fault::LostAnswer] {
        world.faults.next("GetItem", &fault, 2);
        tokens.caller(&world).get("/auth/me").await.expect(200);
        world.faults.next("BatchGetItem", &fault, 2);
        refresh(&world, &tokens.refresh).await.expect(200);
    }
    assert_eq!(world.faults.met(), 12);
    world.faults.always("GetItem", Fault::Throttled);
    tokens.caller(&world).get("/auth/me").await.refused(503, "BUSY");
    log_in(&world, "ada", PASSWORD).await.refused(503, "BUSY");
}
