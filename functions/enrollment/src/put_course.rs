//! `PUT /courses/{courseId}`: create a course, or change it.
//!
//! What students go by while they enroll, from memory that is up to five
//! seconds old, changes only when nobody can: hours, credit and term. The name
//! and the opening times change at any time, and the capacity in steps (see
//! [`capacity`]).

use std::collections::HashSet;

use garde::Validate;
use platform::clock::Instant;
use platform::stripes;
use platform::table::{Patience, Read, Write, WriteError, n};
use platform::text::{self, Text};
use platform::{App, Function, Operation, Problem, Reply, Request, auth, http};
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::course::{self, Course, CourseView};
use crate::ids::CourseId;
use crate::meeting::{Day, Meeting, periods};
use crate::put_student::DEFAULT_TERM;
use crate::refusal::Refusal;
use crate::seats::Stripe;
use crate::{TABLE, capacity, keys, looks};

/// The function.
pub static FUNCTION: Function = Function::http("put-course", |a, r| Box::pin(handle(a, r)));

/// The most periods that one course meets in. Each is a condition of its own
/// when a student enrolls, and an expression holds at most 300 operators
/// ([limit](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-expression-parameters)).
const MOST_PERIODS: usize = 60;

#[derive(Deserialize, Validate, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Body {
    #[garde(custom(text::title))]
    #[schema(value_type = text::Title)]
    name: Text,
    #[garde(range(min = 1, max = 30))]
    #[schema(minimum = 1, maximum = 30)]
    credit: u32,
    #[garde(skip)]
    day_of_week: Option<Day>,
    #[garde(skip)]
    #[schema(minimum = 1, maximum = 20)]
    start_period: Option<u32>,
    #[garde(skip)]
    #[schema(minimum = 1, maximum = 20)]
    end_period: Option<u32>,
    #[garde(dive)]
    #[schema(min_items = 1)]
    meetings: Option<Vec<Meeting>>,
    #[garde(range(min = 0, max = 1_000_000))]
    #[schema(minimum = 0, maximum = 1_000_000)]
    capacity: u64,
    #[garde(inner(custom(text::slug)))]
    #[schema(value_type = Option<text::Slug>)]
    term: Option<Text>,
    #[garde(skip)]
    opens_at: Option<Instant>,
    #[garde(skip)]
    closes_at: Option<Instant>,
}

/// What the document says of it.
pub fn operation() -> Operation {
    let course = json!({
        "name": "Databases",
        "credit": 3,
        "dayOfWeek": "MON",
        "startPeriod": 1,
        "endPeriod": 3,
        "capacity": 30,
        "opensAt": "2030-02-01T09:00:00Z",
    });
    Operation::new(FUNCTION, "PUT /courses/{courseId}", "Create a course, or change it.")
        .for_staff()
        .path::<CourseId>("courseId", 1)
        .body::<Body>(course)
        .puts::<CourseView>(course::example())
        .refuses([Refusal::CourseInUse, Refusal::CapacityBelowEnrolled { capacity: 12 }])
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    let id: CourseId = http::path(&request, "courseId")?;
    let wanted = parse(id, http::body(&request)?)?;
    caller.require_staff()?;
    let (course, is_new) = put(app, &wanted).await?;
    let course = capacity::reach(app, course).await?;
    if is_new {
        Reply::created(format!("/courses/{id}"), &course.view())
    } else {
        Reply::ok(&course.view())
    }
}

fn parse(course_id: CourseId, body: Body) -> Result<Course, Problem> {
    let meetings = meetings(&body)?;
    let Body { name, credit, capacity, term, opens_at, closes_at, .. } = body;
    if let (Some(opens_at), Some(closes_at)) = (opens_at, closes_at)
        && opens_at >= closes_at
    {
        return Err(Problem::invalid("closesAt", "expected a time after opensAt"));
    }
    Ok(Course {
        course_id,
        name: name.into_string(),
        credit,
        meetings,
        term: term.map_or_else(|| DEFAULT_TERM.to_owned(), Text::into_string),
        capacity,
        target: capacity,
        stripes: stripes::count(capacity),
        opens_at_ms: opens_at.map(Instant::as_millis),
        closes_at_ms: closes_at.map(Instant::as_millis),
        window_changed_at_ms: 0,
        version: 1,
    })
}

/// The meetings of a body, which names either one or a list.
fn meetings(body: &Body) -> Result<Vec<Meeting>, Problem> {
    let single = (body.day_of_week, body.start_period, body.end_period);
    let meetings = match (&body.meetings, single) {
        (Some(meetings), (None, None, None)) => meetings.clone(),
        (Some(_), _) => {
            let message = "expected either meetings or dayOfWeek, startPeriod and endPeriod";
            return Err(Problem::invalid("meetings", message));
        }
        (None, (day, start, end)) => {
            let missing = |field: &str| Problem::invalid(field, "is missing");
            let meeting = Meeting {
                day_of_week: day.ok_or_else(|| missing("dayOfWeek"))?,
                start_period: start.ok_or_else(|| missing("startPeriod"))?,
                end_period: end.ok_or_else(|| missing("endPeriod"))?,
            };
            http::validate(&meeting)?;
            vec![meeting]
        }
    };
    let count = periods(&meetings).count();
    if count == 0 || count > MOST_PERIODS {
        let message = format!("expected 1 to {MOST_PERIODS} periods in all, not {count}");
        return Err(Problem::invalid("meetings", message));
    }
    if periods(&meetings).collect::<HashSet<_>>().len() < count {
        return Err(Problem::invalid("meetings", "two meetings overlap"));
    }
    Ok(meetings)
}

/// Creates the course, perhaps with fewer seats than wanted, or changes all but
/// the capacity of the one that is there. Whether it is new.
async fn put(app: &App, wanted: &Course) -> Result<(Course, bool), Problem> {
    let table = app.table(TABLE);
    let mut patience = Patience::default();
    loop {
        let item = table.get(keys::course(wanted.course_id), Read::Consistent).await?;
        let seen = item.map(Course::from_item).transpose()?;
        let is_new = seen.is_none();
        let (course, writes) = match seen {
            None => create(wanted)?,
            Some(seen) => match change(app, &seen, wanted).await? {
                Some(change) => change,
                None => return Ok((seen, false)),
            },
        };
        match table.commit(writes).await {
            Ok(()) => return Ok((course, is_new)),
            Err(WriteError::Refused(_)) if patience.pause(app).await => {} // it was changed: look again
            Err(WriteError::Refused(_)) => return Err(Problem::busy("the course keeps changing")),
            Err(error) => return Err(error.into()),
        }
    }
}

/// The writes that create a course with as many stripes as one transaction
/// takes.
fn create(wanted: &Course) -> Result<(Course, Vec<Write>), Problem> {
    let id = wanted.course_id;
    let stripes = wanted.stripes.min(capacity::MOST_NEW_STRIPES);
    let seats = stripes::split(wanted.capacity, wanted.stripes).zip(0..stripes);
    let seats: Vec<(u64, u32)> = seats.collect();
    let capacity = seats.iter().map(|(seats, _)| seats).sum();
    let course = Course { capacity, stripes, ..wanted.clone() };
    let mut writes = vec![Write::put(course.to_item()?).when("attribute_not_exists(pk)")];
    for (seats, number) in seats {
        writes.push(Stripe::create(id, number, seats)?);
    }
    writes.extend(listings(&course).into_iter().map(|day| list(id, day)));
    Ok((course, writes))
}

/// The writes that turn the course `seen` into the one `wanted`, but for its
/// capacity. `None` if there is nothing to change.
async fn change(
    app: &App,
    seen: &Course,
    wanted: &Course,
) -> Result<Option<(Course, Vec<Write>)>, Problem> {
    let now = app.clock.now();
    let in_use = (&seen.meetings, seen.credit, &seen.term)
        != (&wanted.meetings, wanted.credit, &wanted.term);
    if in_use {
        require_unused(app, seen, now).await?;
    }
    let same_window =
        (seen.opens_at_ms, seen.closes_at_ms) == (wanted.opens_at_ms, wanted.closes_at_ms);
    let same_target = seen.target == wanted.target;
    if !in_use && same_window && same_target && seen.name == wanted.name {
        return Ok(None);
    }
    let course = Course {
        capacity: seen.capacity,
        stripes: seen.stripes,
        window_changed_at_ms: if same_window { seen.window_changed_at_ms } else { now.as_millis() },
        version: seen.version + 1,
        ..wanted.clone()
    };
    let (before, after) = (listings(seen), listings(&course));
    let id = seen.course_id;
    let mut writes = vec![update(seen, &course)?];
    writes.extend(after.difference(&before).map(|day| list(id, *day)));
    writes.extend(before.difference(&after).map(|day| Write::delete(keys::listing(*day, id))));
    Ok(Some((course, writes)))
}

/// Refuses while somebody may be enrolling or is enrolled.
async fn require_unused(app: &App, seen: &Course, now: Instant) -> Result<(), Problem> {
    if !seen.is_settled_and_closed(now) {
        return Err(Problem::from(Refusal::CourseInUse).detail(
            "Enrollment must have been closed for 20 seconds, and stay closed for as long.",
        ));
    }
    let look = looks::look(app, seen, Read::Consistent).await?;
    if look.stripes.iter().any(|stripe| stripe.seats_left < stripe.seats) {
        return Err(Problem::from(Refusal::CourseInUse).detail("Students are enrolled."));
    }
    Ok(())
}

/// What a change writes: all but capacity and stripes, which may be changing
/// at the same time.
const CHANGING: [&str; 9] = [
    "name",
    "credit",
    "meetings",
    "term",
    "target",
    "opens_at_ms",
    "closes_at_ms",
    "window_changed_at_ms",
    "version",
];

fn update(seen: &Course, course: &Course) -> Result<Write, Problem> {
    let mut attributes = course.to_item()?;
    let (present, absent): (Vec<_>, Vec<_>) =
        CHANGING.into_iter().partition(|attribute| attributes.contains_key(*attribute));
    let sets: Vec<String> = present.iter().map(|name| format!("#{name} = :{name}")).collect();
    let removes: Vec<String> = absent.iter().map(|name| format!("#{name}")).collect();
    let mut expression = format!("SET {}", sets.join(", "));
    if !removes.is_empty() {
        expression += &format!(" REMOVE {}", removes.join(", "));
    }
    let mut write = Write::update(keys::course(course.course_id), expression);
    for attribute in CHANGING {
        write = write.name(&format!("#{attribute}"), attribute);
        if let Some(value) = attributes.remove(attribute) {
            write = write.bind(&format!(":{attribute}"), value);
        }
    }
    Ok(write.when("#version = :seen").bind(":seen", n(seen.version)))
}

/// The listings that a course belongs to: that of all days, and of its own.
fn listings(course: &Course) -> HashSet<Option<Day>> {
    course.days().into_iter().map(Some).chain([None]).collect()
}

fn list(id: CourseId, day: Option<Day>) -> Write {
    Write::put(keys::listing(day, id).into_item())
}
