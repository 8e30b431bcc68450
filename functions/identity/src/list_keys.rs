//! `GET /.well-known/jwks.json`: the public keys that access tokens are verified
//! with (RFC 7517).
//!
//! They are the setting that every function verifies with, so what is published
//! here is what holds.

use platform::{App, Function, Problem, Reply, Request, auth};

/// The function.
pub static FUNCTION: Function = Function::http("list-keys", |a, r| Box::pin(handle(a, r)));

async fn handle(app: &App, _: Request) -> Result<Reply, Problem> {
    Reply::ok(auth::public_keys(app))
}
