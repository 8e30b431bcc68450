//! Why identity says no, one variant per thing that a caller can act on.

use platform::problem::{Kind, Problem};

/// A rule that a request breaks.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Somebody else has the log-in id.
    LoginTaken,
    /// There is no such log-in, or the password is another. Which, nobody is told.
    BadCredentials,
    /// Too many attempts failed.
    LoginLocked {
        /// Seconds until the next attempt is taken.
        retry_after_s: u32,
    },
    /// The session is over, or the token never was one of ours.
    SessionEnded,
    /// There is no such member.
    MemberNotFound,
}

const LOGIN_TAKEN: Kind = Kind::new(409, "LOGIN_TAKEN", "That log-in id is taken.");
const BAD_CREDENTIALS: Kind =
    Kind::new(401, "BAD_CREDENTIALS", "The log-in id or the password is wrong.");
const LOGIN_LOCKED: Kind =
    Kind::new(429, "LOGIN_LOCKED", "Too many attempts failed. Try again later.");
const SESSION_ENDED: Kind = Kind::new(401, "SESSION_ENDED", "The session is over: log in again.");
const MEMBER_NOT_FOUND: Kind = Kind::new(404, "MEMBER_NOT_FOUND", "There is no such member.");

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::LoginTaken => LOGIN_TAKEN.into(),
            Refusal::BadCredentials => BAD_CREDENTIALS.into(),
            Refusal::LoginLocked { retry_after_s } => {
                Self::from(LOGIN_LOCKED).retry_after(retry_after_s)
            }
            Refusal::SessionEnded => SESSION_ENDED.into(),
            Refusal::MemberNotFound => MEMBER_NOT_FOUND.into(),
        }
    }
}

/// An item that should be there, or should be readable, and is not.
pub(crate) fn broken(what: &str) -> Problem {
    Problem::internal(format!("{what} is missing or broken"))
}
