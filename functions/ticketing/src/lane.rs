//! The lanes of a match's queue: who enters takes the next turn of one.
//!
//! One item takes about a thousand writes a second, so turns are dealt out to up
//! to sixteen lanes, one after the other: number n of lane l is turn
//! `(n - 1) × lanes + l + 1`, and no two people have the same. A lane is written
//! only when somebody enters: whose turn it is, the clock tells (see
//! [`turns`](crate::turns)).
//!
//! What has passed while nobody was there is over: whoever comes to a lane whose
//! end lies in the past goes on from the present.

use platform::cache::Cache;
use platform::table::{Patience, Write, WriteError, n, read};
use platform::{App, Problem};
use serde::Deserialize;

use crate::ids::MatchId;
use crate::matches::Match;
use crate::{TABLE, keys};

/// One lane. One that nobody has entered is all zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Lane {
    /// The number that was given last.
    #[serde(default)]
    pub tail: u64,
}

/// The turn of a number of a lane.
fn turn(match_: &Match, lane: u32, number: u64) -> u64 {
    let before = number.saturating_sub(1).saturating_mul(match_.lanes.into());
    before.saturating_add(u64::from(lane) + 1)
}

/// The last number of a lane whose turn has come when so many have.
fn passed(match_: &Match, lane: u32, turns: u64) -> u64 {
    let lanes = u64::from(match_.lanes).max(1);
    turns.saturating_add(lanes - 1).saturating_sub(lane.into()) / lanes
}

/// The ends of lanes as this environment saw them last: each may have moved on.
struct Known(Cache<(MatchId, u32), u64>);

impl Default for Known {
    fn default() -> Self {
        Self(Cache::new(10_000, i64::MAX))
    }
}

/// Takes a turn that is still to come. An answer that is lost may have left a
/// turn that nobody has. It passes, and another one is taken, anywhere.
pub async fn enter(app: &App, match_: &Match) -> Result<u64, Problem> {
    let mut patience = Patience::default();
    loop {
        let lane = shortest(app, match_)?;
        match take(app, match_, lane).await {
            Ok(Some(number)) => return Ok(turn(match_, lane, number)),
            Ok(None) | Err(WriteError::Busy(_) | WriteError::Unknown(_))
                if patience.pause(app).await => {}
            Ok(None) => return Err(Problem::busy("the lanes keep moving")),
            Err(error) => return Err(error.into()),
        }
    }
}

/// The lane that is shortest by what this environment knows; any one of several.
/// So lanes stay about even, which matters because the turns of one that has
/// ended pass in vain.
fn shortest(app: &App, match_: &Match) -> Result<u32, Problem> {
    let (known, now) = (app.memory::<Known>(), app.clock.now());
    let begun = match_.turns(now) / u64::from(match_.lanes).max(1);
    let ends = (0..match_.lanes).map(|lane| {
        let end = known.0.get(&(match_.match_id.clone(), lane), now).unwrap_or(0);
        (end.max(begun), app.random_below(1 << 32), lane)
    });
    let (_, _, lane) = ends.min().ok_or_else(|| Problem::internal("a match without lanes"))?;
    Ok(lane)
}

/// Takes the next number of a lane whose turn is still to come. `None` if others
/// came to it meanwhile.
async fn take(app: &App, match_: &Match, lane: u32) -> Result<Option<u64>, WriteError> {
    let table = app.table(TABLE);
    let key = keys::lane(&match_.match_id, lane);
    let passed = passed(match_, lane, match_.turns(app.clock.now()));
    let item = table.add_and_get(key.clone(), "tail", 1).await?;
    let given = read::<Lane>(item).map_err(|_| WriteError::Failed("a lane is no lane".into()))?;
    let taken = if given.tail > passed {
        Some(given.tail)
    } else {
        let next = passed + 1;
        let go_on = Write::update(key, "SET tail = :next").when("tail < :next");
        match table.update(go_on.bind(":next", n(next))).await {
            Ok(()) => Some(next),
            Err(WriteError::Refused(_)) => None,
            Err(error) => return Err(error),
        }
    };
    let end = taken.unwrap_or(passed + 1);
    app.memory::<Known>().0.put((match_.match_id.clone(), lane), app.clock.now(), end);
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::matches::tests::a_match;

    fn of_lanes(lanes: u32) -> Match {
        Match { lanes, ..a_match() }
    }

    #[test]
    fn every_number_of_every_lane_has_a_turn_of_its_own_and_none_is_left_out() {
        for lanes in [1, 2, 5, 16] {
            let of = of_lanes(lanes);
            let turns = (0..lanes).flat_map(|lane| (1..=40).map(move |number| (lane, number)));
            let turns: BTreeSet<u64> =
                turns.map(|(lane, number)| turn(&of, lane, number)).collect();
            assert_eq!(turns, (1..=40 * u64::from(lanes)).collect());
        }
    }

    #[test]
    fn a_number_has_passed_when_its_turn_has_come() {
        for lanes in [1, 2, 5, 16] {
            let of = of_lanes(lanes);
            for turns in 0..100 {
                for lane in 0..lanes {
                    let passed = passed(&of, lane, turns);
                    assert!(passed == 0 || turn(&of, lane, passed) <= turns);
                    assert!(turn(&of, lane, passed + 1) > turns);
                }
            }
        }
    }
}
