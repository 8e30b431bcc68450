//! Keys are replaced one by one, and whoever holds something that an old one
//! made does not notice until that key is gone.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use identity::{get_me, list_keys, log_in, refresh_session, sign_up, update_me};
use platform::app::{App, Settings};
use platform::auth::TokenSigner;
use platform::lambda::{self, Function};
use serde_json::{Value, json};
use suites::World;

use crate::{PASSWORD, member};

const OLD: &str = "an-old-text-that-a-generator-has-made";
const NEW: &str = "a-new-text-that-a-generator-has-made";

/// A private key in PEM: PKCS#8 of an Ed25519 seed (RFC 8410).
fn pem(seed: u8) -> String {
    let head = [48, 46, 2, 1, 0, 48, 5, 6, 3, 43, 101, 112, 4, 34, 4, 32];
    let text = BASE64_STANDARD.encode([&head[..], &[seed; 32]].concat());
    format!("-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----\n")
}

fn public_keys(seeds: &[u8]) -> String {
    let keys = seeds.iter().map(|seed| {
        let signer = TokenSigner::from_pem(pem(*seed).as_bytes()).unwrap();
        let set: Value = serde_json::from_str(&signer.public_keys().unwrap()).unwrap();
        set["keys"][0].clone()
    });
    json!({ "keys": keys.collect::<Vec<_>>() }).to_string()
}

/// One execution environment with these keys, on the world's table and time.
fn app(world: &World, signing: &[u8], known: &[u8], texts: &str) -> App {
    let settings = [
        ("SIGNING_KEYS", signing.iter().map(|seed| pem(*seed)).collect()),
        ("TOKEN_KEYS", public_keys(known)),
        ("REFRESH_KEYS", texts.to_owned()),
        ("FIELD_KEYS", texts.to_owned()),
    ];
    let settings = settings.map(|(name, value): (&str, String)| (name.to_owned(), value));
    let settings = Settings::from_iter(settings);
    App::new(settings, world.clock.clone(), Default::default(), world.cloud.clients()).unwrap()
}

async fn call(app: &App, function: Function, token: &str, body: Value) -> (u16, Value) {
    let event = json!({
        "version": "2.0",
        "rawPath": "/",
        "rawQueryString": "",
        "headers": { "authorization": format!("Bearer {token}") },
        "requestContext": { "http": { "method": "POST", "path": "/" }, "requestId": "r-1" },
        "body": body.to_string(),
        "isBase64Encoded": false,
    });
    let event = serde_json::from_value(event).unwrap();
    let response = lambda::invoke(app, function, event).await.response;
    let body = serde_json::from_str(response.body()).unwrap_or_default();
    (response.status().as_u16(), body)
}

async fn tokens(app: &App) -> (String, String) {
    let body = json!({ "loginId": "ada", "password": PASSWORD });
    let (status, body) = call(app, log_in::FUNCTION, "", body).await;
    assert_eq!(status, 200, "{body}");
    let text = |field: &str| body[field].as_str().unwrap().to_owned();
    (text("accessToken"), text("refreshToken"))
}

async fn me(app: &App, token: &str) -> (u16, Value) {
    call(app, get_me::FUNCTION, token, Value::Null).await
}

#[tokio::test]
async fn a_token_of_the_old_key_holds_until_the_key_is_gone() {
    let world = World::start().await;
    let before = app(&world, &[1], &[1], OLD);
    assert_eq!(call(&before, sign_up::FUNCTION, "", member("ada")).await.0, 201);
    let (old, _) = tokens(&before).await;
    let both = app(&world, &[2, 1], &[2, 1], OLD);
    let (new, _) = tokens(&both).await;
    assert_eq!((me(&both, &old).await.0, me(&both, &new).await.0), (200, 200));
    assert_eq!(me(&before, &new).await.0, 401, "the first key signs");
    let after = app(&world, &[2], &[2], OLD);
    assert_eq!((me(&after, &old).await.0, me(&after, &new).await.0), (401, 200));
    let (status, published) = call(&both, list_keys::FUNCTION, "", Value::Null).await;
    assert_eq!(status, 200);
    assert_eq!(published, serde_json::from_str::<Value>(&public_keys(&[2, 1])).unwrap());
}

#[tokio::test]
async fn sessions_of_the_old_key_go_on_and_get_tokens_of_the_new_one() {
    let world = World::start().await;
    let before = app(&world, &[1], &[1], OLD);
    assert_eq!(call(&before, sign_up::FUNCTION, "", member("ada")).await.0, 201);
    let (_, old) = tokens(&before).await;
    let refresh = async |app: &App, token: &Value| {
        call(app, refresh_session::FUNCTION, "", json!({ "refreshToken": token })).await
    };
    let both = app(&world, &[1], &[1], &format!("{NEW} {OLD}"));
    let (status, next) = refresh(&both, &old.clone().into()).await;
    assert_eq!(status, 200);
    let after = app(&world, &[1], &[1], NEW);
    assert_eq!(refresh(&after, &next["refreshToken"]).await.0, 200);
    let (status, refused) = refresh(&after, &old.into()).await;
    assert_eq!((status, &refused["code"]), (401, &"SESSION_ENDED".into()));
}

#[tokio::test]
async fn phone_and_e_mail_of_the_old_key_are_read_until_the_key_is_gone() {
    let world = World::start().await;
    let before = app(&world, &[1], &[1], OLD);
    let mut ada = member("ada");
    ada["phone"] = "+8223123456".into();
    assert_eq!(call(&before, sign_up::FUNCTION, "", ada).await.0, 201);
    let (token, _) = tokens(&before).await;
    let both = app(&world, &[1], &[1], &format!("{NEW} {OLD}"));
    let email = json!({ "phone": "+8223123456", "email": "ada@example.com" });
    assert_eq!(call(&both, update_me::FUNCTION, &token, email).await.0, 200);
    let (status, ada) = me(&both, &token).await;
    assert_eq!(
        (status, &ada["phone"], &ada["email"]),
        (200, &"+8223123456".into(), &"ada@example.com".into())
    );
    let after = app(&world, &[1], &[1], NEW);
    let (status, failed) = me(&after, &token).await;
    assert_eq!((status, &failed["code"]), (500, &"INTERNAL".into()), "the phone's key is gone");
    let renewed = json!({ "phone": null });
    assert_eq!(call(&both, update_me::FUNCTION, &token, renewed).await.0, 200);
    assert_eq!(me(&after, &token).await.1["email"], "ada@example.com");
}

#[tokio::test]
async fn without_its_secrets_a_function_fails_before_it_decides() {
    let world = World::start().await;
    let good = app(&world, &[1], &[1], OLD);
    assert_eq!(call(&good, sign_up::FUNCTION, "", member("ada")).await.0, 201);
    for bad in [app(&world, &[], &[1], OLD), app(&world, &[1], &[1], "short")] {
        for password in [PASSWORD, "wrong horse"] {
            let body = json!({ "loginId": "ada", "password": password });
            let (status, failed) = call(&bad, log_in::FUNCTION, "", body).await;
            assert_eq!((status, &failed["code"]), (500, &"INTERNAL".into()));
        }
    }
}
