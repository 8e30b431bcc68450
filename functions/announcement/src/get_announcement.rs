//! `GET /announcements/{id}`, and `HEAD`: an announcement, and one more view.
//!
//! While the environment remembers it, a read is one write of a few bytes: the
//! view.

use platform::auth::Caller;
use platform::{App, Function, Operation, Problem, Reply, Request, audience, auth, http, views};

use crate::ids::AnnouncementId;
use crate::refusal::Refusal;
use crate::{TABLE, announcement, announcements, keys};

/// The function.
pub static FUNCTION: Function = Function::http("get-announcement", |a, r| Box::pin(handle(a, r)));

/// What the document says of it.
pub fn operation() -> Operation {
    let summary = "An announcement, and one more view of it.";
    Operation::new(FUNCTION, "GET /announcements/{id}", summary)
        .with_head()
        .for_anyone_with_token()
        .path::<AnnouncementId>("id", "youth-rooms")
        .answers::<announcement::View<'_>>(announcement::example())
        .tells_version()
        .refuses([Refusal::AnnouncementNotFound])
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let id: AnnouncementId = http::path(&request, "id")?;
    let is_staff = auth::caller(app, &request).is_ok_and(|caller: Caller| caller.is_staff());
    let announcement = announcements::find(app, &id, is_staff).await?;
    let announcement = announcement.ok_or(Refusal::AnnouncementNotFound)?;
    let reply = announcement.reply(app.clock.now())?;
    if audience::is_view(&request) {
        let stripes = announcement.meta.view_stripes;
        let key = |stripe| keys::views(&id, stripe);
        views::count(app, app.table(TABLE), &id, stripes, key).await;
    }
    Ok(reply)
}
