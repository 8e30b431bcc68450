//! What no log and no item may show: passwords, tokens, phone numbers, e-mail
//! addresses; and in logs no name and no log-in id either.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use local::faults::Fault;
use platform::telemetry;
use serde_json::json;
use suites::World;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::{Layer, SubscriberExt};

use crate::{PASSWORD, Tokens, log_in, log_out, refresh};

/// Where the log goes.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

const LOGIN_ID: &str = "ada.lovelace";
const NAME: &str = "Ada Lovelace";
const PHONE: &str = "+442079460123";
const EMAIL: &str = "ada@example.com";
const NEW_PASSWORD: &str = "battery staple";
const WRONG_PASSWORD: &str = "wrong horse";

/// All that a member does, well and badly; the tokens that were given.
async fn live(world: &World) -> Vec<String> {
    let nobody = world.as_nobody().with("idempotency-key", "k-1");
    let body = json!({
        "loginId": LOGIN_ID, "password": PASSWORD, "name": NAME, "phone": PHONE, "email": EMAIL,
    });
    nobody.post("/members", body.clone()).await.expect(201);
    nobody.post("/members", body.clone()).await.expect(201);
    world.as_nobody().post("/members", body.clone()).await.refused(409, "LOGIN_TAKEN");
    let bad = json!({ "loginId": LOGIN_ID, "password": [PASSWORD], "name": NAME });
    nobody.post("/members", bad).await.refused(400, "INVALID_REQUEST");
    let first = Tokens::of(log_in(world, LOGIN_ID, PASSWORD).await);
    log_in(world, LOGIN_ID, WRONG_PASSWORD).await.refused(401, "BAD_CREDENTIALS");
    let caller = first.caller(world);
    caller.get("/auth/me").await.expect(200);
    let change = json!({ "phone": PHONE, "email": EMAIL, "name": format!("{NAME} King") });
    caller.send("PATCH", "/auth/me", change).await.expect(200);
    for current in [WRONG_PASSWORD, PASSWORD] {
        let body = json!({ "password": NEW_PASSWORD, "currentPassword": current });
        caller.send("PATCH", "/auth/me", body).await;
    }
    let second = Tokens::of(log_in(world, LOGIN_ID, NEW_PASSWORD).await);
    let third = Tokens::of(refresh(world, &second.refresh).await);
    world.clock.advance(60_000);
    refresh(world, &second.refresh).await.refused(401, "SESSION_ENDED");
    log_out(world, &third.refresh).await.expect(204);
    for _ in 0..11 {
        log_in(world, LOGIN_ID, WRONG_PASSWORD).await;
    }
    let event = json!({ "loginId": LOGIN_ID, "role": "staff" });
    world.cloud.invoke_event("set-role", event).await.unwrap().response.unwrap();
    [first, second, third].into_iter().flat_map(|t| [t.access, t.refresh]).collect()
}

/// The same while DynamoDB fails.
async fn fail(world: &World, tokens: &[String]) {
    world.clock.advance(20 * 60_000);
    for fault in [Fault::LostAnswer, Fault::Throttled, Fault::ServerError, Fault::Rejected] {
        world.faults.always("TransactWriteItems", fault.clone());
        let body = json!({
            "loginId": "eve", "password": PASSWORD, "name": NAME, "phone": PHONE, "email": EMAIL,
        });
        assert!(world.as_nobody().post("/members", body).await.status >= 500);
        assert!(log_in(world, LOGIN_ID, NEW_PASSWORD).await.status >= 500);
        assert!(log_out(world, &tokens[1]).await.status >= 500);
        world.faults.always("GetItem", fault);
        let member = world.as_member("m1");
        assert!(member.get("/auth/me").await.status >= 401);
    }
    world.faults.stop();
}

#[tokio::test(start_paused = true)]
async fn no_log_shows_a_password_a_token_or_who_somebody_is() {
    let log = Log::default();
    let writer = log.clone();
    let everything = "trace,aws_smithy_runtime::client::orchestrator=trace,[request]=trace";
    let layer = tracing_subscriber::fmt::layer()
        .json()
        .with_span_events(tracing_subscriber::fmt::format::FmtSpan::FULL)
        .with_writer(move || writer.clone())
        .with_filter(telemetry::capped(EnvFilter::try_new(everything).unwrap()));
    let subscriber = tracing_subscriber::registry().with(layer);
    // With one subscriber alone, what other tests' threads are first to log counts
    // as wanted by nobody, in all threads.
    let _second = tracing::Dispatch::new(tracing::subscriber::NoSubscriber::new());
    let _guard = tracing_subscriber::util::SubscriberInitExt::set_default(subscriber);
    let world = World::start().await;
    let tokens = live(&world).await;
    fail(&world, &tokens).await;
    let log = log.text();
    for expected in ["BAD_CREDENTIALS", "LOGIN_LOCKED", "SESSION_ENDED", "INTERNAL", "sign-up"] {
        assert!(log.contains(expected), "the log should show {expected}");
    }
    let texts = [PASSWORD, NEW_PASSWORD, WRONG_PASSWORD, LOGIN_ID, NAME, PHONE, EMAIL, "argon2"];
    for secret in texts.into_iter().chain(tokens.iter().map(String::as_str)) {
        let line = log.lines().find(|line| line.contains(secret));
        assert_eq!(line, None, "the log shows {secret:?}");
    }
}

#[tokio::test]
async fn no_item_shows_a_password_a_token_a_phone_number_or_an_e_mail_address() {
    let world = World::start().await;
    let tokens = live(&world).await;
    let items = world.cloud.client().scan().table_name(identity::TABLE.default).send().await;
    let items = items.unwrap().items.unwrap();
    assert!(items.len() >= 4, "{items:?}");
    let shown = format!("{items:?}");
    assert!(shown.contains(NAME), "a name is no secret to the table");
    for secret in [PASSWORD, NEW_PASSWORD, WRONG_PASSWORD, PHONE, EMAIL]
        .into_iter()
        .chain(tokens.iter().map(String::as_str))
    {
        assert!(!shown.contains(secret), "an item shows {secret:?}");
    }
    let kept = items.iter().find(|item| item["sk"].as_s().unwrap() == "IDEMPOTENCY").unwrap();
    assert!(kept["pk"].as_s().unwrap().starts_with("IDEMPOTENCY##sign-up#"));
    assert!(!format!("{kept:?}").contains(NAME), "of the answer only the id is kept: {kept:?}");
}
