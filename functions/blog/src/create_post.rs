//! `POST /posts`: write a post, as a draft or for everybody.
//!
//! One transaction, and nothing is read first. The answer that is kept under an
//! `Idempotency-Key` leaves out the body, which may be as large as an item can
//! be: a repeat brings the same one.

use platform::auth;
use platform::idempotency::Idempotency;
use platform::table::{Patience, Refusals, WriteError};
use platform::{App, Function, Operation, Problem, Reply, Request};
use serde_json::json;

use crate::TABLE;
use crate::ids::PostId;
use crate::post::{self, Post};
use crate::wanted::{self, Wanted};

/// The function.
pub static FUNCTION: Function = Function::http(NAME, |a, r| Box::pin(handle(a, r)));

const NAME: &str = "create-post";

/// Writes of the transaction that have a condition, by their place.
const META: usize = 0;
const KEPT_ANSWER: usize = 2;

/// What the document says of it.
pub fn operation() -> Operation {
    let body = json!({ "title": "Notes", "body": "The engine weaves.", "tags": ["engines"] });
    Operation::new(FUNCTION, "POST /posts", "Write a post, as a draft or for everybody.")
        .for_members()
        .keyed()
        .body::<wanted::Create>(body)
        .creates::<post::View<'_>>(post::example())
        .tells_version()
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    let idempotency = Idempotency::of(&request, &caller, NAME)?;
    let wanted = Wanted::of(&request)?;
    let id = PostId::new(app).map_err(Problem::internal)?;
    let post = Post::new(id, &caller.member_id, wanted, app.clock.now());
    create(app, &post, idempotency.as_ref()).await
}

async fn create(
    app: &App,
    post: &Post,
    idempotency: Option<&Idempotency>,
) -> Result<Reply, Problem> {
    let location = format!("/posts/{}", post.meta.post_id);
    let mut writes = post.create()?;
    if let Some(idempotency) = idempotency {
        let kept = Reply::created(&location, &post.view_without_body())?.etag(post.meta.version);
        writes.push(idempotency.write(&kept, app.clock.now())?);
    }
    let reply = Reply::created(&location, &post.view())?.etag(post.meta.version);
    let mut patience = Patience::default();
    loop {
        match app.table(TABLE).transact(writes.clone(), &mut patience).await {
            Ok(()) => return Ok(reply),
            Err(WriteError::Refused(refusals)) => {
                if let Some(served) = replay(app, post, idempotency, refusals)? {
                    return Ok(served);
                }
            }
            Err(WriteError::Conflict(_)) => {}
            Err(error) => return Err(error.into()),
        }
        if !patience.pause(app).await {
            return Err(Problem::busy("the same key is used again and again"));
        }
    }
}

/// The answer, if the conditions that failed say that the request was served
/// before.
fn replay(
    app: &App,
    post: &Post,
    idempotency: Option<&Idempotency>,
    mut refusals: Refusals,
) -> Result<Option<Reply>, Problem> {
    if let (Some(idempotency), Some(Some(kept))) = (idempotency, refusals.take(KEPT_ANSWER)) {
        let Some(kept) = idempotency.replay(kept, app.clock.now())? else {
            return Ok(None);
        };
        let mut answer = kept.body().cloned().unwrap_or_default();
        answer["body"] = json!(post.body);
        let reply = Reply::created(kept.location().unwrap_or_default(), &answer)?;
        return Ok(Some(reply.etag(kept.version().unwrap_or(post.meta.version))));
    }
    // Nobody else has this id: it was sent before, and arrived late.
    let location = format!("/posts/{}", post.meta.post_id);
    let own = Reply::created(location, &post.view())?.etag(post.meta.version);
    Ok(refusals.includes(META).then_some(own))
}
