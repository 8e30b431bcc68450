//! `GET /posts/{id}`, and `HEAD`: a post, and one more view of it.
//!
//! While the environment remembers the post, a read is one write of a few bytes:
//! the view. Drafts have no views, since nobody but their author and staff sees
//! them.

use platform::problem::UNAUTHENTICATED;
use platform::{App, Function, Problem, Reply, Request, audience, auth, http};

use crate::ids::PostId;
use crate::post::Status;
use crate::refusal::Refusal;
use crate::{posts, views};

/// The function.
pub static FUNCTION: Function = Function::http("get-post", |a, r| Box::pin(handle(a, r)));

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
