//! The invocation events in `events/`, with the tokens that they leave open.

use std::path::{Path, PathBuf};

use platform::auth::{Role, TOKEN_LIFETIME_S};
use platform::clock::Instant;
use serde::de::DeserializeOwned;
use serde_json::Value;
use ticketing::signature;

use crate::{DevKey, in_checkout, sample};

/// What stands for a token of the staff in an event.
const TOKEN: &str = "Bearer TOKEN";
/// What stands for the refresh token of the session in the sample data.
const REFRESH_TOKEN: &str = "REFRESH_TOKEN";
/// What stands for a ticket of the staff for the match in the sample data.
const TICKET: &str = "\"TICKET\"";
/// What stands for a pass of the staff for that match.
const PASS: &str = "\"PASS\"";
/// What stands for the signature of the body.
const SIGNATURE: &str = "\"SIGNATURE\"";

/// An event that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum EventError {
    /// There is no such file, or it cannot be read.
    #[error("cannot read {}: {error}; events/ has one file per function", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        error: std::io::Error,
    },
    /// It is no event that the function takes.
    #[error(
        "{} is no event for this function (one with a route takes those of an HTTP API, payload \
         format 2.0): {error}",
        path.display()
    )]
    NoEvent {
        /// The file.
        path: PathBuf,
        /// Why not.
        error: serde_json::Error,
    },
}

/// Where the event of `function` lies.
pub fn path(function: &str) -> PathBuf {
    in_checkout(&format!("events/{function}.json"))
}

/// The text of an event, with tokens of `key` filled in that are good `now`.
pub fn filled(path: &Path, key: &DevKey, now: Instant) -> Result<String, EventError> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| EventError::Unreadable { path: path.to_owned(), error })?;
    let token = key.token(sample::STAFF, Role::Staff, now, TOKEN_LIFETIME_S);
    let text = text.replace(TOKEN, &format!("Bearer {token}"));
    let text = text.replace(REFRESH_TOKEN, &sample::refresh_token(key));
    let text = text.replace(TICKET, &format!("\"{}\"", sample::ticket(key)));
    let text = text.replace(PASS, &format!("\"{}\"", sample::pass(key, now)));
    let event: Value = serde_json::from_str(&text).unwrap_or_default();
    let body = event["body"].as_str().unwrap_or_default();
    let signature = signature::sign(&key.secret("PAYMENT_KEYS"), body.as_bytes());
    Ok(text.replace(SIGNATURE, &format!("\"{signature}\"")))
}

/// An event, with tokens filled in: a request, or any JSON.
pub fn read<T: DeserializeOwned>(path: &Path, key: &DevKey, now: Instant) -> Result<T, EventError> {
    let text = filled(path, key, now)?;
    serde_json::from_str(&text)
        .map_err(|error| EventError::NoEvent { path: path.to_owned(), error })
}

#[cfg(test)]
mod tests {
    use aws_lambda_events::apigw::ApiGatewayV2httpRequest;

    use super::*;

    fn event(text: &str) -> Result<ApiGatewayV2httpRequest, EventError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("event.json");
        std::fs::write(&path, text).unwrap();
        read(&path, &DevKey::of_checkout().unwrap(), Instant::from_millis(0))
    }

    #[test]
    fn tokens_take_the_places_that_are_left_open() {
        let text = r#"{
            "headers": { "authorization": "Bearer TOKEN", "x-queue-pass": "PASS", "x-signature": "SIGNATURE" },
            "requestContext": { "http": { "method": "GET", "path": "/" } },
            "body": "REFRESH_TOKEN"
        }"#;
        let event = event(text).unwrap();
        assert!(event.headers["authorization"].to_str().unwrap().starts_with("Bearer ey"));
        let pass = sample::pass(&DevKey::of_checkout().unwrap(), Instant::from_millis(0));
        assert_eq!(event.headers["x-queue-pass"], pass);
        let body = event.body.as_ref().unwrap().as_bytes();
        let signature =
            signature::sign(&DevKey::of_checkout().unwrap().secret("PAYMENT_KEYS"), body);
        assert_eq!(event.headers["x-signature"], signature);
        assert_eq!(event.body, Some(sample::refresh_token(&DevKey::of_checkout().unwrap())));
    }

    #[test]
    fn what_is_no_event_is_named() {
        let error = event("{}").unwrap_err().to_string();
        assert!(error.contains("event.json is no event"), "{error}");
        let key = DevKey::of_checkout().unwrap();
        let error = filled(Path::new("nowhere.json"), &key, Instant::from_millis(0));
        let error = error.unwrap_err().to_string();
        assert!(error.contains("nowhere.json"), "{error}");
    }
}
