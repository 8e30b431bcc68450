//! `PUT /students/{studentId}`: create a student's plan for a term, or change
//! it and keep what is taken.

use garde::Validate;
use platform::auth::{self, is_member_id};
use platform::table::{Write, WriteError, n, s};
use platform::text::{self, Text};
use platform::{App, Function, Operation, Problem, Reply, Request, http};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use crate::course::broken;
use crate::ids::StudentId;
use crate::plan::Plan;
use crate::{TABLE, keys};

/// The function.
pub static FUNCTION: Function = Function::http("put-student", |a, r| Box::pin(handle(a, r)));

/// The term of students and courses that name none.
pub const DEFAULT_TERM: &str = "default";

#[derive(Deserialize, Validate, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Body {
    #[garde(custom(text::title))]
    #[schema(value_type = text::Title)]
    name: Text,
    #[garde(custom(identifier))]
    #[schema(pattern = "^[!\"$-~]{1,64}$")]
    member_id: String,
    #[garde(range(min = 0, max = 100))]
    #[schema(minimum = 0, maximum = 100)]
    max_credits: i64,
    #[serde(default)]
    #[garde(inner(custom(text::slug)))]
    #[schema(value_type = Option<text::Slug>)]
    term: Option<Text>,
}

fn identifier(id: &str, (): &()) -> garde::Result {
    if is_member_id(id) {
        return Ok(());
    }
    Err(garde::Error::new("expected 1 to 64 printable ASCII characters without # and spaces"))
}

/// A plan as JSON.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct View<'a> {
    student_id: StudentId,
    name: &'a str,
    member_id: &'a str,
    max_credits: i64,
    term: &'a str,
}

/// What the document says of it.
pub fn operation() -> Operation {
    let plan = json!({ "name": "Ada", "memberId": "student-1", "maxCredits": 18 });
    let student = json!({
        "studentId": 1, "name": "Ada", "memberId": "student-1", "maxCredits": 18, "term": "default",
    });
    let summary = "Create a student's plan for a term, or change it.";
    Operation::new(FUNCTION, "PUT /students/{studentId}", summary)
        .for_staff()
        .path::<StudentId>("studentId", 1)
        .body::<Body>(plan)
        .puts::<View<'_>>(student)
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    let student_id: StudentId = http::path(&request, "studentId")?;
    let body: Body = http::body(&request)?;
    caller.require_staff()?;
    let term = body.term.as_ref().map_or(DEFAULT_TERM, Text::as_str);
    let Body { name, member_id, max_credits, .. } = &body;
    let plan = Plan::new(student_id, name.as_str(), member_id, term, *max_credits, app.clock.now());
    let is_new = put(app, &plan).await?;
    let Plan { name, member_id, term, max_credits, .. } = &plan;
    let view = View { student_id, name, member_id, max_credits: *max_credits, term };
    if is_new { Reply::created(format!("/students/{student_id}"), &view) } else { Reply::ok(&view) }
}

/// Creates the plan, or changes the one that is there. Whether it is new.
async fn put(app: &App, plan: &Plan) -> Result<bool, Problem> {
    let table = app.table(TABLE);
    let create = Write::put(plan.to_item()?).when("attribute_not_exists(pk)");
    let mut refused = match table.commit(vec![create]).await {
        Ok(()) => return Ok(true),
        Err(WriteError::Refused(refused)) => refused,
        Err(error) => return Err(error.into()),
    };
    loop {
        let seen = refused.take(0).flatten().ok_or_else(|| broken("the plan"))?;
        let seen = Plan::from_item(seen)?;
        refused = match table.commit(vec![change(&seen, plan)]).await {
            Ok(()) => return Ok(false),
            Err(WriteError::Refused(refused)) => refused, // another was faster: go by its value
            Err(error) => return Err(error.into()),
        };
    }
}

/// Changes the credits by the difference, so that those taken stay taken.
fn change(seen: &Plan, plan: &Plan) -> Write {
    let change = "SET #name = :name, member_id = :member, max_credits = :max, \
                  credits_left = credits_left + :more, version = version + :one, \
                  updated_at_ms = :now";
    Write::update(keys::plan(plan.student_id, &plan.term), change)
        .when("max_credits = :seen AND updated_at_ms <= :now")
        .name("#name", "name")
        .bind(":name", s(&plan.name))
        .bind(":member", s(&plan.member_id))
        .bind(":max", n(plan.max_credits))
        .bind(":more", n(plan.max_credits - seen.max_credits))
        .bind(":seen", n(seen.max_credits))
        .bind(":one", n(1))
        .bind(":now", n(plan.updated_at_ms.max(seen.updated_at_ms)))
}
