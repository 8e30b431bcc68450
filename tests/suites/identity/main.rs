//! Members, sessions and tokens: one file per operation, and what holds when
//! guesses come all at once, when answers are lost, when keys are rotated, and
//! what no log may show.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod faults;
mod get_me;
mod list_keys;
mod log_in;
mod log_out;
mod overtaken;
mod races;
mod refresh_session;
mod rotation;
mod secrecy;
mod set_role;
mod sign_up;
mod update_me;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use suites::{Answer, Caller, World};

/// The password of everybody here, until changed.
const PASSWORD: &str = "correct horse";

const MINUTE_MS: i64 = 60 * 1000;
const DAY_MS: i64 = 24 * 60 * MINUTE_MS;

/// The body that makes a member.
fn member(login_id: &str) -> Value {
    json!({ "loginId": login_id, "password": PASSWORD, "name": "Ada Lovelace" })
}

/// A cloud with one member, `ada`.
async fn world_of_ada() -> World {
    let world = World::start().await;
    sign_up(&world, "ada").await;
    world
}

/// Makes a member; its id.
async fn sign_up(world: &World, login_id: &str) -> String {
    let made = world.as_nobody().post("/members", member(login_id)).await.expect(201);
    made.json["memberId"].as_str().expect("an id").to_owned()
}

async fn log_in(world: &World, login_id: &str, password: &str) -> Answer {
    let body = json!({ "loginId": login_id, "password": password });
    world.as_nobody().post("/auth/login", body).await
}

/// Logs `ada` in.
async fn open(world: &World) -> Tokens {
    Tokens::of(log_in(world, "ada", PASSWORD).await)
}

async fn refresh(world: &World, refresh_token: &str) -> Answer {
    world.as_nobody().post("/auth/refresh", json!({ "refreshToken": refresh_token })).await
}

async fn log_out(world: &World, refresh_token: &str) -> Answer {
    world.as_nobody().post("/auth/logout", json!({ "refreshToken": refresh_token })).await
}

/// What log-in and refresh answer.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Tokens {
    access: String,
    refresh: String,
}

impl Tokens {
    #[track_caller]
    fn of(answer: Answer) -> Self {
        let json = answer.expect(200).json;
        let text = |field: &str| json[field].as_str().expect("a token").to_owned();
        assert_eq!(json["expiresIn"], 900);
        Self { access: text("accessToken"), refresh: text("refreshToken") }
    }

    /// Whoever bears the access token.
    fn caller<'w>(&self, world: &'w World) -> Caller<'w> {
        world.as_nobody().with("authorization", &format!("Bearer {}", self.access))
    }

    /// What the access token says.
    fn claims(&self) -> Value {
        let claims = self.access.split('.').nth(1).expect("claims");
        let claims = BASE64_URL_SAFE_NO_PAD.decode(claims).expect("base64");
        serde_json::from_slice(&claims).expect("JSON")
    }
}

/// The fields that a refusal names.
fn fields(answer: &Answer) -> Vec<&str> {
    let errors = answer.json["errors"].as_array().expect("errors");
    errors.iter().filter_map(|error| error["field"].as_str()).collect()
}
