//! The lanes of a match's queue.
//!
//! Each is a queue of its own: a number that was given last, and a cursor that
//! says up to which number its people are admitted. No job moves the cursor. An
//! environment that is asked for a position reads the lane, at most once a
//! second; if it has not moved for a second, the environment moves it on by what
//! the rate allows in one. So an hour without anybody saves up nothing, and no
//! two moves are less than a second apart.
//!
//! That second is told by the clocks of two environments. One that is behind
//! waits longer; one that is ahead by some time admits that much earlier, once,
//! since the next move is counted from its own time.

use platform::cache::Cache;
use platform::clock::Instant;
use platform::table::{Item, Patience, Read, Write, WriteError, n, read};
use platform::{App, Problem};
use serde::Deserialize;

use crate::ids::MatchId;
use crate::matches::Match;
use crate::ticket::Ticket;
use crate::{TABLE, keys};

/// A cursor moves at most once in this time, by what the rate allows in it, in
/// milliseconds.
const TICK_MS: i64 = 1_000;

/// How much longer than [`TICK_MS`] a lane is remembered, at most and drawn anew
/// each time, in milliseconds. Environments that read a lane together, as they
/// do when a sale opens, do not come back to it together: the first one moves it
/// and the others see that.
const JITTER_MS: u64 = 250;

/// One lane. One that nobody has entered is all zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Lane {
    /// The number that was given last.
    #[serde(default)]
    pub tail: u64,
    /// Numbers up to this are admitted, in thousandths.
    #[serde(default)]
    cursor_milli: u64,
    /// When the cursor moved last.
    #[serde(default)]
    ticked_at_ms: Option<i64>,
}

impl Lane {
    /// The last number that is admitted.
    pub fn cursor(&self) -> u64 {
        self.cursor_milli / 1_000
    }

    /// The position of a number, over all lanes: 0 if it is admitted.
    pub fn position(&self, match_: &Match, number: u64) -> u64 {
        match number.saturating_sub(self.cursor()) {
            0 => 0,
            left => (left - 1) * u64::from(match_.lanes) + 1,
        }
    }

    /// How long it takes until a number is admitted, in milliseconds.
    pub fn wait_ms(&self, match_: &Match, number: u64) -> u64 {
        let left_milli = (number * 1_000).saturating_sub(self.cursor_milli);
        (left_milli * u64::from(match_.lanes)).div_ceil(u64::from(match_.admit_per_second))
    }

    /// The lane one move on, if it has not moved for long enough and somebody
    /// waits in it.
    fn ticked(&self, match_: &Match, now: Instant) -> Option<Self> {
        let elapsed_ms = match self.ticked_at_ms {
            Some(ticked_at_ms) => now.as_millis().saturating_sub(ticked_at_ms),
            None => TICK_MS,
        };
        let end_milli = self.tail * 1_000;
        if elapsed_ms < TICK_MS || self.cursor_milli >= end_milli {
            return None;
        }
        let rate_milli = u64::from(match_.admit_per_second) * TICK_MS.unsigned_abs();
        let moved_milli = self.cursor_milli + rate_milli / u64::from(match_.lanes);
        let cursor_milli = moved_milli.min(end_milli);
        Some(Self { tail: self.tail, cursor_milli, ticked_at_ms: Some(now.as_millis()) })
    }
}

/// Takes the next number of any lane: the lane, and what it is like now. An
/// answer that is lost may have left a number that nobody has. The cursor passes
/// over it, so another one is taken, anywhere.
pub async fn enter(app: &App, match_: &Match) -> Result<(u32, Lane), Problem> {
    let mut patience = Patience::default();
    loop {
        let lane = app.random_below(match_.lanes.into());
        let lane = u32::try_from(lane).map_err(Problem::internal)?;
        let key = keys::lane(&match_.match_id, lane);
        match app.table(TABLE).add_and_get(key, "tail", 1).await {
            Ok(item) => return Ok((lane, read(item)?)),
            Err(WriteError::Busy(_) | WriteError::Unknown(_)) if patience.pause(app).await => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// A lane as it was read, and until when it is not read again.
#[derive(Clone, Copy)]
struct Seen {
    lane: Lane,
    read_at: Instant,
    lifetime_ms: i64,
}

/// Lanes that this environment has read.
struct Known(Cache<(MatchId, u32), Seen>);

impl Default for Known {
    fn default() -> Self {
        Self(Cache::new(10_000, i64::MAX))
    }
}

/// The lane of a ticket as this environment knows it, however old: what it
/// admits stays admitted.
pub fn remembered(app: &App, ticket: &Ticket) -> Option<Lane> {
    let key = (ticket.match_id.clone(), ticket.lane);
    app.memory::<Known>().0.get(&key, app.clock.now()).map(|seen| seen.lane)
}

/// The lane of a ticket, not much older than a second, moved on if it is time.
pub async fn look(app: &App, match_: &Match, ticket: &Ticket) -> Result<Lane, Problem> {
    let key = (ticket.match_id.clone(), ticket.lane);
    let now = app.clock.now();
    if let Some(seen) = app.memory::<Known>().0.get(&key, now) {
        let age_ms = now.as_millis() - seen.read_at.as_millis();
        if (0..seen.lifetime_ms).contains(&age_ms) {
            return Ok(seen.lane);
        }
    }
    let key = keys::lane(&ticket.match_id, ticket.lane);
    let item = app.table(TABLE).get(key, Read::Consistent).await?;
    go_on(app, match_, ticket, item, now).await
}

/// The lane of a ticket that was read at `now`, moved on if it is time.
pub async fn go_on(
    app: &App,
    match_: &Match,
    ticket: &Ticket,
    item: Option<Item>,
    now: Instant,
) -> Result<Lane, Problem> {
    let lane: Lane = item.map(read).transpose()?.unwrap_or_default();
    let lane = match lane.ticked(match_, now) {
        Some(next) => tick(app, ticket, lane, next).await?,
        None => lane,
    };
    let jitter_ms = i64::try_from(app.random_below(JITTER_MS + 1)).unwrap_or_default();
    let seen = Seen { lane, read_at: now, lifetime_ms: TICK_MS + jitter_ms };
    app.memory::<Known>().0.put((ticket.match_id.clone(), ticket.lane), now, seen);
    Ok(lane)
}

/// Moves a lane on from `seen` to `next`, unless another environment was faster.
/// The lane as it is then.
async fn tick(app: &App, ticket: &Ticket, seen: Lane, next: Lane) -> Result<Lane, Problem> {
    let key = keys::lane(&ticket.match_id, ticket.lane);
    let write = Write::update(key, "SET cursor_milli = :cursor, ticked_at_ms = :now")
        .bind(":cursor", n(next.cursor_milli))
        .bind(":now", n(next.ticked_at_ms.unwrap_or_default()));
    let write = match seen.ticked_at_ms {
        Some(at_ms) => write.when("ticked_at_ms = :seen").bind(":seen", n(at_ms)),
        None => write.when("attribute_not_exists(ticked_at_ms)"),
    };
    match app.table(TABLE).update(write).await {
        Ok(()) => Ok(next),
        // Another one's move, or its own after a lost answer: either way it is now.
        Err(WriteError::Refused(mut refused)) => {
            Ok(refused.take(0).flatten().map(read).transpose()?.unwrap_or(seen))
        }
        // Whoever asks next moves it. Nobody's position has changed by that.
        Err(WriteError::Busy(cause) | WriteError::Unknown(cause)) => {
            tracing::warn!(match_id = %ticket.match_id, cause, "a lane was not moved on");
            Ok(seen)
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matches::tests::a_match;

    const NOW_MS: i64 = 1_000_000;

    fn match_of(admit_per_second: u32, lanes: u32) -> Match {
        Match { admit_per_second, lanes, ..a_match() }
    }

    fn lane(tail: u64, cursor_milli: u64, ticked_at_ms: Option<i64>) -> Lane {
        Lane { tail, cursor_milli, ticked_at_ms }
    }

    fn ticked(match_: &Match, lane: Lane, now_ms: i64) -> Option<(u64, Option<i64>)> {
        let next = lane.ticked(match_, Instant::from_millis(now_ms))?;
        assert_eq!(next.tail, lane.tail);
        Some((next.cursor_milli, next.ticked_at_ms))
    }

    #[test]
    fn a_lane_moves_once_a_second_by_its_share_of_the_rate() {
        let match_ = match_of(10, 3);
        let seen = lane(100, 0, Some(NOW_MS));
        assert_eq!(ticked(&match_, seen, NOW_MS + 999), None);
        assert_eq!(ticked(&match_, seen, NOW_MS + 1_000), Some((3_333, Some(NOW_MS + 1_000))));
        let hour_later = NOW_MS + 3_600_000;
        assert_eq!(ticked(&match_, seen, hour_later), Some((3_333, Some(hour_later))));
        assert_eq!(ticked(&match_, lane(100, 0, None), NOW_MS), Some((3_333, Some(NOW_MS))));
    }

    #[test]
    fn a_clock_that_is_behind_moves_nothing() {
        let seen = lane(100, 0, Some(NOW_MS));
        for now_ms in [NOW_MS - 1, NOW_MS - 3_600_000, -1, i64::MIN] {
            assert_eq!(ticked(&match_of(10, 1), seen, now_ms), None);
        }
    }

    #[test]
    fn a_lane_never_moves_past_its_end() {
        let match_ = match_of(10, 2);
        assert_eq!(ticked(&match_, lane(2, 0, None), NOW_MS), Some((2_000, Some(NOW_MS))));
        assert_eq!(ticked(&match_, lane(2, 2_000, None), NOW_MS), None, "nobody waits");
        assert_eq!(ticked(&match_, Lane::default(), NOW_MS), None, "nobody ever came");
    }

    #[test]
    fn each_move_admits_at_most_the_rate_of_the_lane_rounded_up() {
        for (rate, lanes) in [(1, 1), (10, 3), (16, 16), (17, 16), (99, 16), (5, 16), (100_000, 16)]
        {
            let match_ = match_of(rate, lanes);
            let (mut seen, mut admitted) = (lane(u64::from(rate) * 100, 0, None), 0);
            for second in 0..64 {
                let next = seen.ticked(&match_, Instant::from_millis(second * 1_000)).unwrap();
                let most = u64::from(rate.div_ceil(lanes));
                assert!(next.cursor() - seen.cursor() <= most, "{rate} on {lanes}");
                admitted += next.cursor() - seen.cursor();
                seen = next;
            }
            let due = 64 * u64::from(rate) / u64::from(lanes);
            assert!(admitted.abs_diff(due) <= 1, "{rate} on {lanes}: {admitted} of {due}");
        }
    }

    #[test]
    fn a_position_counts_everybody_ahead_in_all_lanes() {
        let (match_, lane) = (match_of(8, 4), lane(50, 10_999, None));
        let position = |number| lane.position(&match_, number);
        assert_eq!([1, 10, 11, 12, 21].map(position), [0, 0, 1, 5, 41]);
        assert_eq!(lane.wait_ms(&match_, 10), 0);
        assert_eq!(lane.wait_ms(&match_, 11), 1, "not yet");
        assert_eq!(lane.wait_ms(&match_, 21), 5_001);
    }
}
