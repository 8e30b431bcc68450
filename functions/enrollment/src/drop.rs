//! `DELETE /enrollments/{studentId}/{courseId}`: give a seat back.
//!
//! The enrollment says which stripe gave the seat and what the plan paid, so
//! it is read first; its id guards the transaction, so that nothing is given
//! back twice.

use platform::auth::{self, Caller};
use platform::clock::Instant;
use platform::table::{Read, Refusals, Write, WriteError, n, numbers, read, s, strings};
use platform::{App, Function, Operation, Problem, Reply, Request, http};

use crate::course::broken;
use crate::enroll::Enrollment;
use crate::ids::{CourseId, StudentId};
use crate::plan::Plan;
use crate::refusal::Refusal;
use crate::seats::Stripe;
use crate::{TABLE, keys};

/// The function.
pub static FUNCTION: Function = Function::http("drop", |a, r| Box::pin(handle(a, r)));

/// Writes of the transaction, in order.
const PLAN: usize = 0;
const ENROLLMENT: usize = 2;

/// What the document says of it.
pub fn operation() -> Operation {
    let route = "DELETE /enrollments/{studentId}/{courseId}";
    Operation::new(FUNCTION, route, "Give a student's seat in a course back.")
        .for_members()
        .path::<StudentId>("studentId", 1)
        .path::<CourseId>("courseId", 1)
        .answers_nothing()
        .refuses([Refusal::EnrollmentNotFound, Refusal::Forbidden])
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    let student: StudentId = http::path(&request, "studentId")?;
    let course: CourseId = http::path(&request, "courseId")?;
    let table = app.table(TABLE);
    let item = table.get(keys::enrollment(student, course), Read::Consistent).await?;
    let enrollment: Enrollment = read(item.ok_or(Refusal::EnrollmentNotFound)?)?;
    let mut now = app.clock.now();
    loop {
        match table.commit(writes(&caller, &enrollment, now)).await {
            Ok(()) => return Ok(Reply::no_content()),
            Err(WriteError::Refused(refusals)) => now = explain(&caller, refusals, now)?,
            Err(error) => return Err(error.into()),
        }
    }
}

fn writes(caller: &Caller, enrollment: &Enrollment, now: Instant) -> Vec<Write> {
    let Enrollment { student_id, course_id, stripe, .. } = *enrollment;
    vec![
        pay_back(caller, enrollment, now),
        Stripe::give_back(course_id, stripe),
        Write::delete(keys::enrollment(student_id, course_id))
            .when("enrollment_id = :id")
            .bind(":id", s(&enrollment.enrollment_id)),
    ]
}

/// The write by which the student's plan gets back what it paid.
fn pay_back(caller: &Caller, enrollment: &Enrollment, now: Instant) -> Write {
    let Enrollment { student_id, course_id, credit, term, periods, .. } = enrollment;
    let pay_back = "SET credits_left = credits_left + :credit, \
                    version = version + :one, updated_at_ms = :now \
                    DELETE periods :periods, courses :courses";
    let write = Write::update(keys::plan(*student_id, term), pay_back)
        .when("contains(courses, :course) AND updated_at_ms <= :now")
        .bind(":credit", n(credit))
        .bind(":course", n(course_id))
        .bind(":courses", numbers([course_id]))
        .bind(":periods", strings(periods))
        .bind(":one", n(1))
        .bind(":now", n(now.as_millis()));
    if caller.is_staff() {
        return write;
    }
    write.when("member_id = :member").bind(":member", s(&caller.member_id))
}

/// Why conditions failed; or the time of the plan's last change, if that alone
/// was later than `now`. The times of a plan's versions are in their order.
fn explain(caller: &Caller, mut refusals: Refusals, now: Instant) -> Result<Instant, Problem> {
    if refusals.includes(ENROLLMENT) {
        return Err(Refusal::EnrollmentNotFound.into()); // somebody dropped it in between
    }
    let broken = || broken("the plan or the stripe of an enrollment");
    let plan = refusals.take(PLAN).flatten().ok_or_else(broken)?;
    let plan = Plan::from_item(plan)?;
    plan.require_owner(caller)?;
    let changed_at = Instant::from_millis(plan.updated_at_ms);
    if changed_at > now { Ok(changed_at) } else { Err(broken()) }
}
