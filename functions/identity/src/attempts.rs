//! Attempts to log in, counted before a password is tried.
//!
//! Ten attempts that were not followed by a success lock the log-in for 15
//! minutes from the tenth. The count is one conditional write, so of any number
//! of guesses at the same time ten are tried, whatever the eleventh has found.
//! Log-ins that do not exist are counted and locked alike.

use platform::clock::Instant;
use platform::table::{Write, WriteError, item, n, read};
use platform::{App, Problem};
use serde::{Deserialize, Serialize};

use crate::profile::LoginId;
use crate::refusal::Refusal;
use crate::{TABLE, keys};

/// Attempts without a success that lock a log-in.
pub const MOST: u32 = 10;
/// How long it stays locked, and after how long a failure is forgotten, in
/// milliseconds.
pub const LOCKED_MS: i64 = 15 * 60 * 1000;
/// How long attempts lie in the table, in milliseconds. Only the time in them
/// counts; this is for the sweep.
const KEPT_MS: i64 = 60 * 60 * 1000;

/// Attempts since the last success.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Attempts {
    failures: u32,
    last_at_ms: i64,
    expires_at_s: i64,
}

impl Attempts {
    fn first(now: Instant) -> Self {
        let expires_at_s = now.plus_millis(KEPT_MS).as_seconds();
        Self { failures: 1, last_at_ms: now.as_millis(), expires_at_s }
    }

    /// When they are forgotten, or the lock opens.
    fn until_ms(&self) -> i64 {
        self.last_at_ms + LOCKED_MS
    }

    /// Why no further attempt is taken at `now`, if none is.
    fn locked(&self, now: Instant) -> Option<Refusal> {
        let left_ms = self.until_ms() - now.as_millis();
        let is_locked = self.failures >= MOST && left_ms > 0;
        let retry_after_s = u32::try_from((left_ms + 999) / 1000).unwrap_or(1);
        is_locked.then_some(Refusal::LoginLocked { retry_after_s })
    }
}

/// Counts one more attempt to log in with `id`, or refuses it.
pub async fn count(app: &App, id: &LoginId) -> Result<(), Problem> {
    let now = app.clock.now();
    let mut write = one_more(id, now);
    loop {
        let mut refused = match app.table(TABLE).commit(vec![write]).await {
            Ok(()) => return Ok(()),
            Err(WriteError::Refused(refused)) => refused,
            Err(error) => return Err(error.into()),
        };
        let seen: Option<Attempts> = refused.take(0).flatten().map(read).transpose()?;
        if let Some(locked) = seen.as_ref().and_then(|seen| seen.locked(now)) {
            return Err(locked.into());
        }
        write = match seen {
            Some(seen) if seen.until_ms() <= now.as_millis() => start_over(id, &seen, now)?,
            _ => one_more(id, now), // another was faster to start over, or forgot them
        };
    }
}

/// The write that counts one more, while they are few and not forgotten.
fn one_more(id: &LoginId, now: Instant) -> Write {
    let Attempts { failures, last_at_ms, expires_at_s } = Attempts::first(now);
    let add = "SET last_at_ms = :now, expires_at_s = :expires ADD failures :one";
    Write::update(keys::attempts(id), add)
        .when("(attribute_not_exists(pk) OR (failures < :most AND last_at_ms > :forgotten))")
        .bind(":one", n(failures))
        .bind(":now", n(last_at_ms))
        .bind(":expires", n(expires_at_s))
        .bind(":most", n(MOST))
        .bind(":forgotten", n(last_at_ms - LOCKED_MS))
}

/// The write that counts the first, where those seen are forgotten.
fn start_over(id: &LoginId, seen: &Attempts, now: Instant) -> Result<Write, Problem> {
    let first = item(keys::attempts(id), &Attempts::first(now))?;
    let write = Write::put(first).when("failures = :failures AND last_at_ms = :at");
    Ok(write.bind(":failures", n(seen.failures)).bind(":at", n(seen.last_at_ms)))
}

/// The write that forgets them, after a success.
pub fn forget(id: &LoginId) -> Write {
    Write::delete(keys::attempts(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locked(failures: u32, after_ms: i64) -> Option<Refusal> {
        let attempts = Attempts { failures, ..Attempts::first(Instant::from_millis(1_000)) };
        attempts.locked(Instant::from_millis(1_000 + after_ms))
    }

    #[test]
    fn ten_failures_lock_for_fifteen_minutes_to_the_millisecond() {
        let wait = |retry_after_s| Some(Refusal::LoginLocked { retry_after_s });
        assert_eq!(locked(9, 0), None);
        assert_eq!(locked(10, 0), wait(900));
        assert_eq!(locked(10, 1), wait(900));
        assert_eq!(locked(10, LOCKED_MS - 1), wait(1));
        assert_eq!(locked(10, LOCKED_MS), None);
    }
}
