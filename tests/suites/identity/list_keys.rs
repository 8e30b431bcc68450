//! `GET /.well-known/jwks.json`.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::Value;

use crate::{open, world_of_ada};

#[tokio::test]
async fn the_key_that_a_token_names_is_published_and_its_private_half_is_not() {
    let world = world_of_ada().await;
    let published = world.as_nobody().get("/.well-known/jwks.json").await.expect(200);
    assert_eq!(published.usage.total_calls(), 0);
    let token = open(&world).await.access;
    let header = BASE64_URL_SAFE_NO_PAD.decode(token.split('.').next().unwrap()).unwrap();
    let header: Value = serde_json::from_slice(&header).unwrap();
    let keys = published.json["keys"].as_array().unwrap();
    let key = keys.iter().find(|key| key["kid"] == header["kid"]).expect("the key");
    assert_eq!(header["alg"], "EdDSA");
    assert_eq!((&key["kty"], &key["crv"]), (&"OKP".into(), &"Ed25519".into()));
    assert!(key["x"].is_string() && key["d"].is_null(), "{key}");
}
