//! `GET /courses/{courseId}`: a course and its seats.
//!
//! The seats are the sum of the stripes, remembered for a second. Staff, who
//! alone change courses, see their own changes at once, and so does anybody
//! who asks with `?fresh=true`.

use platform::table::Read;
use platform::{App, Function, Operation, Problem, Reply, Request, auth, http};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::course::{self, CourseView};
use crate::ids::CourseId;
use crate::refusal::Refusal;
use crate::{courses, looks};

/// The function.
pub static FUNCTION: Function = Function::http("get-course", |a, r| Box::pin(handle(a, r)));

#[derive(Serialize, ToSchema)]
struct View {
    #[serde(flatten)]
    course: CourseView,
    seats: Seats,
}

#[derive(Serialize, ToSchema)]
struct Seats {
    capacity: u64,
    enrolled: u64,
    left: u64,
}

/// What the document says of it.
pub fn operation() -> Operation {
    let mut course = course::example();
    course["seats"] = json!({ "capacity": 30, "enrolled": 12, "left": 18 });
    Operation::new(FUNCTION, "GET /courses/{courseId}", "A course and its seats.")
        .for_anyone_with_token()
        .path::<CourseId>("courseId", 1)
        .query::<bool>("fresh", "Whether seats must be counted now, not within the last second.")
        .answers::<View>(course)
        .refuses([Refusal::CourseNotFound])
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let id: CourseId = http::path(&request, "courseId")?;
    let asks_fresh = http::query::<bool>(&request, "fresh")?.unwrap_or(false);
    let is_staff = auth::caller(app, &request).is_ok_and(|caller| caller.is_staff());
    let is_fresh = asks_fresh || is_staff;
    let course =
        if is_fresh { courses::get_fresh(app, id).await? } else { courses::get(app, id).await? };
    let course = course.ok_or(Refusal::CourseNotFound)?;
    let remembered = looks::remembered(app, id)
        .filter(|look| look.stripes.len() == course.stripes as usize && !is_fresh);
    let look = match remembered {
        Some(look) => look,
        None => {
            let read = if is_fresh { Read::Consistent } else { Read::Eventual };
            looks::look(app, &course, read).await?
        }
    };
    let stripes = look.stripes.iter();
    let (capacity, left) = stripes
        .fold((0, 0), |(seats, left), stripe| (seats + stripe.seats, left + stripe.seats_left));
    let seats = Seats { capacity, enrolled: capacity - left, left };
    Reply::ok(&View { course: course.view(), seats })
}
