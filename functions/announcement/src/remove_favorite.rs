//! `DELETE /announcements/{id}/favorite`: make an announcement none of the
//! caller's favorites.
//!
//! 204 as well if it is none already, and at any time.

use platform::{App, Function, Operation, Problem, Reply, Request, auth, http};

use crate::announcements;
use crate::favorite;
use crate::ids::AnnouncementId;
use crate::refusal::Refusal;

/// The function.
pub static FUNCTION: Function = Function::http("remove-favorite", |a, r| Box::pin(handle(a, r)));

/// What the document says of it.
pub fn operation() -> Operation {
    let summary = "Make an announcement none of the caller's favorites.";
    Operation::new(FUNCTION, "DELETE /announcements/{id}/favorite", summary)
        .for_members()
        .path::<AnnouncementId>("id", "youth-rooms")
        .answers_nothing()
        .refuses([Refusal::AnnouncementNotFound])
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    let id: AnnouncementId = http::path(&request, "id")?;
    let announcement = announcements::find(app, &id, false).await?;
    let announcement = announcement.ok_or(Refusal::AnnouncementNotFound)?;
    favorite::take(app, &announcement.meta, &caller.member_id).await?;
    Ok(Reply::no_content())
}
