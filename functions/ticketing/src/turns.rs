//! Whose turn it is: a matter of the match and the clock alone.
//!
//! From the opening of its sale on a match gives turns, as many each second as
//! it admits, evenly. Whoever enters the queue gets one that is still to come
//! (see [`lane`](crate::lane)), and is admitted when it has come. So nobody has
//! to move a queue on, no second has more turns than the rate, and when
//! somebody's turn comes is known from the start.
//!
//! A changed rate holds a little later, when every environment knows of it. So
//! all count alike at any time, and no turn that has come is ever to come again.

use platform::clock::Instant;
use serde::{Deserialize, Serialize};

use crate::matches::{LIFETIME_MS, Match};

/// How long after it was asked for a rate holds, in milliseconds: by then nobody
/// goes by an older match. The second is for the write; if that takes longer,
/// because it is throttled, environments count apart for as long.
pub const CHANGE_MS: i64 = LIFETIME_MS + 1_000;

/// A turn is a thousand of these, so that a rate gives whole ones each
/// millisecond.
const MILLI: u64 = 1_000;

/// A rate that holds from some moment on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pace {
    /// From when.
    from_ms: i64,
    /// The turns that had come by then, in thousandths.
    turns_milli: u64,
    /// Turns each second.
    per_second: u32,
}

impl Pace {
    /// The turns that have come at a moment, in thousandths.
    fn turns_milli(&self, at_ms: i64) -> u64 {
        let elapsed_ms = u64::try_from(at_ms.saturating_sub(self.from_ms)).unwrap_or(0);
        self.turns_milli.saturating_add(elapsed_ms.saturating_mul(self.per_second.into()))
    }

    /// When that many thousandths have come.
    fn reaches_at_ms(&self, turns_milli: u64) -> i64 {
        let left_milli = turns_milli.saturating_sub(self.turns_milli);
        let after_ms = left_milli.div_ceil(u64::from(self.per_second).max(1));
        self.from_ms.saturating_add(i64::try_from(after_ms).unwrap_or(i64::MAX))
    }
}

impl Match {
    /// The rate from the opening on, unless it was changed since.
    fn first_pace(&self) -> Pace {
        let (from_ms, per_second) = (self.sale_opens_at_ms, self.admit_per_second);
        Pace { from_ms, turns_milli: 0, per_second }
    }

    /// The rate that holds at a moment, and those that come after it.
    fn paces_from(&self, at_ms: i64) -> Vec<Pace> {
        let holding = self.paces.iter().rposition(|pace| pace.from_ms <= at_ms);
        match self.paces.get(holding.unwrap_or(0)..) {
            Some(paces) if !paces.is_empty() => paces.to_vec(),
            _ => vec![self.first_pace()],
        }
    }

    fn turns_milli(&self, at_ms: i64) -> u64 {
        self.paces_from(at_ms).first().map_or(0, |pace| pace.turns_milli(at_ms))
    }

    /// The turns that have come at `now`.
    pub fn turns(&self, now: Instant) -> u64 {
        self.turns_milli(now.as_millis()) / MILLI
    }

    /// How long it is until a turn comes, in milliseconds: 0 if it has come.
    pub fn wait_ms(&self, turn: u64, now: Instant) -> u64 {
        let (turn_milli, now_ms) = (turn.saturating_mul(MILLI), now.as_millis());
        let paces = self.paces_from(now_ms);
        let its = paces.iter().rfind(|pace| pace.turns_milli < turn_milli).or(paces.first());
        let comes_at_ms = its.map_or(now_ms, |pace| pace.reaches_at_ms(turn_milli));
        u64::try_from(comes_at_ms.saturating_sub(now_ms)).unwrap_or(0)
    }

    /// The rates of this match once it is changed to `per_second` at `now`.
    pub fn paces_to(&self, per_second: u32, now: Instant) -> Vec<Pace> {
        if per_second == self.admit_per_second {
            return self.paces.clone();
        }
        let mut paces = self.paces_from(now.as_millis());
        let soon_ms = now.plus_millis(CHANGE_MS).as_millis();
        let from_ms = paces.iter().map(|pace| pace.from_ms).fold(soon_ms, i64::max);
        paces.push(Pace { from_ms, turns_milli: self.turns_milli(from_ms), per_second });
        paces
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matches::tests::a_match;

    const OPENS_AT_MS: i64 = 1_000_000;

    fn at(ms: i64) -> Instant {
        Instant::from_millis(OPENS_AT_MS + ms)
    }

    fn of_rate(per_second: u32) -> Match {
        Match { admit_per_second: per_second, sale_opens_at_ms: OPENS_AT_MS, ..a_match() }
    }

    fn changed(seen: &Match, per_second: u32, at_ms: i64) -> Match {
        let paces = seen.paces_to(per_second, at(at_ms));
        Match { paces, admit_per_second: per_second, ..seen.clone() }
    }

    /// The most turns that come in one second, of those that begin in `from_ms`.
    fn most_a_second(of: &Match, from_ms: std::ops::Range<i64>) -> u64 {
        let turns = |ms| of.turns(at(ms));
        from_ms.map(|ms| turns(ms + 999) - turns(ms - 1)).max().unwrap()
    }

    #[test]
    fn turns_come_evenly_from_the_opening_on() {
        let turns = |per_second, ms| of_rate(per_second).turns(at(ms));
        assert_eq!([-1, 0, 333, 334, 999, 1_000].map(|ms| turns(3, ms)), [0, 0, 0, 1, 2, 3]);
        assert_eq!([0, 1, 10].map(|ms| turns(100_000, ms)), [0, 100, 1_000]);
        assert_eq!(turns(1, 3_600_000), 3_600);
    }

    #[test]
    fn no_second_has_more_turns_than_the_rate_and_each_has_that_many() {
        for per_second in [1, 2, 3, 7, 15, 16, 17, 20, 99, 101, 999, 1_001, 100_000] {
            let of = of_rate(per_second);
            assert_eq!(most_a_second(&of, 0..2_100), u64::from(per_second));
            assert_eq!(of.turns(at(60_000)), u64::from(per_second) * 60);
        }
    }

    #[test]
    fn a_changed_rate_holds_when_everybody_knows_of_it_and_no_turn_is_lost() {
        for (before, after) in [(20, 2), (2, 20), (16, 5), (1_000, 999), (3, 100_000)] {
            let seen = of_rate(before);
            let of = changed(&seen, after, 10_300);
            let holds_ms = 10_300 + CHANGE_MS;
            for ms in [-5, 0, 10_300, holds_ms - 1, holds_ms] {
                assert_eq!(of.turns(at(ms)), seen.turns(at(ms)), "all count alike until then");
            }
            assert!(most_a_second(&of, 0..holds_ms + 3_000) <= u64::from(before.max(after)));
            assert_eq!(most_a_second(&of, holds_ms + 1..holds_ms + 3_000), u64::from(after));
            let due = seen.turns_milli(at(holds_ms).as_millis()) + 60_000 * u64::from(after);
            assert_eq!(of.turns(at(holds_ms + 60_000)), due / 1_000);
        }
    }

    #[test]
    fn rates_may_change_again_at_once_and_before_the_opening() {
        let mut of = of_rate(20);
        for (per_second, at_ms) in [(2, -3_000), (40, -2_999), (5, -2_999), (5, 0), (7, 50_000)] {
            let before = of.clone();
            of = changed(&of, per_second, at_ms);
            for ms in at_ms..at_ms + CHANGE_MS {
                assert_eq!(of.turns(at(ms)), before.turns(at(ms)));
            }
        }
        assert_eq!(most_a_second(&of, 57_000..58_000), 7);
        assert!(of.paces.len() <= 3, "what is over is dropped: {:?}", of.paces);
    }

    #[test]
    fn how_long_it_takes_until_a_turn_comes_is_told_to_the_millisecond() {
        let of = changed(&changed(&of_rate(7), 3, 2_000), 50, 4_100);
        for turn in 1..200 {
            for now_ms in [-10, 0, 1_999, 7_999, 8_000, 9_000, 11_000] {
                let wait_ms = of.wait_ms(turn, at(now_ms));
                let comes_ms = now_ms + i64::try_from(wait_ms).unwrap();
                assert!(of.turns(at(comes_ms)) >= turn, "turn {turn} at {now_ms}");
                assert!(wait_ms == 0 || of.turns(at(comes_ms - 1)) < turn, "{turn} at {now_ms}");
            }
        }
        assert!(of_rate(1).wait_ms(u64::MAX, at(0)) > u64::MAX / 4, "no turn is too far away");
    }
}
