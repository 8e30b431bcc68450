//! What a caller is told when the answer is no.
//!
//! A [`Problem`] becomes `application/problem+json` (RFC 9457) with a stable
//! code. It keeps what the caller may know apart from what the log needs: a
//! cause is logged and never sent.

use std::fmt::Display;

use serde_json::{Map, Value, json};

/// A way to refuse: its status, its stable code, its title.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// HTTP status.
    pub status: u16,
    /// Stable code, upper snake case. Clients switch on it.
    pub code: &'static str,
    /// One sentence for people.
    pub title: &'static str,
}

impl Kind {
    /// A kind of problem.
    pub const fn new(status: u16, code: &'static str, title: &'static str) -> Self {
        Self { status, code, title }
    }
}

/// The request is malformed or out of range.
pub const INVALID_REQUEST: Kind = Kind::new(400, "INVALID_REQUEST", "The request is not valid.");
/// No token, or one that does not hold.
pub const UNAUTHENTICATED: Kind =
    Kind::new(401, "UNAUTHENTICATED", "A valid bearer token is required.");
/// The caller may not do this.
pub const FORBIDDEN: Kind = Kind::new(403, "FORBIDDEN", "You may not do this.");
/// No operation has this method and path.
pub const ROUTE_NOT_FOUND: Kind = Kind::new(404, "ROUTE_NOT_FOUND", "There is no such operation.");
/// The key was used before, for another request.
pub const IDEMPOTENCY_KEY_REUSED: Kind = Kind::new(
    409,
    "IDEMPOTENCY_KEY_REUSED",
    "This Idempotency-Key was used before, for another request.",
);
/// The thing was changed since the caller saw it.
pub const VERSION_MISMATCH: Kind = Kind::new(
    412,
    "VERSION_MISMATCH",
    "It was changed since: read it again, and send the ETag that it has now.",
);
/// The body is larger than any operation takes.
pub const BODY_TOO_LARGE: Kind = Kind::new(413, "BODY_TOO_LARGE", "The body is too large.");
/// The caller asks far more often than it was told to.
pub const TOO_MANY_REQUESTS: Kind =
    Kind::new(429, "TOO_MANY_REQUESTS", "You ask too often: wait as long as you were told.");
/// A failure of ours; the log has the cause.
pub const INTERNAL: Kind = Kind::new(500, "INTERNAL", "Something went wrong on our side.");
/// Throttled or contended past the budget, or the outcome is unknown.
pub const BUSY: Kind =
    Kind::new(503, "BUSY", "Too busy to answer for certain. Send the same request again.");

/// Every kind of problem that is not a rule of one system.
pub const KINDS: &[Kind] = &[
    INVALID_REQUEST,
    UNAUTHENTICATED,
    FORBIDDEN,
    ROUTE_NOT_FOUND,
    IDEMPOTENCY_KEY_REUSED,
    VERSION_MISMATCH,
    BODY_TOO_LARGE,
    TOO_MANY_REQUESTS,
    INTERNAL,
    BUSY,
];

/// A refusal or failure, ready to be answered.
#[derive(Debug)]
pub struct Problem {
    kind: Kind,
    detail: Option<String>,
    fields: Map<String, Value>,
    retry_after_s: Option<u32>,
    cause: Option<String>,
}

impl From<Kind> for Problem {
    fn from(kind: Kind) -> Self {
        Self { kind, detail: None, fields: Map::new(), retry_after_s: None, cause: None }
    }
}

impl Problem {
    /// One field of the request is wrong, and why.
    pub fn invalid(field: impl Into<String>, message: impl Display) -> Self {
        Self::invalid_fields([(field.into(), message.to_string())])
    }

    /// Several fields of the request are wrong.
    pub fn invalid_fields(errors: impl IntoIterator<Item = (String, String)>) -> Self {
        let errors: Vec<(String, String)> =
            errors.into_iter().map(|(field, message)| (field, shorten(message))).collect();
        let detail = errors.iter().map(|(field, message)| format!("{field}: {message}"));
        let detail = detail.collect::<Vec<_>>().join("; ");
        let errors: Vec<Value> = errors
            .iter()
            .map(|(field, message)| json!({ "field": field, "message": message }))
            .collect();
        Self::from(INVALID_REQUEST).detail(detail).with("errors", errors)
    }

    /// A failure of ours. `cause` goes to the log and to nobody else.
    pub fn internal(cause: impl Display) -> Self {
        Self::from(INTERNAL).caused_by(cause)
    }

    /// Throttled, contended or unknown past the budget; the same request may
    /// be sent again.
    pub fn busy(cause: impl Display) -> Self {
        Self { retry_after_s: Some(1), ..Self::from(BUSY).caused_by(cause) }
    }

    /// Says more to the caller than the title does.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Adds a field that helps the caller.
    #[must_use]
    pub fn with(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.fields.insert(field.to_owned(), value.into());
        self
    }

    /// Says after how many seconds asking again makes sense.
    #[must_use]
    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.retry_after_s = Some(seconds);
        self
    }

    /// Says to the log why.
    #[must_use]
    pub fn caused_by(mut self, cause: impl Display) -> Self {
        self.cause = Some(cause.to_string());
        self
    }

    /// What kind it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// What the caller is told.
    pub fn detail_or_title(&self) -> &str {
        self.detail.as_deref().unwrap_or(self.kind.title)
    }

    /// What the log should say beside the code.
    pub fn cause(&self) -> Option<&str> {
        self.cause.as_deref()
    }

    /// Seconds after which asking again makes sense.
    pub fn retry_after_s(&self) -> Option<u32> {
        self.retry_after_s
    }

    /// The body that the caller gets.
    pub fn to_json(&self, request_id: &str) -> Value {
        let mut body = self.fields.clone();
        let kebab = self.kind.code.to_lowercase().replace('_', "-");
        body.insert("type".into(), format!("urn:hotseat:problem:{kebab}").into());
        body.insert("title".into(), self.kind.title.into());
        body.insert("status".into(), self.kind.status.into());
        body.insert("code".into(), self.kind.code.into());
        body.insert("detail".into(), self.detail_or_title().into());
        body.insert("requestId".into(), request_id.into());
        Value::Object(body)
    }
}

/// Parsers quote what they could not read, which may be a megabyte.
fn shorten(message: String) -> String {
    const MOST: usize = 200;
    if message.chars().count() <= MOST {
        return message;
    }
    message.chars().take(MOST).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_body_has_the_code_and_never_the_cause() {
        let problem = Problem::internal("password=hunter2 at 10.0.0.1");
        let body = problem.to_json("r-1");
        assert_eq!(body["type"], "urn:hotseat:problem:internal");
        assert_eq!(body["status"], 500);
        assert_eq!(body["code"], "INTERNAL");
        assert_eq!(body["requestId"], "r-1");
        assert!(!body.to_string().contains("hunter2"));
        assert_eq!(problem.cause(), Some("password=hunter2 at 10.0.0.1"));
    }

    #[test]
    fn helping_fields_cannot_replace_the_standard_ones() {
        let body = Problem::from(FORBIDDEN).with("status", 200).with("opensAt", "x").to_json("r");
        assert_eq!(body["status"], 403);
        assert_eq!(body["opensAt"], "x");
    }

    #[test]
    fn a_long_message_is_cut_between_characters() {
        let body = Problem::invalid("name", "é".repeat(100_000)).to_json("r");
        let message = body["errors"][0]["message"].as_str().unwrap();
        assert_eq!(message.chars().count(), 201);
    }
}
