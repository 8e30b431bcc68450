//! `PUT /schedules/{id}`: make a schedule what the body says, all of it.
//!
//! What is left out takes its default. A body that changes nothing writes
//! nothing: the version stays. The calendar's version guards only a change that
//! takes up time which the schedule did not have; the schedule's own version
//! guards every change.

use platform::auth;
use platform::table::{Patience, Read, Write, WriteError, read};
use platform::{App, Function, Operation, Problem, Reply, Request, http};

use crate::ids::ScheduleId;
use crate::refusal::Refusal;
use crate::schedule::{self, Schedule};
use crate::wanted::{self, Wanted};
use crate::{TABLE, calendar, keys, reminder};

/// The function.
pub static FUNCTION: Function = Function::http("update-schedule", |a, r| Box::pin(handle(a, r)));

/// What the document says of it.
pub fn operation() -> Operation {
    let summary = "Make a schedule what the body says, all of it.";
    Operation::new(FUNCTION, "PUT /schedules/{id}", summary)
        .for_members()
        .path::<ScheduleId>("id", "01941f29-7c00-7000-8000-000000000001")
        .if_match()
        .body::<wanted::Body>(wanted::example())
        .answers::<schedule::View<'_>>(schedule::example())
        .tells_version()
        .refuses([Refusal::ScheduleNotFound])
        .refuses(Refusal::conflict_example())
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    let id: ScheduleId = http::path(&request, "id")?;
    let version = http::if_match(&request)?;
    let wanted = Wanted::of(app, &request, &caller.member_id).await?;
    update(app, &caller.member_id, &id, version, &wanted).await?.reply()
}

/// What is there before the change.
struct Seen {
    calendar: u64,
    schedule: Schedule,
}

/// The schedule as it is after the change.
async fn update(
    app: &App,
    member_id: &str,
    id: &ScheduleId,
    version: Option<u64>,
    wanted: &Wanted,
) -> Result<Schedule, Problem> {
    let mut patience = Patience::default();
    let change_id = app.new_id();
    loop {
        let seen = look(app, member_id, id).await?.ok_or(Refusal::ScheduleNotFound)?;
        if seen.schedule.change_id == change_id {
            return Ok(seen.schedule); // it was sent before, and arrived late
        }
        let Schedule { version: there, .. } = seen.schedule;
        if version.is_some_and(|version| version != there) {
            return Err(Refusal::VersionMismatch { version: there }.into());
        }
        let changed = seen.schedule.changed(wanted.clone(), &change_id, app.clock.now());
        if changed.says_the_same_as(&seen.schedule) {
            return Ok(seen.schedule);
        }
        let writes = writes(app, &seen, &changed).await?;
        match app.table(TABLE).transact(writes, &mut patience).await {
            Ok(()) => return Ok(changed),
            Err(WriteError::Refused(_) | WriteError::Conflict(_)) => {}
            Err(error) => return Err(error.into()),
        }
        if !patience.pause(app).await {
            return Err(Problem::busy("the schedule or its calendar keeps changing"));
        }
    }
}

async fn look(app: &App, member_id: &str, id: &ScheduleId) -> Result<Option<Seen>, Problem> {
    let calendar_key = keys::calendar(member_id);
    let schedule_key = keys::schedule(member_id, id);
    let table = app.table(TABLE);
    let (calendar, schedule) =
        table.get_beside(calendar_key, Some(schedule_key), Read::Consistent).await?;
    let Some(schedule) = schedule else {
        return Ok(None);
    };
    let calendar = calendar::version_of(calendar)?;
    Ok(Some(Seen { calendar, schedule: read(schedule)? }))
}

/// The writes that put `changed` in the place of what was seen. Refuses if
/// another schedule is in the way.
async fn writes(app: &App, seen: &Seen, changed: &Schedule) -> Result<Vec<Write>, Problem> {
    let mut writes = vec![changed.replace(&seen.schedule)?];
    if !seen.schedule.covers(changed) {
        if let Some(conflicts_with) = calendar::collision(app, changed).await? {
            return Err(Refusal::ScheduleConflict { conflicts_with }.into());
        }
        writes.push(calendar::take_up_time(&changed.member_id, seen.calendar)?);
    }
    writes.extend(reminder::change(&seen.schedule, changed, app.clock.now())?);
    Ok(writes)
}
