//! A request is held on its way to the table while another overtakes it.
//!
//! Tokio's clock is paused, so that what is held is not taken for lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use futures_util::future::BoxFuture;
use identity::member::{Login, Member};
use local::faults::Layer;
use local::link::{Answer, Call, Link, Lost};
use local::{Cloud, Options};
use platform::clock::Clock;
use serde_json::json;
use suites::{World, instant};
use tokio::sync::Notify;

use crate::{PASSWORD, Tokens, log_in, open, refresh, sign_up};

/// Holds one transaction until it is opened.
#[derive(Clone, Debug, Default)]
struct Gate(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    to_come: AtomicI64,
    reached: Notify,
    opened: Notify,
}

impl Gate {
    /// The `nth` transaction from now on is the one to hold.
    fn hold(&self, nth: i64) {
        self.0.to_come.store(nth, Ordering::SeqCst);
    }

    fn layer(&self) -> Layer {
        let gate = self.clone();
        Arc::new(move |next| Arc::new(Gated { next, gate: gate.clone() }))
    }
}

#[derive(Debug)]
struct Gated {
    next: Arc<dyn Link>,
    gate: Gate,
}

impl Link for Gated {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Answer, Lost>> {
        let Inner { to_come, reached, opened } = &*self.gate.0;
        let is_held =
            call.operation == "TransactWriteItems" && to_come.fetch_sub(1, Ordering::SeqCst) == 1;
        Box::pin(async move {
            if is_held {
                reached.notify_one();
                opened.notified().await;
            }
            self.next.call(call).await
        })
    }
}

async fn world_behind(gate: &Gate) -> World {
    let clock = Clock::manual(instant("2030-01-01T00:00:00Z"));
    let (layer, clock_too) = (Some(gate.layer()), clock.clone());
    let cloud = Cloud::start(Options { clock: clock_too, layer, ..Options::default() });
    let cloud = cloud.await.expect("the cloud starts");
    World { cloud, clock, faults: Default::default(), queue_faults: Default::default() }
}

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
        let world = world_behind(&gate).await;
        let member_id = sign_up(&world, "ada").await;
        let old = open(&world).await;
        let caller = old.caller(&world);
        gate.hold(2); // the first one counts the attempt
        let same = json!({ "name": name, "password": PASSWORD, "currentPassword": PASSWORD });
        let new = json!({ "password": "battery staple", "currentPassword": PASSWORD });
        let overtake = async {
            gate.0.reached.notified().await;
            caller.send("PATCH", "/auth/me", new).await.expect(200);
            gate.0.opened.notify_one();
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
    let world = world_behind(&gate).await;
    sign_up(&world, "ada").await;
    let first = open(&world).await;
    gate.hold(1);
    let overtake = async {
        gate.0.reached.notified().await;
        let second = Tokens::of(refresh(&world, &first.refresh).await);
        let third = Tokens::of(refresh(&world, &second.refresh).await);
        gate.0.opened.notify_one();
        third
    };
    let (late, third) = tokio::join!(refresh(&world, &first.refresh), overtake);
    // Its token was exchanged twice meanwhile: somebody has stolen it.
    late.refused(401, "SESSION_ENDED");
    refresh(&world, &third.refresh).await.refused(401, "SESSION_ENDED");
}
