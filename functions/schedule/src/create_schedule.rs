//! `POST /schedules`: put a schedule into the caller's calendar.
//!
//! Two reads and one transaction. Only the version of the calendar ties them
//! together: whoever takes up time in between changes it, and then everything
//! begins anew.

use platform::auth;
use platform::idempotency::Idempotency;
use platform::problem::IDEMPOTENCY_KEY_REUSED;
use platform::table::{Item, Patience, Read, Refusals, Write, WriteError};
use platform::{App, Function, Operation, Problem, Reply, Request};

use crate::ids::ScheduleId;
use crate::refusal::Refusal;
use crate::schedule::{self, Schedule};
use crate::wanted::{self, Wanted};
use crate::{TABLE, calendar, keys, reminder};

/// The function.
pub static FUNCTION: Function = Function::http(NAME, |a, r| Box::pin(handle(a, r)));

const NAME: &str = "create-schedule";

/// Writes of the transaction, in order: a failed condition is known by its
/// place. The calendar's, the first, only says that somebody was faster; the
/// reminder, the last, has none.
const SCHEDULE: usize = 1;
const KEPT_ANSWER: usize = 2;

/// What the document says of it.
pub fn operation() -> Operation {
    let summary = "Put a schedule into the caller's calendar.";
    Operation::new(FUNCTION, "POST /schedules", summary)
        .for_members()
        .keyed()
        .body::<wanted::Body>(wanted::example())
        .creates::<schedule::View<'_>>(schedule::example())
        .tells_version()
        .refuses(Refusal::conflict_example())
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    let idempotency = Idempotency::of(&request, &caller, NAME)?;
    let wanted = match Wanted::of(app, &request, &caller.member_id).await {
        Ok(wanted) => wanted,
        Err(invalid) => return answer_invalid(app, idempotency.as_ref(), invalid).await,
    };
    let id = ScheduleId::new(app);
    let schedule = Schedule::new(id, &caller.member_id, wanted, app.clock.now());
    let location = format!("/schedules/{}", schedule.schedule_id);
    let reply = Reply::created(location, &schedule.view())?.etag(schedule.version);
    let patience = Patience::default();
    Attempt { app, schedule, reply, idempotency, patience }.create().await
}

/// Refuses what is not valid, unless it was when it was first served: local
/// times mean others once the member's zone is another.
async fn answer_invalid(
    app: &App,
    idempotency: Option<&Idempotency>,
    invalid: Problem,
) -> Result<Reply, Problem> {
    match served(app, idempotency).await {
        Ok(Some(reply)) => Ok(reply),
        Ok(None) => Err(invalid),
        Err(other) if other.kind() == IDEMPOTENCY_KEY_REUSED => Err(invalid),
        Err(failed) => Err(failed),
    }
}

/// The answer that the request got when it was first served, if it was.
async fn served(app: &App, idempotency: Option<&Idempotency>) -> Result<Option<Reply>, Problem> {
    let Some(idempotency) = idempotency else { return Ok(None) };
    let kept = app.table(TABLE).batch_get(vec![idempotency.key()], Read::Consistent).await?;
    replay(app, Some(idempotency), kept.into_iter().next())
}

fn replay(
    app: &App,
    idempotency: Option<&Idempotency>,
    kept: Option<Item>,
) -> Result<Option<Reply>, Problem> {
    match (idempotency, kept) {
        (Some(idempotency), Some(kept)) => idempotency.replay(kept, app.clock.now()),
        _ => Ok(None),
    }
}

/// One attempt to create one schedule.
struct Attempt<'a> {
    app: &'a App,
    schedule: Schedule,
    reply: Reply,
    idempotency: Option<Idempotency>,
    patience: Patience,
}

/// What there is before anything is written.
enum Seen {
    /// The answer that this request got when it was first served.
    Served(Reply),
    /// The version of the calendar.
    Calendar(u64),
}

impl Attempt<'_> {
    async fn create(mut self) -> Result<Reply, Problem> {
        loop {
            // Read anew each time: a version from before a pause is old already.
            let calendar = match self.look().await? {
                Seen::Served(reply) => return Ok(reply),
                Seen::Calendar(version) => version,
            };
            if let Some(id) = calendar::collision(self.app, &self.schedule).await? {
                return self.refuse(id).await;
            }
            let writes = self.writes(calendar)?;
            match self.app.table(TABLE).transact(writes, &mut self.patience).await {
                Ok(()) => return Ok(self.reply),
                Err(WriteError::Refused(refusals)) => {
                    if let Some(served) = self.explain(refusals)? {
                        return Ok(served);
                    }
                }
                Err(WriteError::Conflict(_)) => {}
                Err(error) => return Err(error.into()),
            }
            if !self.patience.pause(self.app).await {
                return Err(Problem::busy("the calendar keeps changing"));
            }
        }
    }

    /// Reads the calendar, and whether the request was served before.
    async fn look(&self) -> Result<Seen, Problem> {
        let calendar_key = keys::calendar(&self.schedule.member_id);
        let kept_key = self.idempotency.as_ref().map(Idempotency::key);
        let table = self.app.table(TABLE);
        let (calendar, kept) = table.get_beside(calendar_key, kept_key, Read::Consistent).await?;
        if let Some(served) = self.replay(kept)? {
            return Ok(Seen::Served(served));
        }
        calendar::version_of(calendar).map(Seen::Calendar)
    }

    fn writes(&self, calendar: u64) -> Result<Vec<Write>, Problem> {
        let now = self.app.clock.now();
        let mut writes = vec![
            calendar::take_up_time(&self.schedule.member_id, calendar)?,
            self.schedule.create()?,
        ];
        if let Some(idempotency) = &self.idempotency {
            // The calendar's version refuses a repeat too, unless it was read
            // after the first write and the kept answer before it.
            writes.push(idempotency.write(&self.reply, now)?);
        }
        writes.extend(reminder::set(&self.schedule, now)?);
        Ok(writes)
    }

    /// The answer, if the conditions that failed say that the request was served
    /// before. Else somebody was faster.
    fn explain(&self, mut refusals: Refusals) -> Result<Option<Reply>, Problem> {
        if let Some(kept) = refusals.take(KEPT_ANSWER) {
            return self.replay(kept);
        }
        // Nobody else has this id: it was sent before, and arrived late.
        Ok(refusals.includes(SCHEDULE).then(|| self.reply.clone()))
    }

    /// Refuses because of the schedule that is there, unless it is this very
    /// request that put it there, when it was first sent.
    async fn refuse(&self, there: ScheduleId) -> Result<Reply, Problem> {
        let served = served(self.app, self.idempotency.as_ref()).await?;
        served.ok_or_else(|| Refusal::ScheduleConflict { conflicts_with: there }.into())
    }

    fn replay(&self, kept: Option<Item>) -> Result<Option<Reply>, Problem> {
        replay(self.app, self.idempotency.as_ref(), kept)
    }
}
