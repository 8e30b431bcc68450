//! `ClientRequestToken`: a transaction that is sent twice is done once.
//!
//! The embedded database knows tokens too, but looks at every token of the
//! last ten minutes on each transaction. Here a transaction looks at its own
//! only, and old ones leave from the front of a queue.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Bytes;
use serde_json::Value;
use tokio::time::Instant;

/// How long a token is remembered
/// ([source](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html#DDB-TransactWriteItems-request-ClientRequestToken)).
const REMEMBERED: Duration = Duration::from_secs(10 * 60);

/// The tokens of transactions that run, or that succeeded a short while ago.
#[derive(Debug, Default)]
pub(super) struct Tokens(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    by_token: HashMap<Arc<str>, Entry>,
    /// In the order in which they were done.
    done: VecDeque<(Instant, Arc<str>)>,
}

#[derive(Debug)]
struct Entry {
    payload: u64,
    /// What was answered; `None` while the transaction runs.
    response: Option<Bytes>,
}

/// What a token says about a transaction.
#[derive(Debug)]
pub(super) enum Claim<'a> {
    /// It is new, and nobody else runs it while this is held.
    New(Running<'a>),
    /// It was done; this was the answer.
    Done(Bytes),
    /// The same token came with another payload before.
    Mismatch,
    /// It runs at this moment.
    InProgress,
}

/// A transaction that runs under a token. Dropped without
/// [`Running::succeeded`] it has failed, and the token is free again.
#[derive(Debug)]
pub(super) struct Running<'a> {
    tokens: &'a Tokens,
    token: Arc<str>,
}

impl Tokens {
    /// Claims `token` for a transaction with the hash `payload`.
    pub(super) fn claim(&self, token: &str, payload: u64, now: Instant) -> Claim<'_> {
        let mut known = self.known();
        known.forget_before(now);
        match known.by_token.get(token) {
            Some(entry) if entry.payload != payload => Claim::Mismatch,
            Some(Entry { response, .. }) => response.clone().map_or(Claim::InProgress, Claim::Done),
            None => {
                let token: Arc<str> = token.into();
                let entry = Entry { payload, response: None };
                known.by_token.insert(Arc::clone(&token), entry);
                Claim::New(Running { tokens: self, token })
            }
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn forget_before(&mut self, now: Instant) {
        while let Some((done_at, token)) = self.done.front() {
            if now.duration_since(*done_at) < REMEMBERED {
                break;
            }
            self.by_token.remove(token);
            self.done.pop_front();
        }
    }
}

impl Running<'_> {
    /// Remembers what was answered.
    pub(super) fn succeeded(self, response: Bytes, now: Instant) {
        let mut known = self.tokens.known();
        if let Some(entry) = known.by_token.get_mut(&self.token) {
            entry.response = Some(response);
        }
        known.done.push_back((now, Arc::clone(&self.token)));
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let mut known = self.tokens.known();
        let failed = known.by_token.get(&self.token);
        if failed.is_some_and(|entry| entry.response.is_none()) {
            known.by_token.remove(&self.token);
        }
    }
}

/// A hash of a transaction's items, whatever order their fields come in.
pub(super) fn payload_hash(request: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    request["TransactItems"].hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(tokens: &Tokens, token: &str, payload: u64, at: Instant) {
        let Claim::New(running) = tokens.claim(token, payload, at) else {
            panic!("{token} is known");
        };
        running.succeeded(Bytes::from_static(b"{}"), at);
    }

    #[tokio::test]
    async fn a_success_is_answered_again_for_ten_minutes() {
        let (tokens, start) = (Tokens::default(), Instant::now());
        done(&tokens, "t", 1, start);
        let later = start + REMEMBERED - Duration::from_millis(1);
        assert!(matches!(tokens.claim("t", 1, later), Claim::Done(body) if body == "{}"));
        assert!(matches!(tokens.claim("t", 2, later), Claim::Mismatch));
        assert!(matches!(tokens.claim("t", 2, start + REMEMBERED), Claim::New(_)));
        assert!(tokens.known().done.is_empty());
    }

    #[tokio::test]
    async fn a_failure_is_not_remembered() {
        let (tokens, now) = (Tokens::default(), Instant::now());
        drop(tokens.claim("t", 1, now));
        assert!(matches!(tokens.claim("t", 2, now), Claim::New(_)));
        assert!(tokens.known().by_token.is_empty());
    }

    #[tokio::test]
    async fn a_transaction_runs_once_at_a_time() {
        let (tokens, now) = (Tokens::default(), Instant::now());
        let first = tokens.claim("t", 1, now);
        assert!(matches!(tokens.claim("t", 1, now), Claim::InProgress));
        assert!(matches!(tokens.claim("t", 2, now), Claim::Mismatch));
        assert!(matches!(tokens.claim("u", 1, now), Claim::New(_)));
        drop(first);
    }

    #[test]
    fn a_payload_is_its_items_in_any_order_of_fields() {
        let hash = |json: &str| payload_hash(&serde_json::from_str(json).unwrap());
        let one = hash(r#"{"TransactItems": [{"a": 1, "b": 2}], "ClientRequestToken": "t"}"#);
        assert_eq!(one, hash(r#"{"TransactItems":[{"b":2,"a":1}]}"#));
        assert_ne!(one, hash(r#"{"TransactItems":[{"b":1,"a":2}]}"#));
    }
}
