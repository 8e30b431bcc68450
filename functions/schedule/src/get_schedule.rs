//! `GET /schedules/{id}`: one schedule of the caller's, as it is now.

use platform::auth;
use platform::table::{Read, read};
use platform::{App, Function, Operation, Problem, Reply, Request, http};

use crate::ids::ScheduleId;
use crate::refusal::Refusal;
use crate::schedule::{self, Schedule};
use crate::{TABLE, keys};

/// The function.
pub static FUNCTION: Function = Function::http("get-schedule", |a, r| Box::pin(handle(a, r)));

/// What the document says of it.
pub fn operation() -> Operation {
    Operation::new(FUNCTION, "GET /schedules/{id}", "A schedule of the caller's.")
        .for_members()
        .path::<ScheduleId>("id", "01941f29-7c00-7000-8000-000000000001")
        .answers::<schedule::View<'_>>(schedule::example())
        .tells_version()
        .refuses([Refusal::ScheduleNotFound])
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    let id: ScheduleId = http::path(&request, "id")?;
    // Somebody else's lies in another partition, so it is not there.
    let key = keys::schedule(&caller.member_id, &id);
    let item = app.table(TABLE).get(key, Read::Consistent).await?;
    let schedule: Schedule = read(item.ok_or(Refusal::ScheduleNotFound)?)?;
    schedule.reply()
}
