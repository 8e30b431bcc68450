//! `PATCH /posts/{id}`: change a post; what the request leaves out stays.
//!
//! Its version guards the write, so nothing that somebody else changed in
//! between is lost. A change that changes nothing writes nothing. A post that is
//! published again goes back to where it stood in the list: the time of its
//! first publication stays.

use platform::auth::{self, Caller};
use platform::table::{Patience, WriteError};
use platform::{App, Function, Operation, Problem, Reply, Request, http};
use serde_json::json;

use crate::ids::PostId;
use crate::post::{self, Post};
use crate::refusal::Refusal;
use crate::wanted::{self, Changes};
use crate::{TABLE, posts};

/// The function.
pub static FUNCTION: Function = Function::http("update-post", |a, r| Box::pin(handle(a, r)));

/// What the document says of it.
pub fn operation() -> Operation {
    Operation::new(FUNCTION, "PATCH /posts/{id}", "Change a post; what is left out stays.")
        .for_members()
        .path::<PostId>("id", "01941f29-7c00-7000-8000-0000000000b1")
        .if_match()
        .body::<wanted::Update>(json!({ "status": "PUBLISHED" }))
        .answers::<post::View<'_>>(post::example())
        .tells_version()
        .refuses([Refusal::PostNotFound, Refusal::Forbidden])
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    let id: PostId = http::path(&request, "id")?;
    let version = http::if_match(&request)?;
    let changes = Changes::of(&request)?;
    update(app, &caller, id, version, &changes).await?.reply()
}

/// The post as it is after the change.
async fn update(
    app: &App,
    caller: &Caller,
    id: PostId,
    version: Option<u64>,
    changes: &Changes,
) -> Result<Post, Problem> {
    let mut patience = Patience::default();
    let change_id = app.new_id();
    loop {
        let seen = posts::whole(app, id).await?.ok_or(Refusal::PostNotFound)?;
        if seen.meta.change_id == change_id {
            return Ok(seen); // it was sent before, and arrived late
        }
        seen.meta.require_changeable_by(caller)?;
        seen.meta.require_version(version)?;
        let Some(changed) = seen.changed(changes, &change_id, app.clock.now()) else {
            return Ok(seen);
        };
        match app.table(TABLE).transact(changed.replace(&seen)?, &mut patience).await {
            Ok(()) => return Ok(changed),
            Err(WriteError::Refused(_) | WriteError::Conflict(_)) => {}
            Err(error) => return Err(error.into()),
        }
        if !patience.pause(app).await {
            return Err(Problem::busy("the post keeps changing"));
        }
    }
}
