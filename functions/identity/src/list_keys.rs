//! `GET /.well-known/jwks.json`: the public keys that access tokens are verified
//! with (RFC 7517).
//!
//! They are the setting that every function verifies with, so what is published
//! here is what holds.

use std::collections::BTreeMap;

use platform::{App, Function, Operation, Problem, Reply, Request, auth};
use serde_json::json;
use utoipa::ToSchema;

/// The function.
pub static FUNCTION: Function = Function::http("list-keys", |a, r| Box::pin(handle(a, r)));

/// A key set in the document: `JwkSet` is not of this project.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct KeySet {
    keys: Vec<BTreeMap<String, String>>,
}

/// What the document says of it.
pub fn operation() -> Operation {
    let key = json!({
        "kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "kid": "n0tAK3y",
        "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
    });
    let summary = "The public keys that access tokens are verified with (RFC 7517).";
    Operation::new(FUNCTION, "GET /.well-known/jwks.json", summary)
        .alone()
        .answers::<KeySet>(json!({ "keys": [key] }))
}

async fn handle(app: &App, _: Request) -> Result<Reply, Problem> {
    Reply::ok(auth::public_keys(app))
}
