//! `POST /enrollments`: give a student one seat in a course.
//!
//! One transaction takes the student's credits and periods, one seat, and
//! records the enrollment: all or nothing. Nothing is read first, because
//! under load a seat count is stale before it can be used.

use std::collections::BTreeSet;
use std::sync::Arc;

use garde::Validate;
use platform::auth::{self, Caller};
use platform::clock::Instant;
use platform::idempotency::Idempotency;
use platform::table::{
    Item, Patience, Read, Refusals, Write, WriteError, item, n, numbers, s, strings,
};
use platform::{App, Function, Operation, Problem, Reply, Request, http};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use crate::course::{Course, broken};
use crate::ids::{CourseId, StudentId};
use crate::looks::{self, Look};
use crate::meeting::periods;
use crate::plan::Plan;
use crate::refusal::Refusal;
use crate::seats::{self, Stripe};
use crate::{TABLE, courses, keys};

/// The function.
pub static FUNCTION: Function = Function::http(NAME, |a, r| Box::pin(handle(a, r)));

const NAME: &str = "enroll";

/// Writes of the transaction, in order: a failed condition is known by its place.
const PLAN: usize = 0;
const SEATS: usize = 1;
const ENROLLMENT: usize = 2;
const KEPT_ANSWER: usize = 3;

#[derive(Deserialize, Validate, ToSchema)]
#[serde(rename_all = "camelCase")]
#[garde(allow_unvalidated)]
struct Body {
    student_id: StudentId,
    course_id: CourseId,
}

/// An enrollment, as the table keeps it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Enrollment {
    /// Its id: a new one for each time the student enrolls.
    pub enrollment_id: String,
    /// The student.
    pub student_id: StudentId,
    /// The course.
    pub course_id: CourseId,
    /// The term, and so the plan that paid.
    pub term: String,
    /// The stripe that gave the seat.
    pub stripe: u32,
    /// Credits that were paid.
    pub credit: u32,
    /// Periods that were paid.
    #[serde(with = "serde_dynamo::string_set")]
    pub periods: BTreeSet<String>,
    /// When.
    pub enrolled_at_ms: i64,
    index1_pk: String,
    index1_sk: String,
}

/// An enrollment as JSON.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct View<'a> {
    enrollment_id: &'a str,
    student_id: StudentId,
    course_id: CourseId,
    term: &'a str,
    enrolled_at: Instant,
}

/// What the document says of it.
pub fn operation() -> Operation {
    let enrollment = json!({
        "enrollmentId": "01941f29-7c00-7000-8000-000000000001",
        "studentId": 1,
        "courseId": 1,
        "term": "default",
        "enrolledAt": "2030-02-01T09:00:00.120Z",
    });
    Operation::new(FUNCTION, "POST /enrollments", "Give a student one seat in a course.")
        .for_members()
        .keyed()
        .body::<Body>(json!({ "studentId": 1, "courseId": 1 }))
        .creates::<View<'_>>(enrollment)
        .refuses([
            Refusal::CourseNotFound,
            Refusal::StudentNotFound,
            Refusal::Forbidden,
            Refusal::closed_example(),
            Refusal::AlreadyEnrolled,
            Refusal::TimetableConflict { periods: vec!["MON-3".to_owned()] },
            Refusal::CreditLimitExceeded { left: 2, needed: 3 },
            Refusal::CourseFull,
        ])
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    let body: Body = http::body(&request)?;
    let idempotency = Idempotency::of(&request, &caller, NAME)?;
    let course = courses::get(app, body.course_id).await?.ok_or(Refusal::CourseNotFound)?;
    let attempt = Attempt::new(app, caller, body.student_id, course, idempotency)?;
    match Refusal::closed(&attempt.course, app.clock.now()) {
        Some(closed) => attempt.refuse_by_reading(closed).await,
        None => attempt.take_a_seat().await,
    }
}

/// The transaction that gives `student_id` a seat of `course` from `stripe`, for
/// a measurement of what the table alone can carry.
pub fn transaction(
    app: &App,
    caller: Caller,
    student_id: StudentId,
    course: Arc<Course>,
    stripe: u32,
) -> Result<Vec<Write>, Problem> {
    Attempt::new(app, caller, student_id, course, None)?.writes(stripe)
}

/// One student's attempt at one course.
struct Attempt<'a> {
    app: &'a App,
    caller: Caller,
    course: Arc<Course>,
    enrollment: Enrollment,
    /// When the plan changes: not before it changed last, so that the times of
    /// a plan's versions are in their order.
    changed_at_ms: i64,
    reply: Reply,
    idempotency: Option<Idempotency>,
    patience: Patience,
}

/// What the attempt goes by when it chooses a stripe.
enum Seen {
    /// Nobody looked within the last second.
    Nothing,
    /// Somebody looked, and there was no seat.
    Full,
    /// These stripes, but for those that refused since.
    Stripes(Arc<Look>, Vec<u32>),
}

/// What came of trying one stripe.
enum Tried {
    /// The answer: now, or when the request was first served.
    Served(Reply),
    /// The stripe has no seat; another may.
    NoSeatHere,
    /// Another transaction held the stripe, or something of this student's.
    Contended { on_seats: bool },
}

impl<'a> Attempt<'a> {
    fn new(
        app: &'a App,
        caller: Caller,
        student_id: StudentId,
        course: Arc<Course>,
        idempotency: Option<Idempotency>,
    ) -> Result<Self, Problem> {
        let enrolled_at = app.clock.now();
        let enrollment = Enrollment {
            enrollment_id: app.new_id(),
            student_id,
            course_id: course.course_id,
            term: course.term.clone(),
            stripe: 0,
            credit: course.credit,
            periods: periods(&course.meetings).collect(),
            enrolled_at_ms: enrolled_at.as_millis(),
            index1_pk: keys::roster_partition_of(course.course_id, student_id),
            index1_sk: keys::roster_position(enrolled_at.as_millis(), student_id),
        };
        let view = View {
            enrollment_id: &enrollment.enrollment_id,
            student_id,
            course_id: course.course_id,
            term: &course.term,
            enrolled_at,
        };
        let location = format!("/enrollments/{student_id}/{}", course.course_id);
        let reply = Reply::created(location, &view)?;
        let (changed_at_ms, patience) = (enrolled_at.as_millis(), Patience::default());
        Ok(Self { app, caller, course, enrollment, changed_at_ms, reply, idempotency, patience })
    }

    /// Tries stripes until one gives a seat, none has any, or time is up.
    ///
    /// What was seen only saves looking: every answer but a remembered
    /// `COURSE_FULL` comes from a condition or a consistent read.
    async fn take_a_seat(mut self) -> Result<Reply, Problem> {
        let mut seen = match looks::remembered(self.app, self.course.course_id) {
            None => Seen::Nothing,
            Some(look) if look.is_complete && !look.has_seats() => Seen::Full,
            Some(look) => Seen::Stripes(look, Vec::new()),
        };
        loop {
            let stripe = match &seen {
                Seen::Nothing | Seen::Full => seats::choose_blindly(self.app, &self.course),
                Seen::Stripes(look, refused) => seats::choose(self.app, &look.stripes, refused),
            };
            let Some(stripe) = stripe else {
                match self.look_further(&seen).await? {
                    Some(look) => seen = Seen::Stripes(look, Vec::new()),
                    None => return self.refuse_by_reading(Refusal::CourseFull).await,
                }
                continue;
            };
            match (self.try_stripe(stripe).await?, &mut seen) {
                (Tried::Served(reply), _) => return Ok(reply),
                (Tried::NoSeatHere, Seen::Full) => return Err(Refusal::CourseFull.into()),
                (Tried::NoSeatHere, Seen::Stripes(_, refused)) => refused.push(stripe),
                (Tried::NoSeatHere, Seen::Nothing) => seen = Seen::Stripes(Arc::default(), vec![]),
                // Losers must not queue for a stripe that has nothing to give.
                (Tried::Contended { on_seats: true }, Seen::Full) => {
                    return self.refuse_by_reading(Refusal::CourseFull).await;
                }
                // Many were shown the same few stripes. A later look tells them all
                // that those are empty; each by itself would have to queue for that.
                (Tried::Contended { on_seats: true }, Seen::Stripes(_, refused))
                    if looks::is_shared(&self.course) =>
                {
                    refused.push(stripe);
                    self.pause().await?;
                }
                (Tried::Contended { .. }, _) => self.pause().await?,
            }
        }
    }

    /// Looks at more stripes than were seen, at last at all, by the course as it
    /// is now. `None` when none of those has a seat.
    async fn look_further(&mut self, seen: &Seen) -> Result<Option<Arc<Look>>, Problem> {
        let mut look = None;
        let mut after = Instant::default();
        match seen {
            Seen::Stripes(seen, _) if seen.is_complete => {
                after = seen.at;
                self.pause().await?; // others were faster: let the crowd thin out
            }
            Seen::Stripes(seen, _) => {
                look = looks::sample(self.app, &self.course, seen.stripes.len()).await?;
            }
            Seen::Nothing | Seen::Full => {}
        }
        let look = match look {
            Some(look) => look,
            None => self.look_at_all(after).await?,
        };
        Ok(look.has_seats().then_some(look))
    }

    /// What was seen of all stripes after `after`, by whoever looked.
    async fn look_at_all(&mut self, after: Instant) -> Result<Arc<Look>, Problem> {
        let course = courses::get_fresh(self.app, self.course.course_id).await?;
        let course = course.ok_or_else(|| broken("the course"))?;
        if !looks::is_shared(&course) {
            return looks::look(self.app, &course, Read::Consistent).await;
        }
        looks::keep_apart(self.app).await;
        loop {
            if let Some(look) = looks::look_for_all(self.app, &course, after).await? {
                return Ok(look);
            }
            self.pause().await?;
        }
    }

    async fn try_stripe(&mut self, stripe: u32) -> Result<Tried, Problem> {
        let writes = self.writes(stripe)?;
        match self.app.table(TABLE).transact(writes, &mut self.patience).await {
            Ok(()) => Ok(Tried::Served(self.reply.clone())),
            Err(WriteError::Refused(refusals)) => self.explain(refusals),
            Err(WriteError::Conflict(places)) => {
                Ok(Tried::Contended { on_seats: places == [SEATS] })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The transaction, with a seat from `stripe`.
    fn writes(&self, stripe: u32) -> Result<Vec<Write>, Problem> {
        let Enrollment { student_id, course_id, .. } = self.enrollment;
        let enrollment = Enrollment { stripe, ..self.enrollment.clone() };
        let enrollment = item(keys::enrollment(student_id, course_id), &enrollment)?;
        let mut writes = vec![
            self.pay(),
            Stripe::take(course_id, stripe),
            Write::put(enrollment).when("attribute_not_exists(pk)"),
        ];
        if let Some(idempotency) = &self.idempotency {
            writes.push(idempotency.write(&self.reply, self.app.clock.now())?);
        }
        Ok(writes)
    }

    /// The write by which the student's plan pays for the course.
    fn pay(&self) -> Write {
        let Enrollment { student_id, course_id, credit, term, periods, .. } = &self.enrollment;
        let pay = "SET credits_left = credits_left - :credit, \
                   version = version + :one, updated_at_ms = :now \
                   ADD periods :periods, courses :courses";
        let mut write = Write::update(keys::plan(*student_id, term), pay)
            .when("credits_left >= :credit AND NOT contains(courses, :course)")
            .when("updated_at_ms <= :now")
            .bind(":credit", n(credit))
            .bind(":course", n(course_id))
            .bind(":courses", numbers([course_id]))
            .bind(":periods", strings(periods))
            .bind(":one", n(1))
            .bind(":now", n(self.changed_at_ms));
        for (place, period) in periods.iter().enumerate() {
            let placeholder = format!(":p{place}");
            write = write
                .when(format!("NOT contains(periods, {placeholder})"))
                .bind(&placeholder, s(period));
        }
        if self.caller.is_staff() {
            return write;
        }
        write.when("member_id = :member").bind(":member", s(&self.caller.member_id))
    }

    /// Why conditions failed, by the items that they met.
    fn explain(&mut self, mut refusals: Refusals) -> Result<Tried, Problem> {
        if let Some(kept) = refusals.take(KEPT_ANSWER) {
            let served = self.replay(kept)?;
            return Ok(served.map_or(Tried::Contended { on_seats: false }, Tried::Served));
        }
        let met = refusals.take(ENROLLMENT);
        if self.is_mine(met.as_ref()) {
            return Ok(Tried::Served(self.reply.clone()));
        }
        if let Some(plan) = refusals.take(PLAN) {
            let plan = self.require_plan(plan)?;
            plan.require_room(&self.course)?;
            if plan.updated_at_ms <= self.changed_at_ms {
                return Err(broken("the reason for a refusal by the plan"));
            }
            self.changed_at_ms = plan.updated_at_ms;
            return Ok(Tried::Contended { on_seats: false });
        }
        if met.is_some() {
            return Err(Refusal::AlreadyEnrolled.into());
        }
        Ok(Tried::NoSeatHere)
    }

    /// Whether the enrollment that was met is this attempt's own: one that was
    /// sent earlier, with another stripe, and arrived late.
    fn is_mine(&self, met: Option<&Option<Item>>) -> bool {
        let id = met.and_then(|met| met.as_ref()?.get("enrollment_id")?.as_s().ok());
        id.is_some_and(|id| *id == self.enrollment.enrollment_id)
    }

    /// Refuses with `refusal`, unless the request was served before or another
    /// refusal comes first. Reads the plan, since no condition has told.
    async fn refuse_by_reading(&self, refusal: Refusal) -> Result<Reply, Problem> {
        let plan_key = keys::plan(self.enrollment.student_id, &self.enrollment.term);
        let kept_key = self.idempotency.as_ref().map(Idempotency::key);
        let table = self.app.table(TABLE);
        let (plan, kept) = table.get_beside(plan_key, kept_key, Read::Consistent).await?;
        if let Some(served) = self.replay(kept)? {
            return Ok(served);
        }
        let plan = self.require_plan(plan)?;
        if refusal == Refusal::CourseFull {
            plan.require_room(&self.course)?;
        }
        Err(refusal.into())
    }

    fn replay(&self, kept: Option<Item>) -> Result<Option<Reply>, Problem> {
        match (&self.idempotency, kept) {
            (Some(idempotency), Some(kept)) => idempotency.replay(kept, self.app.clock.now()),
            _ => Ok(None),
        }
    }

    fn require_plan(&self, plan: Option<Item>) -> Result<Plan, Problem> {
        let plan = Plan::from_item(plan.ok_or(Refusal::StudentNotFound)?)?;
        plan.require_owner(&self.caller)?;
        Ok(plan)
    }

    async fn pause(&mut self) -> Result<(), Problem> {
        if self.patience.pause(self.app).await {
            return Ok(());
        }
        Err(Problem::busy("contended past the budget"))
    }
}
