//! A course's seats, spread over stripes.
//!
//! An enrollment takes one seat from one stripe, at first any; when that has none
//! left, from one that [`looks`](crate::looks) have shown.

use platform::table::{Item, Write, n};
use platform::{App, Problem};
use serde::{Deserialize, Serialize};

use crate::course::Course;
use crate::ids::CourseId;
use crate::keys;

/// One stripe of a course's seats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stripe {
    /// Its number, from 0.
    #[serde(rename = "stripe")]
    pub number: u32,
    /// Seats in all.
    pub seats: u64,
    /// Seats not taken.
    pub seats_left: u64,
}

impl Stripe {
    /// Reads an item.
    pub fn from_item(item: Item) -> Result<Self, Problem> {
        platform::table::read(item)
    }

    /// The write that creates it with `seats` seats, all free.
    pub fn create(course: CourseId, number: u32, seats: u64) -> Result<Write, Problem> {
        let stripe = Self { number, seats, seats_left: seats };
        let item = platform::table::item(keys::seats(course, number), &stripe)?;
        Ok(Write::put(item).when("attribute_not_exists(pk)"))
    }

    /// The write that takes a seat, refused when there is none.
    pub fn take(course: CourseId, number: u32) -> Write {
        Write::update(keys::seats(course, number), "SET seats_left = seats_left - :one")
            .when("seats_left >= :one")
            .bind(":one", n(1))
    }

    /// The write that gives a seat back.
    pub fn give_back(course: CourseId, number: u32) -> Write {
        Write::update(keys::seats(course, number), "SET seats_left = seats_left + :one")
            .when("seats_left < seats")
            .bind(":one", n(1))
    }

    /// The write that adds `change` seats, or removes free ones; refused when
    /// fewer are free.
    pub fn resize(course: CourseId, number: u32, change: i64) -> Write {
        let expression = "SET seats = seats + :change, seats_left = seats_left + :change";
        let at_least = change.min(0).unsigned_abs();
        Write::update(keys::seats(course, number), expression)
            .when("seats_left >= :at_least")
            .bind(":change", n(change))
            .bind(":at_least", n(at_least))
    }
}

/// A stripe with free seats among those seen, but for those that `refused`
/// since; the more seats, the likelier. `None` when none has any.
pub fn choose(app: &App, stripes: &[Stripe], refused: &[u32]) -> Option<u32> {
    let candidates = || stripes.iter().filter(|s| s.seats_left > 0 && !refused.contains(&s.number));
    let mut ticket = app.random_below(candidates().map(|stripe| stripe.seats_left).sum());
    for stripe in candidates() {
        if ticket < stripe.seats_left {
            return Some(stripe.number);
        }
        ticket -= stripe.seats_left;
    }
    None
}

/// Any stripe of a course that has some.
pub fn choose_blindly(app: &App, course: &Course) -> Option<u32> {
    let number = u32::try_from(app.random_below(course.stripes.into())).ok()?;
    (course.stripes > 0).then_some(number)
}
