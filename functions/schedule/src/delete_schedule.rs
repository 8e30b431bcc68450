//! `DELETE /schedules/{id}`: take a schedule and its reminder out of the
//! caller's calendar.
//!
//! Nothing is read first, and the calendar keeps its version: time that gets
//! free makes no search for a collision wrong.

use platform::auth;
use platform::table::{Refusals, Write, WriteError, n, read};
use platform::{App, Function, Operation, Problem, Reply, Request, http};

use crate::ids::ScheduleId;
use crate::refusal::Refusal;
use crate::schedule::Schedule;
use crate::{TABLE, keys, reminder};

/// The function.
pub static FUNCTION: Function = Function::http("delete-schedule", |a, r| Box::pin(handle(a, r)));

/// Writes of the transaction, in order.
const SCHEDULE: usize = 0;

/// What the document says of it.
pub fn operation() -> Operation {
    let summary = "Take a schedule and its reminder out of the caller's calendar.";
    Operation::new(FUNCTION, "DELETE /schedules/{id}", summary)
        .for_members()
        .path::<ScheduleId>("id", "01941f29-7c00-7000-8000-000000000001")
        .if_match()
        .answers_nothing()
        .refuses([Refusal::ScheduleNotFound])
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    let id: ScheduleId = http::path(&request, "id")?;
    let version = http::if_match(&request)?;
    let writes = writes(&caller.member_id, &id, version);
    match app.table(TABLE).commit(writes).await {
        Ok(()) => Ok(Reply::no_content()),
        Err(WriteError::Refused(refusals)) => Err(explain(refusals)),
        Err(error) => Err(error.into()),
    }
}

fn writes(member_id: &str, id: &ScheduleId, version: Option<u64>) -> Vec<Write> {
    let mut schedule = Write::delete(keys::schedule(member_id, id)).when("attribute_exists(pk)");
    if let Some(version) = version {
        schedule = schedule.when("version = :version").bind(":version", n(version));
    }
    vec![schedule, reminder::delete(member_id, id)]
}

fn explain(mut refusals: Refusals) -> Problem {
    match refusals.take(SCHEDULE).flatten().map(read::<Schedule>) {
        None => Refusal::ScheduleNotFound.into(),
        Some(Ok(Schedule { version, .. })) => Refusal::VersionMismatch { version }.into(),
        Some(Err(unreadable)) => unreadable,
    }
}
