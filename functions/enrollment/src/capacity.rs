//! Changing how many seats a course has, while students enroll.
//!
//! The course's `capacity` and the seats in its stripes change together, in
//! small transactions, so that every moment in between is consistent. Whoever
//! is cut off in the middle leaves a course with another capacity and nothing
//! else; sending the same request again goes on from there.
//!
//! The course also says which capacity was asked for last. Each step holds only
//! while that stands, so of several requests at once the last one goes through
//! and the others stop, instead of undoing each other's steps.

use platform::stripes;
use platform::table::{Read, Refusals, Write, WriteError, n};
use platform::{App, Problem};

use crate::course::{Course, broken};
use crate::refusal::Refusal;
use crate::seats::Stripe;
use crate::{TABLE, keys, looks};

/// Stripes in one transaction, which holds at most 100 items
/// ([limit](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html)),
/// leaving room for the course and its listings.
pub const MOST_NEW_STRIPES: u32 = 90;

/// Writes of a step, in order.
const COURSE: usize = 0;
const SEATS: usize = 1;

/// What came of one step.
enum Step {
    /// The course is now this.
    Done(Course),
    /// Nothing: the stripe has too few free seats.
    TooFewFree,
}

/// Brings the capacity of `course` to its target, and returns what it became:
/// another capacity only if another one was asked for meanwhile.
pub async fn reach(app: &App, mut course: Course) -> Result<Course, Problem> {
    let target = course.target;
    while course.capacity != target && course.target == target {
        course = if course.capacity > target {
            lower(app, course, target).await?
        } else if course.stripes < stripes::count(target) {
            add_stripes(app, course, target).await?
        } else {
            raise(app, course, target).await?
        };
    }
    Ok(course)
}

/// Adds seats to the stripes that there are, spread evenly.
async fn raise(app: &App, mut course: Course, target: u64) -> Result<Course, Problem> {
    let share = (target - course.capacity).div_ceil(course.stripes.into());
    for stripe in 0..course.stripes {
        let seats = share.min(target.saturating_sub(course.capacity));
        if seats == 0 || course.target != target {
            break;
        }
        if let Step::Done(changed) = resize(app, &course, stripe, signed(seats)?).await? {
            course = changed;
        }
    }
    Ok(course)
}

/// Removes free seats, spread evenly over the stripes that have some.
async fn lower(app: &App, mut course: Course, target: u64) -> Result<Course, Problem> {
    let mut free = looks::look(app, &course, Read::Consistent).await?.stripes.clone();
    free.retain(|stripe| stripe.seats_left > 0);
    if free.is_empty() {
        return Err(Refusal::CapacityBelowEnrolled { capacity: course.capacity }.into());
    }
    let share = (course.capacity - target).div_ceil(free.len() as u64);
    for stripe in free {
        let seats = share.min(stripe.seats_left).min(course.capacity.saturating_sub(target));
        if seats == 0 || course.target != target {
            break;
        }
        if let Step::Done(changed) = resize(app, &course, stripe.number, -signed(seats)?).await? {
            course = changed;
        }
    }
    Ok(course)
}

/// Adds stripes, which nobody can reach before the course says that they are
/// there.
async fn add_stripes(app: &App, course: Course, target: u64) -> Result<Course, Problem> {
    let wanted = stripes::count(target);
    let last = wanted.min(course.stripes + MOST_NEW_STRIPES);
    let mut capacity = course.capacity;
    let mut writes = vec![];
    let shares = stripes::split(target, wanted).zip(0..last).skip(course.stripes as usize);
    for (share, number) in shares {
        let seats = share.min(target - capacity);
        capacity += seats;
        writes.push(Stripe::create(course.course_id, number, seats)?);
    }
    let changed = Course { capacity, stripes: last, ..course.clone() };
    writes.insert(COURSE, change(&course, &changed));
    match app.table(TABLE).commit(writes).await {
        Ok(()) => Ok(changed),
        Err(WriteError::Refused(refusals)) => course_met(refusals),
        Err(error) => Err(error.into()),
    }
}

/// One step: the course and one stripe, by `seats` more or fewer.
async fn resize(app: &App, course: &Course, stripe: u32, seats: i64) -> Result<Step, Problem> {
    let capacity = course.capacity.saturating_add_signed(seats);
    let changed = Course { capacity, ..course.clone() };
    let writes = vec![change(course, &changed), Stripe::resize(course.course_id, stripe, seats)];
    match app.table(TABLE).commit(writes).await {
        Ok(()) => Ok(Step::Done(changed)),
        Err(WriteError::Refused(refusals)) if refusals.includes(COURSE) => {
            course_met(refusals).map(Step::Done) // somebody else changed it: go on from there
        }
        Err(WriteError::Refused(refusals)) if refusals.includes(SEATS) => Ok(Step::TooFewFree),
        Err(error) => Err(error.into()),
    }
}

fn change(seen: &Course, changed: &Course) -> Write {
    Write::update(keys::course(seen.course_id), "SET #capacity = :capacity, stripes = :stripes")
        .when("#capacity = :seen_capacity AND stripes = :seen_stripes AND target = :target")
        .name("#capacity", "capacity")
        .bind(":capacity", n(changed.capacity))
        .bind(":stripes", n(changed.stripes))
        .bind(":target", n(seen.target))
        .bind(":seen_capacity", n(seen.capacity))
        .bind(":seen_stripes", n(seen.stripes))
}

fn course_met(mut refusals: Refusals) -> Result<Course, Problem> {
    let item = refusals.take(COURSE).flatten();
    Course::from_item(item.ok_or_else(|| broken("the course, or a new stripe of it"))?)
}

fn signed(seats: u64) -> Result<i64, Problem> {
    i64::try_from(seats).map_err(Problem::internal)
}
