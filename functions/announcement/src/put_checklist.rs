//! `PUT /announcements/{id}/checklist`: say which documents the caller has, all
//! of them at once.
//!
//! The whole list is one write, so of two devices at once one wins, with all of
//! its list; `If-Match` lets the other one know. A list that is as it is already
//! is not written.

use std::collections::HashSet;

use garde::Validate;
use platform::table::{Patience, WriteError};
use platform::{App, Function, Operation, Problem, Reply, Request, auth, http};
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::TABLE;
use crate::announcement::Meta;
use crate::checklist::{self, Checklist};
use crate::get_checklist::look;
use crate::ids::{AnnouncementId, DocumentId};
use crate::refusal::Refusal;

/// The function.
pub static FUNCTION: Function = Function::http("put-checklist", |a, r| Box::pin(handle(a, r)));

/// The most ids in one request.
const MOST_IDS: usize = 1_000;

/// So many mistakes are named.
const MOST_NAMED: usize = 10;

#[derive(Deserialize, Validate, ToSchema)]
struct Body {
    #[garde(length(max = MOST_IDS))]
    #[schema(max_items = 1_000)]
    checked: Vec<DocumentId>,
}

/// What the document says of it.
pub fn operation() -> Operation {
    let summary = "Say which documents the caller has, all of them at once.";
    Operation::new(FUNCTION, "PUT /announcements/{id}/checklist", summary)
        .for_members()
        .path::<AnnouncementId>("id", "youth-rooms")
        .if_match()
        .body::<Body>(json!({ "checked": ["id-card"] }))
        .puts::<checklist::View<'_>>(checklist::example())
        .tells_version()
        .refuses([Refusal::AnnouncementNotFound])
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    let id: AnnouncementId = http::path(&request, "id")?;
    let version = http::if_match(&request)?;
    let Body { checked } = http::body(&request)?;
    let (meta, checklist, is_new) = put(app, &caller.member_id, &id, version, &checked).await?;
    if is_new {
        let view = checklist::view(Some(&checklist), &meta);
        let location = format!("/announcements/{id}/checklist");
        return Ok(Reply::created(location, &view)?.etag(checklist.version));
    }
    checklist::reply(Some(&checklist), &meta)
}

/// The announcement, the checklist as it is after the change, and whether it is
/// new.
async fn put(
    app: &App,
    member_id: &str,
    id: &AnnouncementId,
    version: Option<u64>,
    checked: &[DocumentId],
) -> Result<(Meta, Checklist, bool), Problem> {
    let mut patience = Patience::default();
    let change_id = app.new_id();
    loop {
        let (meta, seen) = look(app, member_id, id).await?;
        if let Some(seen) = seen.clone().filter(|seen| seen.change_id == change_id) {
            let is_new = seen.version == 1;
            return Ok((meta, seen, is_new)); // it was sent before, and arrived late
        }
        let wanted = in_order(checked, &meta)?;
        let there = seen.as_ref().map_or(0, |seen| seen.version);
        if version.is_some_and(|version| version != there || there == 0) {
            return Err(Refusal::VersionMismatch { version: there }.into());
        }
        if let Some(seen) = seen.clone().filter(|seen| seen.says(&wanted, &meta)) {
            return Ok((meta, seen, false));
        }
        let next = checklist::next(seen.as_ref(), &meta, wanted, &change_id, app.clock.now());
        let write = next.write(member_id, seen.as_ref())?;
        match app.table(TABLE).transact(vec![write], &mut patience).await {
            Ok(()) => return Ok((meta, next, seen.is_none())),
            Err(WriteError::Refused(_) | WriteError::Conflict(_)) => {}
            Err(error) => return Err(error.into()),
        }
        if !patience.pause(app).await {
            return Err(Problem::busy("the checklist keeps changing"));
        }
    }
}

/// The documents that are checked, each once and in the announcement's order.
/// Refuses those that it does not ask for.
fn in_order(checked: &[DocumentId], meta: &Meta) -> Result<Vec<DocumentId>, Problem> {
    let known: HashSet<&DocumentId> = meta.documents.iter().map(|it| &it.id).collect();
    let unknown = checked.iter().enumerate().filter(|(_, id)| !known.contains(id));
    let errors: Vec<_> = unknown
        .take(MOST_NAMED)
        .map(|(place, _)| {
            (format!("checked[{place}]"), "is no document of this announcement".to_owned())
        })
        .collect();
    if !errors.is_empty() {
        return Err(Problem::invalid_fields(errors));
    }
    let checked: HashSet<&DocumentId> = checked.iter().collect();
    let ids = meta.documents.iter().map(|it| &it.id);
    Ok(ids.filter(|id| checked.contains(id)).cloned().collect())
}
