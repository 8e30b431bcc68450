//! One request to the system and its answer, whatever carries them.
//!
//! Scenarios are plain async code over [`Call`], so that the same scenario can
//! go over a socket or straight to the handlers.

use std::sync::Arc;

use async_trait::async_trait;
use http::Method;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Carries requests to the system.
#[async_trait]
pub(crate) trait Call: Send + Sync {
    /// Sends `request` and waits for its answer.
    async fn call(&self, request: &Request) -> Result<Answer, Lost>;
}

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// The operation, by the name of its function.
    pub(crate) operation: &'static str,
    /// HTTP method.
    pub(crate) method: Method,
    /// Path and query.
    pub(crate) path: String,
    /// The bearer token.
    pub(crate) token: Option<Arc<str>>,
    /// Under which the same request may be sent again without being done twice.
    pub(crate) idempotency_key: Option<String>,
    /// Other headers.
    pub(crate) headers: Vec<(&'static str, String)>,
    /// The body, if it has one.
    pub(crate) body: Option<Value>,
}

impl Request {
    /// A request without token and body.
    pub(crate) fn new(operation: &'static str, method: Method, path: impl Into<String>) -> Self {
        let (path, headers) = (path.into(), Vec::new());
        Self { operation, method, path, token: None, idempotency_key: None, headers, body: None }
    }

    /// With a bearer token.
    #[must_use]
    pub(crate) fn token(mut self, token: &Arc<str>) -> Self {
        self.token = Some(Arc::clone(token));
        self
    }

    /// With an `Idempotency-Key`.
    #[must_use]
    pub(crate) fn idempotency_key(mut self, key: String) -> Self {
        self.idempotency_key = Some(key);
        self
    }

    /// With one more header.
    #[must_use]
    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// With a JSON body.
    #[must_use]
    pub(crate) fn body(mut self, body: Value) -> Self {
        self.body = Some(body);
        self
    }
}

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// HTTP status.
    pub(crate) status: u16,
    /// The body as it came.
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// Whether the status says that it was done.
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Whether the failure is the server's, so that nobody can say what was done.
    pub(crate) fn is_server_error(&self) -> bool {
        self.status >= 500
    }

    /// The problem's code, if the answer is a problem.
    pub(crate) fn code(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Problem {
            code: String,
        }
        self.json().ok().map(|problem: Problem| problem.code)
    }

    /// The body, read as JSON.
    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.body)
    }

    /// The body as text, for a message.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// No answer came: what was done is unknown.
#[derive(Debug, thiserror::Error)]
#[error("no answer: {0}")]
pub(crate) struct Lost(pub(crate) String);

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, body: &str) -> Answer {
        Answer { status, body: body.into() }
    }

    #[test]
    fn a_problem_has_a_code_and_anything_else_has_none() {
        assert_eq!(answer(409, r#"{"code":"COURSE_FULL"}"#).code().unwrap(), "COURSE_FULL");
        assert_eq!(answer(502, "<html>").code(), None);
        assert_eq!(answer(200, r#"{"courseId":1}"#).code(), None);
    }

    #[test]
    fn only_the_servers_failures_leave_the_outcome_open() {
        assert!(answer(204, "").is_success() && !answer(204, "").is_server_error());
        assert!(!answer(409, "").is_success() && !answer(409, "").is_server_error());
        assert!(answer(503, "").is_server_error());
    }
}
