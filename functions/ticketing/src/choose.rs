//! Which seats to recommend.
//!
//! A choice is some seats that are free together. Choices are ranked: sections
//! that the member prefers come first, then the better grade, then the row nearer
//! to the field, and of those the choices that leave no single seat behind, which
//! nobody would buy. Among the best one is picked at random, so that a crowd that
//! sees the same map does not run for the same seats; and the more often somebody
//! else was faster, the farther from the best one looks.

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

/// Seats that are free together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice<'a> {
    rank: Rank,
    /// The block of the first.
    block: &'a Block,
    /// The blocks and places of all.
    places: Vec<(&'a Block, usize)>,
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

impl Choice<'_> {
    /// Its seats.
    pub fn seats(&self) -> Vec<Seat> {
        self.places.iter().map(|(block, place)| block.seat(*place)).collect()
    }

    /// What they cost together.
    pub fn amount(&self) -> u64 {
        self.places.iter().map(|(block, _)| block.price).sum()
    }
}

/// A row of which some seats are free.
struct Row<'a> {
    block: &'a Block,
    row: u32,
    /// The places of its first seat and of the one after its last.
    places: std::ops::Range<usize>,
}

impl Wish {
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

    /// Every choice that there is, given the blocks with their maps, in no
    /// order.
    pub fn choices<'a, 'm>(
        &self,
        blocks: impl Iterator<Item = (&'a Block, &'m Map)> + Clone,
        now: Instant,
    ) -> Vec<Choice<'a>> {
        let blocks = blocks.filter(|(block, _)| self.takes(block));
        let mut choices = Vec::new();
        if self.adjacent != Some(false) {
            for (block, map) in blocks.clone() {
                for row in rows(block) {
                    self.add_adjacent(&row, map, now, &mut choices);
                }
            }
        }
        if choices.is_empty() && self.adjacent != Some(true) {
            self.add_scattered(blocks, now, &mut choices);
        }
        choices
    }

    /// Adds what a row has to offer.
    fn add_adjacent<'a>(
        &self,
        row: &Row<'a>,
        map: &Map,
        now: Instant,
        choices: &mut Vec<Choice<'a>>,
    ) {
        let is_free = |place: &usize| map.state(*place, now) == State::Free;
        let mut place = row.places.start;
        while place < row.places.end {
            let run =
                place..(place..row.places.end).find(|p| !is_free(p)).unwrap_or(row.places.end);
            for first in run.clone().take((run.len() + 1).saturating_sub(self.seats)) {
                let last = first + self.seats;
                let orphans = u8::from(first - run.start == 1) + u8::from(run.end - last == 1);
                let rank = self.rank(row.block, row.row, orphans);
                let places = (first..last).map(|place| (row.block, place)).collect();
                choices.push(Choice { rank, block: row.block, places });
            }
            place = run.end + 1;
        }
    }

    /// Adds choices of seats that are apart from each other, but not farther
    /// than need be: those that follow on each other among all that are free,
    /// the best first.
    fn add_scattered<'a, 'm>(
        &self,
        blocks: impl Iterator<Item = (&'a Block, &'m Map)>,
        now: Instant,
        choices: &mut Vec<Choice<'a>>,
    ) {
        let mut free: Vec<(Rank, &'a Block, usize)> = blocks
            .flat_map(|(block, map)| {
                let rows = rows(block).flat_map(|row| {
                    let row_number = row.row;
                    row.places.map(move |place| (row_number, place))
                });
                rows.filter(|(_, place)| map.state(*place, now) == State::Free)
                    .map(|(row, place)| (self.rank(block, row, 0), block, place))
                    .collect::<Vec<_>>()
            })
            .collect();
        free.sort_by(|(rank, block, place), (other_rank, other, other_place)| {
            (rank, &block.block, place).cmp(&(other_rank, &other.block, other_place))
        });
        choices.extend(free.windows(self.seats).map(|window| {
            let places = window.iter().map(|(_, block, place)| (*block, *place)).collect();
            // No better than its worst seat.
            let (rank, block, _) = window[window.len() - 1];
            Choice { rank, block, places }
        }));
    }
}

fn rows(block: &Block) -> impl Iterator<Item = Row<'_>> {
    (1..=block.rows).map(move |row| {
        let first = block.place(row, 1);
        Row { block, row, places: first..first + block.seats_per_row as usize }
    })
}

/// Among how many choices one picks when somebody was faster: this many times
/// the power of [`WIDER`]. Two hundred who asked for pairs among 800 seats at the
/// same moment took 676 tries; with 1 in its place, 933.
const WIDE: usize = 16;
const WIDER: usize = 4;

/// One of the best choices, by `random_below`, after `lost` races.
pub fn pick<'a>(
    mut choices: Vec<Choice<'a>>,
    lost: u32,
    random_below: impl FnOnce(u64) -> u64,
) -> Option<Choice<'a>> {
    let best = choices.iter().map(|choice| choice.rank).min()?;
    let as_good = choices.iter().filter(|choice| choice.rank == best).count();
    let wider = if lost == 0 { 0 } else { WIDER.saturating_pow(lost).saturating_mul(WIDE) };
    let among = as_good.max(wider).min(choices.len());
    choices
        .sort_by(|one, other| (one.rank, &one.block.block).cmp(&(other.rank, &other.block.block)));
    let place = usize::try_from(random_below(among as u64)).unwrap_or_default();
    Some(choices.swap_remove(place.min(among - 1)))
}

#[cfg(test)]
mod tests {
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

    /// The seats of all choices among the best, each joined by blanks, sorted.
    fn best(wish: &Wish, blocks: &[(&Block, &Map)]) -> Vec<String> {
        let choices = wish.choices(blocks.iter().copied(), now());
        let count = choices.iter().filter(|c| Some(c.rank) == choices.iter().map(|c| c.rank).min());
        let count = count.count() as u64;
        let picked = (0..count).filter_map(|n| pick(choices.clone(), 0, |among| n.min(among - 1)));
        let mut seats: Vec<String> = picked
            .map(|choice| choice.seats().iter().map(Seat::to_string).collect::<Vec<_>>().join(" "))
            .collect();
        seats.sort();
        seats
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
            let pick = |n| {
                let choices = wish(2).choices([(&a, &empty)].into_iter(), now());
                pick(choices, lost, |among| among.min(n) - 1).unwrap().seats()[0].row
            };
            (1..=1_000).map(pick).max().unwrap()
        };
        assert_eq!([rows(0), rows(1), rows(2), rows(9)], [1, 64, 256, 500]);
    }
}
