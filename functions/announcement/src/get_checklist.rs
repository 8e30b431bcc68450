//! `GET /announcements/{id}/checklist`: which documents the caller has, as one
//! read of the announcement and the checklist beside it.

use platform::table::{Read, read};
use platform::{App, Function, Operation, Problem, Reply, Request, auth, http};

use crate::announcement::Meta;
use crate::checklist::{self, Checklist};
use crate::ids::AnnouncementId;
use crate::refusal::Refusal;
use crate::{TABLE, keys};

/// The function.
pub static FUNCTION: Function = Function::http("get-checklist", |a, r| Box::pin(handle(a, r)));

/// What the document says of it.
pub fn operation() -> Operation {
    let summary = "Which documents the caller has for an announcement.";
    Operation::new(FUNCTION, "GET /announcements/{id}/checklist", summary)
        .for_members()
        .path::<AnnouncementId>("id", "youth-rooms")
        .answers::<checklist::View<'_>>(checklist::example())
        .tells_version()
        .refuses([Refusal::AnnouncementNotFound])
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    let id: AnnouncementId = http::path(&request, "id")?;
    let (meta, checklist) = look(app, &caller.member_id, &id).await?;
    checklist::reply(checklist.as_ref(), &meta)
}

/// An announcement and a member's checklist for it, as they are now.
pub(crate) async fn look(
    app: &App,
    member_id: &str,
    id: &AnnouncementId,
) -> Result<(Meta, Option<Checklist>), Problem> {
    let (meta, checklist) = (keys::meta(id), keys::checklist(member_id, id));
    let (meta, checklist) =
        app.table(TABLE).get_beside(meta, Some(checklist), Read::Consistent).await?;
    let meta = meta.ok_or(Refusal::AnnouncementNotFound)?;
    Ok((read(meta)?, checklist.map(read).transpose()?))
}
