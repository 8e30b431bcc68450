//! `GET /students/{studentId}/enrollments`: a student's courses in a term.
//!
//! The plan lists them, so a page costs the same however many terms there were.

use std::collections::HashMap;

use platform::auth;
use platform::clock::Instant;
use platform::http::Page;
use platform::table::{Read, read};
use platform::text::{Text, slug};
use platform::{App, Function, Operation, Problem, Reply, Request, http};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::enroll::Enrollment;
use crate::ids::{CourseId, StudentId};
use crate::meeting::Meeting;
use crate::plan::Plan;
use crate::put_student::DEFAULT_TERM;
use crate::refusal::Refusal;
use crate::{TABLE, courses, keys};

/// The function.
pub static FUNCTION: Function = Function::http("get-timetable", |a, r| Box::pin(handle(a, r)));

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct View {
    items: Vec<Entry>,
    #[schema(nullable = false)]
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    credits: Credits,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TimetableEntry)]
struct Entry {
    course_id: CourseId,
    name: String,
    credit: u32,
    meetings: Vec<Meeting>,
    enrolled_at: Instant,
}

#[derive(Serialize, ToSchema)]
struct Credits {
    taken: i64,
    max: i64,
}

/// What the document says of it.
pub fn operation() -> Operation {
    let timetable = json!({
        "items": [{
            "courseId": 1,
            "name": "Databases",
            "credit": 3,
            "meetings": [{ "dayOfWeek": "MON", "startPeriod": 1, "endPeriod": 3 }],
            "enrolledAt": "2030-02-01T09:00:00.120Z",
        }],
        "credits": { "taken": 3, "max": 18 },
    });
    let route = "GET /students/{studentId}/enrollments";
    Operation::new(FUNCTION, route, "A student's courses in a term.")
        .for_members()
        .path::<StudentId>("studentId", 1)
        .query::<platform::text::Slug>("term", "Which term: default, if it is left out.")
        .pages(20)
        .answers::<View>(timetable)
        .refuses([Refusal::StudentNotFound, Refusal::Forbidden])
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    let student: StudentId = http::path(&request, "studentId")?;
    let term = term(&request)?;
    let page = Page::<CourseId>::of(&request, format!("timetable {student} {term}"))?;
    let item = app.table(TABLE).get(keys::plan(student, &term), Read::Consistent).await?;
    let plan = Plan::from_item(item.ok_or(Refusal::StudentNotFound)?)?;
    plan.require_owner(&caller)?;
    let ids = plan.courses.iter().copied().filter(|id| page.after.is_none_or(|a| *id > a));
    let (ids, next_cursor) = page.cut(ids.collect())?;
    let items = entries(app, student, &ids).await?;
    let credits = Credits { taken: plan.max_credits - plan.credits_left, max: plan.max_credits };
    Reply::ok(&View { items, next_cursor, credits })
}

fn term(request: &Request) -> Result<String, Problem> {
    let Some(term) = http::query::<String>(request, "term")? else {
        return Ok(DEFAULT_TERM.to_owned());
    };
    let term = Text::from(term.as_str());
    slug(&term, &()).map_err(|error| Problem::invalid("term", error))?;
    Ok(term.into_string())
}

async fn entries(app: &App, student: StudentId, ids: &[CourseId]) -> Result<Vec<Entry>, Problem> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let keys = ids.iter().map(|id| keys::enrollment(student, *id)).collect();
    let items = app.table(TABLE).batch_get(keys, Read::Consistent).await?;
    let enrollments = items
        .into_iter()
        .map(|item| read::<Enrollment>(item).map(|enrollment| (enrollment.course_id, enrollment)));
    let enrollments = enrollments.collect::<Result<HashMap<_, _>, _>>()?;
    let courses = courses::get_many(app, ids).await?;
    let entry = |id: &CourseId| {
        // One that was dropped since the plan was read is left out.
        let (enrollment, course) = (enrollments.get(id)?, courses.get(id)?);
        Some(Entry {
            course_id: *id,
            name: course.name.clone(),
            credit: enrollment.credit,
            meetings: course.meetings.clone(),
            enrolled_at: Instant::from_millis(enrollment.enrolled_at_ms),
        })
    };
    Ok(ids.iter().filter_map(entry).collect())
}
