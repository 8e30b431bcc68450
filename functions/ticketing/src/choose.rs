//! Which seats to recommend.
//!
//! A choice is some seats that are free together. Choices are ranked: sections
//! that the member prefers come first, then the better grade, then the row nearer
//! to the field, and of those the choices that leave no single seat behind, which
//! nobody would buy. Among the best one is picked at random, so that a crowd that
//! sees the same map does not run for the same seats; and the more often somebody
//! else was faster, the farther from the best one looks.

use std::ops::Range;

use platform::clock::Instant;

use crate::ids::Seat;
use crate::layout::Block;
use crate::map::{Map, State};

/// What somebody wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// How many seats.
    pub seats: usize,
    /// Only of these sections, if there are any.
    pub sections: Vec<String>,
    /// Rather of these sections.
    pub preferred: Vec<String>,
    /// No seat dearer than this.
    pub max_price: Option<u64>,
    /// Whether they must be next to each other; if nothing is said, they are if
    /// they can be.
    pub adjacent: Option<bool>,
}

/// Seats that are free together, each by its block and place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice<'a>(Vec<(&'a Block, usize)>);

impl Choice<'_> {
    /// Its seats.
    pub fn seats(&self) -> Vec<Seat> {
        self.0.iter().map(|(block, place)| block.seat(*place)).collect()
    }

    /// What they cost together.
    pub fn amount(&self) -> u64 {
        self.0.iter().map(|(block, _)| block.price).sum()
    }
}

/// How good a choice is: the lower, the better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    is_not_preferred: bool,
    grade: u32,
    row: u32,
    /// Single seats that it leaves behind.
    orphans: u8,
}

impl Wish {
    /// One of the best choices, by `random_below`, after `lost` races; `None` if
    /// there is none in these blocks, which come with their maps.
    pub fn choose<'a, 'm>(
        &self,
        blocks: impl Iterator<Item = (&'a Block, &'m Map)> + Clone,
        now: Instant,
        lost: u32,
        random_below: impl Fn(u64) -> u64,
    ) -> Option<Choice<'a>> {
        let blocks = blocks.filter(|(block, _)| self.takes(block));
        if self.adjacent != Some(false) {
            // A match has thousands of choices, and one is wanted: no more is
            // kept of each than where it begins.
            let mut firsts = Vec::new();
            for (block, map) in blocks.clone() {
                self.add_adjacent(block, map, now, &mut firsts);
            }
            if let Some((block, first)) = pick(firsts, lost, &random_below) {
                let places = first..first + self.seats;
                return Some(Choice(places.map(|place| (block, place)).collect()));
            }
        }
        if self.adjacent == Some(true) {
            return None;
        }
        self.choose_scattered(blocks, now, lost, random_below)
    }

    /// Whether seats of a block would do.
    fn takes(&self, block: &Block) -> bool {
        let is_in = |sections: &[String]| sections.iter().any(|s| s == block.section.as_str());
        (self.sections.is_empty() || is_in(&self.sections))
            && self.max_price.is_none_or(|most| block.price <= most)
    }

    fn rank(&self, block: &Block, row: u32, orphans: u8) -> Rank {
        let is_preferred = self.preferred.iter().any(|s| s == block.section.as_str());
        Rank { is_not_preferred: !is_preferred, grade: block.grade, row, orphans }
    }

    /// Adds the first seat of each choice of seats next to each other.
    fn add_adjacent<'a>(
        &self,
        block: &'a Block,
        map: &Map,
        now: Instant,
        firsts: &mut Vec<(Rank, (&'a Block, usize))>,
    ) {
        let rank = self.rank(block, 0, 0);
        for (row, places) in rows(block) {
            let mut place = places.start;
            while place < places.end {
                let is_taken = |place: &usize| map.state(*place, now) != State::Free;
                let end = (place..places.end).find(is_taken).unwrap_or(places.end);
                for first in place..(end + 1).saturating_sub(self.seats) {
                    let is_single = |left: usize| u8::from(left == 1);
                    let orphans = is_single(first - place) + is_single(end - first - self.seats);
                    firsts.push((Rank { row, orphans, ..rank }, (block, first)));
                }
                place = end + 1;
            }
        }
    }

    /// Chooses seats that are apart, but not farther than need be: some that
    /// follow on each other among all that are free, the best first.
    fn choose_scattered<'a, 'm>(
        &self,
        blocks: impl Iterator<Item = (&'a Block, &'m Map)>,
        now: Instant,
        lost: u32,
        random_below: impl Fn(u64) -> u64,
    ) -> Option<Choice<'a>> {
        let mut free: Vec<(Rank, &'a Block, usize)> = Vec::new();
        for (block, map) in blocks {
            let rank = self.rank(block, 0, 0);
            for (row, places) in rows(block) {
                let is_free = |place: &usize| map.state(*place, now) == State::Free;
                free.extend(places.filter(is_free).map(|p| (Rank { row, ..rank }, block, p)));
            }
        }
        free.sort_by_key(|(rank, block, place)| (*rank, &block.block, *place));
        // A choice is no better than its worst seat, the last.
        let lasts = (self.seats.saturating_sub(1)..free.len()).map(|last| (free[last].0, last));
        let last = pick(lasts.collect(), lost, random_below)?;
        let seats = free.iter().skip(last + 1 - self.seats).take(self.seats);
        Some(Choice(seats.map(|(_, block, place)| (*block, *place)).collect()))
    }
}

/// The rows of a block, each with the places of its seats.
fn rows(block: &Block) -> impl Iterator<Item = (u32, Range<usize>)> {
    (1..=block.rows).map(move |row| {
        let first = block.place(row, 1);
        (row, first..first + block.seats_per_row as usize)
    })
}

/// Among how many choices one picks when somebody was faster: this many times
/// the power of [`WIDER`]. Two hundred who asked for pairs among 800 seats at the
/// same moment took 676 tries; with 1 in its place, 933.
const WIDE: usize = 16;
const WIDER: usize = 4;

/// One of the best, by `random_below`, after `lost` races.
fn pick<T: Copy>(
    mut ranked: Vec<(Rank, T)>,
    lost: u32,
    random_below: impl Fn(u64) -> u64,
) -> Option<T> {
    let best = ranked.iter().map(|(rank, _)| *rank).min()?;
    let as_good = ranked.iter().filter(|(rank, _)| *rank == best).count();
    let wider = if lost == 0 { 0 } else { WIDER.saturating_pow(lost).saturating_mul(WIDE) };
    let among = as_good.max(wider).min(ranked.len());
    ranked.select_nth_unstable_by_key(among - 1, |(rank, _)| *rank);
    let place = usize::try_from(random_below(among as u64)).unwrap_or_default();
    Some(ranked[place.min(among - 1)].1)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::layout::tests::block;
    use crate::map::Taken;

    fn now() -> Instant {
        Instant::from_millis(1_893_456_000_000)
    }

    fn wish(seats: usize) -> Wish {
        Wish { seats, sections: vec![], preferred: vec![], max_price: None, adjacent: None }
    }

    /// A block's map in which seats with an `x` are sold, row by row.
    fn map(block: &Block, seats: &str) -> Map {
        let mut map = Map::empty(block);
        let sold = Taken { sold: true, held_until_ms: None };
        for (place, _) in seats.replace(' ', "").match_indices('x') {
            map.note(place, &sold);
        }
        map
    }

    /// The choices that may be made at first, the seats of each joined by blanks,
    /// sorted.
    fn best(wish: &Wish, blocks: &[(&Block, &Map)]) -> Vec<String> {
        let among = Cell::new(1);
        let choose = |n: u64| {
            wish.choose(blocks.iter().copied(), now(), 0, |bound| {
                among.set(bound);
                n
            })
        };
        let mut chosen = Vec::new();
        while (chosen.len() as u64) < among.get() {
            let Some(choice) = choose(chosen.len() as u64) else { break };
            let names: Vec<String> = choice.seats().iter().map(Seat::to_string).collect();
            chosen.push(names.join(" "));
        }
        chosen.sort();
        chosen
    }

    #[test]
    fn seats_next_to_each_other_in_the_first_row_that_has_them() {
        let a = block("A", 2, 4);
        assert_eq!(best(&wish(2), &[(&a, &map(&a, "x.x. ...."))]), ["A-2-1 A-2-2", "A-2-3 A-2-4"]);
        assert_eq!(best(&wish(4), &[(&a, &map(&a, "x.x. ...."))]), ["A-2-1 A-2-2 A-2-3 A-2-4"]);
        assert_eq!(
            best(&wish(5), &[(&a, &map(&a, "x.x. x..."))]),
            ["A-1-2 A-1-4 A-2-2 A-2-3 A-2-4"]
        );
    }

    #[test]
    fn no_single_seat_is_left_behind_when_an_equally_good_choice_is_there() {
        let a = block("A", 1, 5);
        let one_of = |seats: &str, n| best(&wish(n), &[(&a, &map(&a, seats))]);
        assert_eq!(one_of(".....", 2), ["A-1-1 A-1-2", "A-1-4 A-1-5"]);
        assert_eq!(one_of(".....", 3), ["A-1-1 A-1-2 A-1-3", "A-1-3 A-1-4 A-1-5"]);
        assert_eq!(one_of(".x...", 1), ["A-1-1", "A-1-3", "A-1-5"], "not the one between two");
        assert_eq!(one_of(".x..x", 1), ["A-1-1"]);
        assert_eq!(one_of("x...x", 2).len(), 2, "one is left either way");
        assert_eq!(one_of(".....", 4).len(), 2);
    }

    #[test]
    fn the_better_grade_comes_before_the_nearer_row_and_a_preference_before_both() {
        let (good, far) = (block("A", 2, 2), Block { grade: 2, ..block("B", 1, 2) });
        let far = Block { section: "South".into(), ..far };
        let maps = (map(&good, "xx .."), map(&far, ".."));
        let blocks = [(&good, &maps.0), (&far, &maps.1)];
        assert_eq!(best(&wish(2), &blocks), ["A-2-1 A-2-2"]);
        let south = vec!["South".to_owned()];
        let preferred = Wish { preferred: south.clone(), ..wish(2) };
        assert_eq!(best(&preferred, &blocks), ["B-1-1 B-1-2"]);
        let sold_out = map(&far, "xx");
        assert_eq!(best(&preferred, &[(&good, &maps.0), (&far, &sold_out)]), ["A-2-1 A-2-2"]);
        let only = Wish { sections: south, ..wish(2) };
        assert_eq!(best(&only, &[(&good, &maps.0), (&far, &sold_out)]), Vec::<String>::new());
    }

    #[test]
    fn no_seat_is_dearer_than_asked_for() {
        let (cheap, dear) = (Block { price: 10, grade: 5, ..block("C", 1, 2) }, block("D", 1, 2));
        let maps = (map(&cheap, ".."), map(&dear, ".."));
        let blocks = [(&dear, &maps.1), (&cheap, &maps.0)];
        let within = |most| best(&Wish { max_price: Some(most), ..wish(1) }, &blocks);
        assert_eq!(within(10), ["C-1-1", "C-1-2"]);
        assert_eq!(within(5_000), ["D-1-1", "D-1-2"]);
        assert_eq!(within(9), Vec::<String>::new());
    }

    #[test]
    fn seats_that_must_be_adjacent_are_or_there_are_none() {
        let a = block("A", 1, 4);
        let apart = map(&a, ".x.x");
        let asked = |adjacent| best(&Wish { adjacent, ..wish(2) }, &[(&a, &apart)]);
        assert_eq!(asked(Some(true)), Vec::<String>::new());
        assert_eq!(asked(None), ["A-1-1 A-1-3"]);
        assert_eq!(asked(Some(false)), ["A-1-1 A-1-3"]);
        assert_eq!(best(&wish(3), &[(&a, &apart)]), Vec::<String>::new());
    }

    #[test]
    fn who_was_too_late_looks_farther_from_the_best() {
        let a = block("A", 500, 2);
        let empty = map(&a, "");
        let rows = |lost| {
            let pick = |n: u64| {
                let blocks = [(&a, &empty)].into_iter();
                let choice = wish(2).choose(blocks, now(), lost, |among| among.min(n) - 1);
                choice.unwrap().seats()[0].row
            };
            (1..=1_000).map(pick).max().unwrap()
        };
        assert_eq!([rows(0), rows(1), rows(2), rows(9)], [1, 64, 256, 500]);
    }
}
