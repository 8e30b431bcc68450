//! `GET /courses/{courseId}/enrollments`: a course's students, in the order in
//! which they enrolled.
//!
//! The roster lies in eight partitions of the index, so that no enrollment
//! waits for it; a page merges one query of each.

use platform::auth;
use platform::clock::Instant;
use platform::http::{List, Page};
use platform::table::{Item, Query, s};
use platform::{App, Function, Operation, Problem, Reply, Request, http};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::course::broken;
use crate::ids::{CourseId, StudentId};
use crate::refusal::Refusal;
use crate::{TABLE, courses, keys};

/// The function.
pub static FUNCTION: Function = Function::http("list-roster", |a, r| Box::pin(handle(a, r)));

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Entry {
    student_id: StudentId,
    enrolled_at: Instant,
}

/// What the document says of it.
pub fn operation() -> Operation {
    let route = "GET /courses/{courseId}/enrollments";
    Operation::new(FUNCTION, route, "A course's students, in the order of their enrollments.")
        .for_staff()
        .path::<CourseId>("courseId", 1)
        .pages(20)
        .lists::<Entry>(json!({ "studentId": 1, "enrolledAt": "2030-02-01T09:00:00.120Z" }))
        .refuses([Refusal::CourseNotFound])
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    let course: CourseId = http::path(&request, "courseId")?;
    let page = Page::<String>::of(&request, format!("roster {course}"))?;
    courses::get(app, course).await?.ok_or(Refusal::CourseNotFound)?;
    caller.require_staff()?;
    let mut positions = positions(app, course, &page).await?;
    positions.sort_unstable();
    let (positions, next_cursor) = page.cut(positions)?;
    let items = positions.iter().map(|position| entry(position)).collect::<Result<_, _>>()?;
    Reply::ok(&List::<Entry> { items, next_cursor })
}

/// More than a page of positions, if there are, from all partitions.
async fn positions(
    app: &App,
    course: CourseId,
    page: &Page<String>,
) -> Result<Vec<String>, Problem> {
    let table = app.table(TABLE);
    let after = page.after.as_deref().unwrap_or_default();
    let pages = (0..keys::ROSTER_SHARDS).map(|shard| {
        table.query(Query {
            index: Some("index1"),
            condition: "index1_pk = :pk AND index1_sk > :after".into(),
            values: vec![
                (":pk", s(keys::roster_partition(course, shard))),
                (":after", s(if after.is_empty() { " " } else { after })),
            ],
            limit: page.limit + 1,
            ..Query::default()
        })
    });
    let pages = platform::table::all(pages).await?;
    pages.into_iter().flatten().map(position).collect()
}

fn position(mut item: Item) -> Result<String, Problem> {
    let position = item.remove("index1_sk").and_then(|value| value.as_s().ok().cloned());
    position.ok_or_else(|| broken("a position in a roster"))
}

fn entry(position: &str) -> Result<Entry, Problem> {
    let (enrolled_at_ms, student_id) =
        keys::parse_roster_position(position).ok_or_else(|| broken("a position in a roster"))?;
    Ok(Entry { student_id, enrolled_at: Instant::from_millis(enrolled_at_ms) })
}
