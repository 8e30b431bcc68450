//! `GET /posts/{id}`, and `HEAD`: a post, and one more view of it.
//!
//! While the environment remembers the post, a read is one write of a few bytes:
//! the view. Drafts have no views, since nobody but their author and staff sees
//! them.

use platform::problem::UNAUTHENTICATED;
use platform::{App, Function, Operation, Problem, Reply, Request, audience, auth, http};

use crate::ids::PostId;
use crate::post::{self, Status};
use crate::refusal::Refusal;
use crate::{posts, views};

/// The function.
pub static FUNCTION: Function = Function::http("get-post", |a, r| Box::pin(handle(a, r)));

/// What the document says of it.
pub fn operation() -> Operation {
    Operation::new(FUNCTION, "GET /posts/{id}", "A post, and one more view of it.")
        .with_head()
        .for_anyone_with_token()
        .path::<PostId>("id", "01941f29-7c00-7000-8000-0000000000b1")
        .answers::<post::View<'_>>(post::example())
        .tells_version()
        .refuses([UNAUTHENTICATED])
        .refuses([Refusal::PostNotFound])
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let id: PostId = http::path(&request, "id")?;
    let viewer = auth::caller(app, &request).ok();
    let Some(post) = posts::find(app, id, viewer.as_ref()).await? else {
        // A draft's author whose token has expired should get a new one.
        let has_bad_token = viewer.is_none() && request.headers().contains_key("authorization");
        let refusal = Refusal::PostNotFound.into();
        return Err(if has_bad_token { UNAUTHENTICATED.into() } else { refusal });
    };
    let reply = post.reply()?;
    if post.meta.status == Status::Published && audience::is_view(&request) {
        views::count(app, &post.meta).await;
    }
    Ok(reply)
}
