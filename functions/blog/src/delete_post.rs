//! `DELETE /posts/{id}`: take a post away, for good.
//!
//! Its stripes stay for a moment: they may be counting views right now, and a
//! transaction that wants them all would hardly ever get them. count-views takes
//! them away when the stream tells it that the post is gone.

use platform::auth;
use platform::table::{Refusals, Write, WriteError, n, read};
use platform::{App, Function, Operation, Problem, Reply, Request, http};

use crate::ids::PostId;
use crate::post::Meta;
use crate::refusal::Refusal;
use crate::{TABLE, keys, posts};

/// The function.
pub static FUNCTION: Function = Function::http("delete-post", |a, r| Box::pin(handle(a, r)));

/// Writes of the transaction, in order.
const META: usize = 0;

/// What the document says of it.
pub fn operation() -> Operation {
    Operation::new(FUNCTION, "DELETE /posts/{id}", "Take a post away, for good.")
        .for_members()
        .path::<PostId>("id", "01941f29-7c00-7000-8000-0000000000b1")
        .if_match()
        .answers_nothing()
        .refuses([Refusal::PostNotFound, Refusal::Forbidden])
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    let id: PostId = http::path(&request, "id")?;
    let version = http::if_match(&request)?;
    // Whose it is never changes, so what is read here stays true.
    let meta = posts::meta(app, id).await?.ok_or(Refusal::PostNotFound)?;
    meta.require_changeable_by(&caller)?;
    match app.table(TABLE).commit(writes(id, version)).await {
        Ok(()) => Ok(Reply::no_content()),
        Err(WriteError::Refused(refusals)) => Err(explain(refusals)),
        Err(error) => Err(error.into()),
    }
}

fn writes(id: PostId, version: Option<u64>) -> Vec<Write> {
    let mut meta = Write::delete(keys::meta(id)).when("attribute_exists(pk)");
    if let Some(version) = version {
        meta = meta.when("version = :version").bind(":version", n(version));
    }
    vec![meta, Write::delete(keys::body(id))]
}

fn explain(mut refusals: Refusals) -> Problem {
    match refusals.take(META).flatten().map(read::<Meta>) {
        None => Refusal::PostNotFound.into(),
        Some(Ok(Meta { version, .. })) => Refusal::VersionMismatch { version }.into(),
        Some(Err(unreadable)) => unreadable,
    }
}
