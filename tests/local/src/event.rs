//! The invocation events in `events/`, with the tokens that they leave open.

use std::path::{Path, PathBuf};

use aws_lambda_events::apigw::ApiGatewayV2httpRequest;

use crate::in_checkout;

/// What stands for a token in an event.
const PLACEHOLDER: &str = "Bearer TOKEN";

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
    /// It is no event of an HTTP API.
    #[error("{} is no event of an HTTP API (payload format 2.0): {error}", path.display())]
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

/// The text of an event, with `token` filled in.
pub fn filled(path: &Path, token: &str) -> Result<String, EventError> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| EventError::Unreadable { path: path.to_owned(), error })?;
    Ok(fill(&text, token))
}

/// An event, with `token` filled in.
pub fn read(path: &Path, token: &str) -> Result<ApiGatewayV2httpRequest, EventError> {
    let text = filled(path, token)?;
    serde_json::from_str(&text)
        .map_err(|error| EventError::NoEvent { path: path.to_owned(), error })
}

fn fill(text: &str, token: &str) -> String {
    text.replace(PLACEHOLDER, &format!("Bearer {token}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(text: &str) -> Result<ApiGatewayV2httpRequest, EventError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("event.json");
        std::fs::write(&path, text).unwrap();
        read(&path, "abc")
    }

    #[test]
    fn a_token_takes_the_place_that_is_left_open() {
        let text = r#"{
            "headers": { "authorization": "Bearer TOKEN" },
            "requestContext": { "http": { "method": "GET", "path": "/" } }
        }"#;
        assert_eq!(event(text).unwrap().headers["authorization"], "Bearer abc");
    }

    #[test]
    fn what_is_no_event_is_named() {
        let error = event("{}").unwrap_err().to_string();
        assert!(error.contains("event.json is no event"), "{error}");
        let error = filled(Path::new("nowhere.json"), "abc").unwrap_err().to_string();
        assert!(error.contains("nowhere.json"), "{error}");
    }
}
