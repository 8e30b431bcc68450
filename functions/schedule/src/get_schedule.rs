//! `GET /schedules/{id}`: one schedule of the caller's, as it is now.

use platform::auth;
use platform::table::{Read, read};
use platform::{App, Function, Problem, Reply, Request, http};

use crate::ids::ScheduleId;
use crate::refusal::Refusal;
use crate::schedule::Schedule;
use crate::{TABLE, keys};

/// The function.
pub static FUNCTION: Function = Function::http("get-schedule", |a, r| Box::pin(handle(a, r)));

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    let id: ScheduleId = http::path(&request, "id")?;
    // Somebody else's lies in another partition, so it is not there.
    let key = keys::schedule(&caller.member_id, &id);
    let item = app.table(TABLE).get(key, Read::Consistent).await?;
    let schedule: Schedule = read(item.ok_or(Refusal::ScheduleNotFound)?)?;
    schedule.reply()
}
