//! Sessions, and the refresh tokens that keep them going.
//!
//! Token n of a session is a text that names both, with an HMAC. The session
//! holds the number of its newest token, no token. Whoever exchanges the newest
//! gets the next. The one directly before it is taken for a while, for its answer
//! may have been lost, and yields the same again. Whoever brings it after that, or
//! an older one at any time, has stolen it or was robbed, and the session is over
//! ([reuse detection](https://www.rfc-editor.org/rfc/rfc9700#section-4.14.2)).

use platform::clock::Instant;
use platform::secrets::Secret;
use platform::signed::Signer;
use platform::table::{Item, Write, item, n};
use platform::{App, Problem};
use serde::{Deserialize, Serialize};

use crate::keys;
use crate::member::Login;
use crate::private::Private;

/// How long a session lasts after log-in, however often it is refreshed, in
/// milliseconds: 30 days, after which one should log in again
/// ([NIST SP 800-63B, 4.1.3](https://pages.nist.gov/800-63-3/sp800-63b.html#aal1reauth)).
pub const LIFETIME_MS: i64 = 30 * 24 * 60 * 60 * 1000;
/// How long the token directly before the newest yields the newest again, in
/// milliseconds. An older one does not, however young it is.
pub const REPEAT_MS: i64 = 30 * 1000;

/// A refresh token, read or yet to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefreshToken {
    /// Whose session.
    pub member_id: String,
    /// Which session.
    pub session_id: String,
    /// Which token of the session, from 1.
    pub number: u64,
}

/// What refresh tokens are made and checked with.
pub struct RefreshKeys(Signer);

impl RefreshKeys {
    /// The keys of this App, from the secret `REFRESH_KEYS`.
    pub async fn of(app: &App) -> Result<Self, Problem> {
        Self::read_secret(&app.secret("REFRESH_KEYS").await?)
    }

    /// The keys in a secret.
    pub fn read_secret(secret: &Secret) -> Result<Self, Problem> {
        Signer::of(secret, "refresh").map(Self)
    }

    /// The text of a token.
    pub fn write(&self, token: &RefreshToken) -> Private<String> {
        let content = format!("{}#{}#{}", token.member_id, token.session_id, token.number);
        self.0.write(content.as_bytes()).into()
    }

    /// The token of a text, if it is one of ours.
    pub fn read(&self, text: &str) -> Option<RefreshToken> {
        let content = String::from_utf8(self.0.read(text)?).ok()?;
        let (member_id, rest) = content.split_once('#')?;
        let (session_id, number) = rest.split_once('#')?;
        let (member_id, session_id) = (member_id.to_owned(), session_id.to_owned());
        Some(RefreshToken { member_id, session_id, number: number.parse().ok()? })
    }
}

/// A session, as the table holds it. One that has ended is not there any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Whose.
    pub member_id: String,
    /// Its id.
    pub session_id: String,
    /// The number of the newest token.
    pub newest: u64,
    /// When the newest token was made, out of the one before.
    pub exchanged_at_ms: i64,
    /// The password that opened it, by the member's `password_version`.
    pub password_version: u64,
    /// When it ends at the latest.
    pub ends_at_ms: i64,
    expires_at_s: i64,
}

/// What a token of a session is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is the newest: for the next.
    Exchange,
    /// It was exchanged just now: for the newest, once more.
    Repeat,
    /// It was exchanged too long ago: the session must end.
    Reused,
    /// The session is over.
    Ended,
}

impl Session {
    /// A session that `login` opens now, with the token number 1.
    pub fn start(session_id: String, login: &Login, now: Instant) -> Self {
        let ends_at = now.plus_millis(LIFETIME_MS);
        Self {
            member_id: login.member_id.clone(),
            session_id,
            newest: 1,
            exchanged_at_ms: now.as_millis(),
            password_version: login.password_version,
            ends_at_ms: ends_at.as_millis(),
            expires_at_s: ends_at.as_seconds() + 1,
        }
    }

    /// The item, with its key.
    pub fn to_item(&self) -> Result<Item, Problem> {
        item(keys::session(&self.member_id, &self.session_id), self)
    }

    /// The newest token.
    pub fn token(&self) -> RefreshToken {
        let (member_id, session_id) = (self.member_id.clone(), self.session_id.clone());
        RefreshToken { member_id, session_id, number: self.newest }
    }

    /// What token `number` is good for at `now`.
    pub fn judge(&self, number: u64, now: Instant) -> Verdict {
        if now.as_millis() >= self.ends_at_ms || number > self.newest {
            return Verdict::Ended;
        }
        let age_ms = now.as_millis() - self.exchanged_at_ms;
        match self.newest - number {
            0 => Verdict::Exchange,
            1 if age_ms < REPEAT_MS => Verdict::Repeat,
            _ => Verdict::Reused,
        }
    }

    /// The session after its newest token was exchanged.
    #[must_use]
    pub fn exchanged(&self, now: Instant) -> Self {
        Self { newest: self.newest + 1, exchanged_at_ms: now.as_millis(), ..self.clone() }
    }

    /// The write that exchanges the newest token, if it still is the newest.
    pub fn exchange(&self, now: Instant) -> Write {
        let next = self.exchanged(now);
        let set = "SET newest = :next, exchanged_at_ms = :now";
        Write::update(keys::session(&self.member_id, &self.session_id), set)
            .when("newest = :newest")
            .bind(":next", n(next.newest))
            .bind(":now", n(next.exchanged_at_ms))
            .bind(":newest", n(self.newest))
    }
}

/// The write that ends the session of a token, if it has not ended.
pub fn end(token: &RefreshToken) -> Write {
    Write::delete(keys::session(&token.member_id, &token.session_id))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "0123456789abcdef0123456789abcdef";
    const NEW: &str = "fedcba9876543210fedcba9876543210";

    fn keys(secret: &str) -> RefreshKeys {
        RefreshKeys::read_secret(&secret.into()).unwrap()
    }

    fn token() -> RefreshToken {
        RefreshToken { member_id: "m-1".into(), session_id: "s-1".into(), number: 7 }
    }

    #[test]
    fn a_token_can_be_read_back() {
        let text = keys(OLD).write(&token());
        assert_eq!(keys(OLD).read(text.expose()), Some(token()));
        assert_eq!(&text, &keys(OLD).write(&token()), "the same again");
    }

    #[test]
    fn a_token_of_the_old_key_is_read_until_the_key_is_gone() {
        let old = keys(OLD).write(&token());
        assert_eq!(keys(&format!("{NEW} {OLD}")).read(old.expose()), Some(token()));
        assert_eq!(keys(NEW).read(old.expose()), None);
    }

    #[test]
    fn what_is_signed_but_names_no_token_is_none() {
        let signer = Signer::of(&OLD.into(), "refresh").unwrap();
        for bad in ["", "m-1", "m-1#s-1", "m-1#s-1#x", "m-1#s-1#-1"] {
            assert_eq!(keys(OLD).read(&signer.write(bad.as_bytes())), None, "{bad:?}");
        }
        for bad in ["", ".", "x", "\0"] {
            assert_eq!(keys(OLD).read(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn the_newest_token_is_exchanged_the_one_before_repeats_for_thirty_seconds() {
        let hash = serde_json::from_str(r#""$""#).unwrap();
        let login = Login { member_id: "m-1".into(), password_hash: hash, password_version: 1 };
        let start = Instant::from_millis(1_000);
        let session = Session::start("s-1".into(), &login, start).exchanged(start);
        let verdict = |number, ms| session.judge(number, start.plus_millis(ms));
        assert_eq!(verdict(2, 0), Verdict::Exchange);
        assert_eq!(verdict(2, LIFETIME_MS - 1), Verdict::Exchange);
        assert_eq!(verdict(2, LIFETIME_MS), Verdict::Ended);
        assert_eq!(verdict(1, REPEAT_MS - 1), Verdict::Repeat);
        assert_eq!(verdict(1, REPEAT_MS), Verdict::Reused);
        assert_eq!(verdict(0, 0), Verdict::Reused);
        assert_eq!(verdict(3, 0), Verdict::Ended);
    }
}
