//! `PUT /announcements/{id}`: create an announcement, or make it what the body
//! says, all of it.
//!
//! Its version guards the write, so that lists, texts and documents always
//! belong together. A body that changes nothing writes nothing.

use platform::table::{Patience, WriteError};
use platform::{App, Function, Operation, Problem, Reply, Request, auth, http};

use crate::announcement::{self, Announcement};
use crate::ids::AnnouncementId;
use crate::refusal::Refusal;
use crate::wanted::{self, Wanted};
use crate::{TABLE, announcements};

/// The function.
pub static FUNCTION: Function = Function::http("put-announcement", |a, r| Box::pin(handle(a, r)));

/// What the document says of it.
pub fn operation() -> Operation {
    let summary = "Create an announcement, or make it what the body says, all of it.";
    Operation::new(FUNCTION, "PUT /announcements/{id}", summary)
        .for_staff()
        .path::<AnnouncementId>("id", "youth-rooms")
        .if_match()
        .body::<wanted::Body>(wanted::example())
        .puts::<announcement::View<'_>>(announcement::example())
        .tells_version()
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    let id: AnnouncementId = http::path(&request, "id")?;
    let version = http::if_match(&request)?;
    let wanted = Wanted::of(&request)?;
    caller.require_staff()?;
    let (announcement, is_new) = put(app, &id, version, &wanted).await?;
    let now = app.clock.now();
    if is_new {
        let created = Reply::created(format!("/announcements/{id}"), &announcement.view(now))?;
        return Ok(created.etag(announcement.meta.version));
    }
    announcement.reply(now)
}

/// The announcement as it is after the change, and whether it is new.
async fn put(
    app: &App,
    id: &AnnouncementId,
    version: Option<u64>,
    wanted: &Wanted,
) -> Result<(Announcement, bool), Problem> {
    let mut patience = Patience::default();
    let change_id = app.new_id();
    loop {
        let seen = announcements::whole(app, id).await?;
        if let Some(seen) = &seen
            && seen.meta.change_id == change_id
        {
            return Ok((seen.clone(), seen.meta.version == 1)); // it was sent before, and arrived late
        }
        let there = seen.as_ref().map_or(0, |seen| seen.meta.version);
        if version.is_some_and(|version| version != there || there == 0) {
            return Err(Refusal::VersionMismatch { version: there }.into());
        }
        let (next, writes) = match &seen {
            None => {
                let (wanted, now) = (wanted.clone(), app.clock.now());
                let new = Announcement::new(id.clone(), wanted, &change_id, now);
                let writes = new.create()?;
                (new, writes)
            }
            Some(seen) => match seen.changed(wanted.clone(), &change_id, app.clock.now()) {
                None => return Ok((seen.clone(), false)),
                Some(changed) => {
                    let writes = changed.replace(seen)?;
                    (changed, writes)
                }
            },
        };
        match app.table(TABLE).transact(writes, &mut patience).await {
            Ok(()) => return Ok((next, seen.is_none())),
            Err(WriteError::Refused(_) | WriteError::Conflict(_)) => {}
            Err(error) => return Err(error.into()),
        }
        if !patience.pause(app).await {
            return Err(Problem::busy("the announcement keeps changing"));
        }
    }
}
