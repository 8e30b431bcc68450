//! `PUT /announcements/{id}/favorite`: make an announcement one of the caller's
//! favorites.
//!
//! 204 as well if it is one already. One that has closed can become nobody's
//! favorite any more; one that has not opened yet can.

use platform::clock::Instant;
use platform::table::Read;
use platform::{App, Function, Operation, Problem, Reply, Request, auth, http};

use crate::announcement::Meta;
use crate::favorite::{self, Changed, Favorite};
use crate::ids::AnnouncementId;
use crate::refusal::Refusal;
use crate::{TABLE, announcements, keys};

/// The function.
pub static FUNCTION: Function = Function::http("add-favorite", |a, r| Box::pin(handle(a, r)));

/// What the document says of it.
pub fn operation() -> Operation {
    let summary = "Make an announcement one of the caller's favorites.";
    Operation::new(FUNCTION, "PUT /announcements/{id}/favorite", summary)
        .for_members()
        .path::<AnnouncementId>("id", "youth-rooms")
        .answers_nothing()
        .refuses([
            Refusal::AnnouncementNotFound,
            Refusal::closed_example(),
            Refusal::TooManyFavorites { most: favorite::MOST },
        ])
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    let id: AnnouncementId = http::path(&request, "id")?;
    let announcement = announcements::find(app, &id, caller.is_staff()).await?;
    let announcement = announcement.ok_or(Refusal::AnnouncementNotFound)?;
    let now = app.clock.now();
    if announcement.meta.is_over(now) {
        return when_closed(app, &caller.member_id, &announcement.meta, now).await;
    }
    let favorite =
        Favorite { announcement_id: id, member_id: caller.member_id, added_at_ms: now.as_millis() };
    match favorite::add(app, &announcement.meta, &favorite).await? {
        Changed::Refused(refusals) if !refusals.includes(favorite::FAVORITE) => {
            Err(Refusal::TooManyFavorites { most: favorite::MOST }.into())
        }
        Changed::Now | Changed::Refused(_) => Ok(Reply::no_content()),
    }
}

/// What is a favorite already stays one.
async fn when_closed(
    app: &App,
    member_id: &str,
    meta: &Meta,
    now: Instant,
) -> Result<Reply, Problem> {
    let key = keys::favorite(member_id, &meta.announcement_id);
    match app.table(TABLE).get(key, Read::Consistent).await? {
        Some(_) => Ok(Reply::no_content()),
        None => Err(Refusal::AnnouncementClosed { closes_at: meta.closes_at(), now }.into()),
    }
}
