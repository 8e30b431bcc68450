//! What users had, and from when until when at least: a seat that two had at the
//! same moment was given twice.
//!
//! Times are those of this process. Somebody has a seat at the latest when the
//! answer comes, and until its time is over counted from when the request was
//! sent, or until whoever has it begins to give it back.

use std::collections::BTreeMap;

use tokio::time::Instant;

/// Seats that somebody had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    /// Which.
    pub(crate) seats: Vec<String>,
    /// Had them from here on.
    pub(crate) from: Instant,
    /// And until here, at least; for ever, if they were bought.
    pub(crate) until: Option<Instant>,
    /// When it is over at the latest. `None` if it never is.
    pub(crate) over_by: Option<Instant>,
}

impl Claim {
    /// Whether it is for ever.
    pub(crate) fn is_bought(&self) -> bool {
        self.until.is_none()
    }

    fn overlaps(&self, other: &Self) -> bool {
        let before = |one: &Self, other: &Self| one.until.is_some_and(|until| until <= other.from);
        !before(self, other) && !before(other, self)
    }
}

/// Seats that two claims had at the same moment, in words.
pub(crate) fn given_twice<'a>(claims: impl Iterator<Item = (usize, &'a Claim)>) -> Vec<String> {
    let mut of_seat: BTreeMap<&str, Vec<(usize, &Claim)>> = BTreeMap::new();
    for (user, claim) in claims {
        for seat in &claim.seats {
            of_seat.entry(seat).or_default().push((user, claim));
        }
    }
    let mut twice = Vec::new();
    for (seat, claims) in of_seat {
        for (place, (user, claim)) in claims.iter().enumerate() {
            let later = claims.iter().skip(place + 1);
            let overlapping = later.filter(|(_, other)| claim.overlaps(other));
            twice.extend(overlapping.map(|(other, _)| format!("{seat}: users {user} and {other}")));
        }
    }
    twice
}

/// The most seats that the claims of one member hold at the same moment.
pub(crate) fn most_at_once(claims: &[Claim]) -> usize {
    let at = |moment: Instant| {
        let live = claims
            .iter()
            .filter(|claim| claim.from <= moment && claim.until.is_none_or(|until| moment < until));
        live.map(|claim| claim.seats.len()).sum()
    };
    claims.iter().map(|claim| at(claim.from)).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn claim(start: Instant, seats: &[&str], from: u64, until: Option<u64>) -> Claim {
        let at = |seconds| start + Duration::from_secs(seconds);
        let until = until.map(at);
        let seats = seats.iter().map(|seat| (*seat).to_owned()).collect();
        Claim { seats, from: at(from), until, over_by: until }
    }

    #[test]
    fn a_seat_that_two_have_at_once_was_given_twice() {
        let start = Instant::now();
        let claim = |seats: &[&str], from, until| claim(start, seats, from, until);
        let twice = |claims: &[Claim]| given_twice(claims.iter().enumerate()).len();
        let first = claim(&["A-1-1", "A-1-2"], 0, Some(60));
        assert_eq!(twice(&[first.clone(), claim(&["A-1-2"], 60, None)]), 0);
        assert_eq!(twice(&[first.clone(), claim(&["A-1-2"], 59, None)]), 1);
        assert_eq!(twice(&[claim(&["A-1-2"], 59, None), first.clone()]), 1);
        assert_eq!(twice(&[first.clone(), claim(&["A-1-3"], 0, None)]), 0);
        assert_eq!(twice(&[first.clone(), first.clone()]), 2);
        assert_eq!(twice(&[claim(&["A"], 0, None), claim(&["A"], 1_000, Some(1_001))]), 1);
    }

    #[test]
    fn what_a_member_had_at_once_is_added_up() {
        let start = Instant::now();
        let claim = |seats: &[&str], from, until| claim(start, seats, from, until);
        let claims = [
            claim(&["A"], 0, None),
            claim(&["B", "C"], 10, Some(70)),
            claim(&["D", "E"], 70, Some(80)),
        ];
        assert_eq!(most_at_once(&claims), 3);
        assert_eq!(most_at_once(&[]), 0);
    }
}
