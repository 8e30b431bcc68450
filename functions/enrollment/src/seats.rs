//! A course's seats, spread over stripes.
//!
//! An enrollment takes one seat from one stripe, at first any. Only when that
//! has none left, some are looked at, and all when those have none either. What
//! was seen serves the requests of the next second: which stripes to try, or
//! that there is no use in looking.

use std::sync::Arc;

use platform::cache::Cache;
use platform::table::{Item, Read, Write, n};
use platform::{App, Problem};
use serde::{Deserialize, Serialize};

use crate::course::{Course, broken};
use crate::ids::CourseId;
use crate::{TABLE, keys};

/// How long a look at the stripes is remembered, in milliseconds.
pub const LOOK_LIFETIME_MS: i64 = 1_000;

/// How many stripes the first looks take in, before one takes in all.
const SAMPLES: [usize; 2] = [16, 64];

/// One stripe of a course's seats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stripe {
    /// Its number, from 0.
    pub number: u32,
    /// Seats in all.
    pub seats: u64,
    /// Seats not taken.
    pub seats_left: u64,
}

/// A stripe's attributes in the table.
#[derive(Serialize, Deserialize)]
struct Row {
    stripe: u32,
    seats: u64,
    seats_left: u64,
}

impl Stripe {
    fn from_item(item: Item) -> Result<Self, Problem> {
        let Row { stripe, seats, seats_left } = platform::table::read(item)?;
        Ok(Self { number: stripe, seats, seats_left })
    }

    /// The write that creates it with `seats` seats, all free.
    pub fn create(course: CourseId, number: u32, seats: u64) -> Result<Write, Problem> {
        let row = Row { stripe: number, seats, seats_left: seats };
        let item = platform::table::item(keys::seats(course, number), &row)?;
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

/// Stripes as they were when somebody looked.
#[derive(Debug, Default)]
pub struct Look {
    /// Those that were looked at.
    pub stripes: Vec<Stripe>,
    /// Whether those are all.
    pub is_complete: bool,
}

impl Look {
    /// Whether any of them has a free seat.
    pub fn has_seats(&self) -> bool {
        self.stripes.iter().any(|stripe| stripe.seats_left > 0)
    }
}

/// What was last seen of each course's stripes.
struct Looks(Cache<CourseId, Arc<Look>>);

impl Default for Looks {
    fn default() -> Self {
        Self(Cache::new(10_000, LOOK_LIFETIME_MS))
    }
}

/// What was seen within the last second, if anybody looked.
pub fn remembered(app: &App, course: CourseId) -> Option<Arc<Look>> {
    app.memory::<Looks>().0.get(&course, app.clock.now())
}

/// Looks at every stripe of `course`, and remembers it for a second.
pub async fn look(app: &App, course: &Course, read: Read) -> Result<Arc<Look>, Problem> {
    look_at(app, course, (0..course.stripes).collect(), read).await
}

/// Looks at some stripes of `course`, picked at random, and remembers them for
/// a second: more than were `seen` before without finding a seat. `None` when
/// only a look at all would be more.
///
/// While one stripe in ten has seats, 16 of them show one four times in five,
/// for a sixteenth of the cost of looking at all; while one in fifty has, 64 do.
pub async fn sample(app: &App, course: &Course, seen: usize) -> Result<Option<Arc<Look>>, Problem> {
    let Some(wanted) = SAMPLES.into_iter().find(|wanted| *wanted > seen) else {
        return Ok(None);
    };
    let mut numbers: Vec<u32> = (0..course.stripes).collect();
    for place in 0..wanted.min(numbers.len()) {
        let rest = numbers.len() - place;
        let other = place + usize::try_from(app.random_below(rest as u64)).unwrap_or(0);
        numbers.swap(place, other);
    }
    numbers.truncate(wanted);
    look_at(app, course, numbers, Read::Eventual).await.map(Some)
}

async fn look_at(
    app: &App,
    course: &Course,
    numbers: Vec<u32>,
    read: Read,
) -> Result<Arc<Look>, Problem> {
    let now = app.clock.now();
    let wanted = numbers.len();
    let keys = numbers.into_iter().map(|number| keys::seats(course.course_id, number)).collect();
    let items = app.table(TABLE).batch_get(keys, read).await?;
    let stripes = items.into_iter().map(Stripe::from_item).collect::<Result<Vec<_>, _>>()?;
    if stripes.len() != wanted && read == Read::Consistent {
        return Err(broken("a stripe of seats"));
    }
    let is_complete = stripes.len() == course.stripes as usize;
    let look = Arc::new(Look { stripes, is_complete });
    app.memory::<Looks>().0.put(course.course_id, now, Arc::clone(&look));
    Ok(look)
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
