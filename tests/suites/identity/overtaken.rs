//! A request is held on its way to the table while another overtakes it.
//!
//! Tokio's clock is paused, so that what is held is not taken for lost.

use identity::member::{Login, Member};
use serde_json::json;
use suites::World;
use suites::gate::Gate;

use crate::{PASSWORD, Tokens, log_in, open, refresh, sign_up};

/// The password's version as the member has it, and as the log-in has it.
async fn versions(world: &World, member_id: &str) -> (u64, u64) {
    let app = world.app().await;
    let member = Member::get(&app, member_id).await.unwrap().expect("a member");
    let login = Login::get(&app, &member.login_id).await.unwrap().expect("a log-in");
    (member.password_version, login.password_version)
}

#[tokio::test(start_paused = true)]
async fn the_same_password_again_does_not_undo_a_new_one_that_overtook_it() {
    // With a change that meets the new one, and without any.
    for name in ["Ada King", "Ada Lovelace"] {
        let gate = Gate::default();
        let world = World::behind(&gate).await;
        let member_id = sign_up(&world, "ada").await;
        let old = open(&world).await;
        let caller = old.caller(&world);
        gate.hold("TransactWriteItems", 2); // the first one counts the attempt
        let same = json!({ "name": name, "password": PASSWORD, "currentPassword": PASSWORD });
        let new = json!({ "password": "battery staple", "currentPassword": PASSWORD });
        let overtake = async {
            gate.reached().await;
            caller.send("PATCH", "/auth/me", new).await.expect(200);
            gate.open();
        };
        let (same, ()) = tokio::join!(caller.send("PATCH", "/auth/me", same), overtake);
        assert_eq!(versions(&world, &member_id).await, (2, 2));
        refresh(&world, &old.refresh).await.refused(401, "SESSION_ENDED");
        same.refused(401, "BAD_CREDENTIALS");
        assert_eq!(caller.get("/auth/me").await.expect(200).json["name"], "Ada Lovelace");
        let new = Tokens::of(log_in(&world, "ada", "battery staple").await);
        Tokens::of(refresh(&world, &new.refresh).await);
    }
}

#[tokio::test(start_paused = true)]
async fn a_refresh_that_was_overtaken_twice_does_not_turn_the_session_back() {
    let gate = Gate::default();
    let world = World::behind(&gate).await;
    sign_up(&world, "ada").await;
    let first = open(&world).await;
    gate.hold("TransactWriteItems", 1);
    let overtake = async {
        gate.reached().await;
        let second = Tokens::of(refresh(&world, &first.refresh).await);
        let third = Tokens::of(refresh(&world, &second.refresh).await);
        gate.open();
        third
    };
    let (late, third) = tokio::join!(refresh(&world, &first.refresh), overtake);
    // Its token was exchanged twice meanwhile: somebody has stolen it.
    late.refused(401, "SESSION_ENDED");
    refresh(&world, &third.refresh).await.refused(401, "SESSION_ENDED");
}
