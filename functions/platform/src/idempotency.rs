//! `Idempotency-Key`: the first answer again for a request that is repeated.
//!
//! One more item goes into the transaction that does the work: who asked, on
//! which route, under which key, with a hash of the request and the answer. A
//! repeat is refused by that item's condition, and the item holds what to say.

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::hmac;
use base64::Engine;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::auth::Caller;
use crate::clock::Instant;
use crate::http::{self, Reply, Request};
use crate::problem::{IDEMPOTENCY_KEY_REUSED, Problem};
use crate::table::{self, Item, Key, Write, n};

/// How long an answer is kept, in milliseconds.
const KEPT_MS: i64 = 24 * 60 * 60 * 1000;

/// A request that bears an `Idempotency-Key`.
#[derive(Clone, Debug)]
pub struct Idempotency {
    key: Key,
    request_hash: String,
}

/// The answer that was given, as the table keeps it.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    request_hash: String,
    status: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    location: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<u64>,
    answer: String,
    expires_at_s: i64,
}

impl Idempotency {
    /// Reads the header of `request` on `route` (the name of its function).
    /// Refuses a key that is not 1 to 128 printable ASCII characters.
    pub fn of(request: &Request, caller: &Caller, route: &str) -> Result<Option<Self>, Problem> {
        Self::new(request, &caller.member_id, route, |content| digest(&SHA256, content))
    }

    /// Likewise, for a request from somebody who is no member yet. Such keys
    /// share one namespace, which no member's reach into. The hash is keyed
    /// with `secret`, since the body may hold what can be guessed: a password.
    pub fn of_stranger(
        request: &Request,
        route: &str,
        secret: &hmac::Key,
    ) -> Result<Option<Self>, Problem> {
        Self::new(request, "", route, |content| hmac::sign(secret, content))
    }

    fn new<H: AsRef<[u8]>>(
        request: &Request,
        owner: &str,
        route: &str,
        hash: impl FnOnce(&[u8]) -> H,
    ) -> Result<Option<Self>, Problem> {
        if !request.headers().contains_key("idempotency-key") {
            return Ok(None);
        }
        let key = http::header(request, "idempotency-key").unwrap_or_default();
        let is_printable = key.bytes().all(|b| (b' '..=b'~').contains(&b));
        if !(1..=128).contains(&key.len()) || !is_printable {
            let message = "expected 1 to 128 printable ASCII characters";
            return Err(Problem::invalid("Idempotency-Key", message));
        }
        // A member's id is never empty; it and the route hold no `#`, so the key cannot reach into them.
        let pk = format!("IDEMPOTENCY#{owner}#{route}#{key}");
        let request_hash = BASE64_STANDARD_NO_PAD.encode(hash(&content(request)?));
        Ok(Some(Self { key: Key::new(pk, "IDEMPOTENCY"), request_hash }))
    }

    /// Where the answer is kept.
    pub fn key(&self) -> Key {
        self.key.clone()
    }

    /// The write that keeps `reply`, refused while an answer is kept already.
    pub fn write(&self, reply: &Reply, now: Instant) -> Result<Write, Problem> {
        let kept = Kept {
            request_hash: self.request_hash.clone(),
            status: reply.status(),
            location: reply.location().map(str::to_owned),
            version: reply.version(),
            answer: reply.body().unwrap_or(&Value::Null).to_string(),
            expires_at_s: now.plus_millis(KEPT_MS).as_seconds(),
        };
        let item = table::item(self.key(), &kept)?;
        let write = Write::put(item).when("(attribute_not_exists(pk) OR expires_at_s <= :now)");
        Ok(write.bind(":now", n(now.as_seconds())))
    }

    /// The kept answer again, if it was to this very request and is not too
    /// old; `None` if it is too old.
    pub fn replay(&self, item: Item, now: Instant) -> Result<Option<Reply>, Problem> {
        let kept: Kept = table::read(item)?;
        if kept.expires_at_s <= now.as_seconds() {
            return Ok(None);
        }
        if kept.request_hash != self.request_hash {
            return Err(IDEMPOTENCY_KEY_REUSED.into());
        }
        let answer: Value = serde_json::from_str(&kept.answer).map_err(Problem::internal)?;
        let reply = Reply::kept(kept.status, kept.location, &answer)?;
        Ok(Some(match kept.version {
            Some(version) => reply.etag(version),
            None => reply,
        }))
    }
}

/// Path and body. JSON that differs only in white space or in the order of its
/// fields is the same request.
fn content(request: &Request) -> Result<Vec<u8>, Problem> {
    let body = http::body_bytes(request)?;
    let canonical = serde_json::from_slice::<Value>(body).map(|json| json.to_string());
    let mut content = request.uri().path().as_bytes().to_vec();
    content.push(0);
    content.extend_from_slice(canonical.as_ref().map_or(body, String::as_bytes));
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::Role;

    fn request(key: &str, body: &str) -> Request {
        let mut request = Request::new(body.into());
        request.headers_mut().insert("idempotency-key", key.parse().unwrap());
        request
    }

    fn read(key: &str, body: &str) -> Result<Option<Idempotency>, Problem> {
        let caller = Caller { member_id: "m-1".into(), role: Role::Member };
        Idempotency::of(&request(key, body), &caller, "enroll")
    }

    #[test]
    fn the_same_json_written_differently_is_the_same_request() {
        let one = read("k", r#"{"a": 1, "b": 2}"#).unwrap().unwrap();
        let same = read("k", r#"{"b":2,"a":1}"#).unwrap().unwrap();
        let other = read("k", r#"{"a":1,"b":3}"#).unwrap().unwrap();
        assert_eq!(one.request_hash, same.request_hash);
        assert_ne!(one.request_hash, other.request_hash);
    }

    #[test]
    fn strangers_keys_are_apart_from_members_and_their_hash_needs_the_secret() {
        let secret = |bytes: &[u8]| hmac::Key::new(hmac::HMAC_SHA256, bytes);
        let stranger = |bytes| {
            let request = request("k", "{}");
            Idempotency::of_stranger(&request, "sign-up", &secret(bytes)).unwrap().unwrap()
        };
        let (one, other) = (stranger(b"one"), stranger(b"other"));
        assert_eq!(one.key(), Key::new("IDEMPOTENCY##sign-up#k", "IDEMPOTENCY"));
        assert_eq!(one.request_hash, stranger(b"one").request_hash);
        assert_ne!(one.request_hash, other.request_hash);
        let members = read("k", "{}").unwrap().unwrap();
        assert_ne!(members.request_hash, one.request_hash);
    }

    #[test]
    fn a_key_that_is_empty_or_too_long_is_refused() {
        assert!(read("", "{}").is_err());
        assert!(read(&"k".repeat(128), "{}").is_ok());
        assert!(read(&"k".repeat(129), "{}").is_err());
    }

    #[test]
    fn a_kept_answer_is_given_again_until_it_expires() {
        let now = Instant::from_millis(1_000_000);
        let idempotency = read("k", "{}").unwrap().unwrap();
        let reply = Reply::created("/things/1", &serde_json::json!({"id": 1})).unwrap().etag(1);
        let kept = Kept {
            request_hash: idempotency.request_hash.clone(),
            status: 201,
            location: Some("/things/1".into()),
            version: Some(1),
            answer: r#"{"id":1}"#.into(),
            expires_at_s: 2_000,
        };
        let item: Item = serde_dynamo::to_item(kept).unwrap();
        assert_eq!(idempotency.replay(item.clone(), now).unwrap(), Some(reply));
        assert_eq!(idempotency.replay(item, now.plus_millis(1_000_000)).unwrap(), None);
    }
}
