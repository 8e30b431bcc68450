//! Reading posts, by way of what the environment remembers of them.
//!
//! It remembers what everybody sees: a published post, or that there is none.
//! Who may change a post reads it anew, since their own change must be in it;
//! the body is then read only if it is another than the one remembered.

use std::collections::HashMap;
use std::sync::Arc;

use platform::auth::Caller;
use platform::cache::Cache;
use platform::table::{Item, Key, Patience, Read, read};
use platform::{App, Problem};

use crate::ids::PostId;
use crate::post::{Body, Meta, Post, Status};
use crate::{TABLE, keys};

/// How long a post is remembered, in milliseconds.
pub const LIFETIME_MS: i64 = 5_000;

/// How much memory an environment gives to posts: 26 of the largest, or
/// thousands of a usual length.
const MOST_BYTES: u64 = 8_000_000;

/// What a post weighs beside its body: its other texts are bounded.
const META_BYTES: u64 = 2_000;

/// What everybody sees under an id.
type Seen = Option<Arc<Post>>;

struct Known(Cache<PostId, Seen>);

impl Default for Known {
    fn default() -> Self {
        Self(Cache::of_bytes(MOST_BYTES, LIFETIME_MS, weight))
    }
}

fn weight(seen: &Seen) -> u64 {
    seen.as_ref().map_or(0, |post| post.body.len() as u64) + META_BYTES
}

/// The post that `viewer` sees under an id: at most [`LIFETIME_MS`] old, and
/// fresh if it may be the viewer's own.
pub async fn find(app: &App, id: PostId, viewer: Option<&Caller>) -> Result<Seen, Problem> {
    let (known, now) = (app.memory::<Known>(), app.clock.now());
    let remembered = known.0.get(&id, now);
    if let Some(seen) = &remembered {
        let may_be_own =
            |viewer: &Caller| seen.as_ref().is_none_or(|post| post.meta.may_be_changed_by(viewer));
        if !viewer.is_some_and(may_be_own) {
            return Ok(seen.clone());
        }
    }
    let post = read_again(app, id, remembered.flatten()).await?;
    let public = post.clone().filter(|post| post.meta.status == Status::Published);
    known.0.put(id, now, public.clone());
    let is_own = |post: &Arc<Post>| viewer.is_some_and(|v| post.meta.may_be_changed_by(v));
    Ok(post.filter(is_own).or(public))
}

/// A post as it is now, given what it was.
async fn read_again(app: &App, id: PostId, before: Seen) -> Result<Seen, Problem> {
    if let Some(before) = before {
        let Some(meta) = meta(app, id).await? else {
            return Ok(None);
        };
        if meta.body_version == before.meta.body_version {
            return Ok(Some(Arc::new(Post { meta, body: Arc::clone(&before.body) })));
        }
    }
    Ok(whole(app, id).await?.map(Arc::new))
}

/// Everything small of a post, as it is now.
pub async fn meta(app: &App, id: PostId) -> Result<Option<Meta>, Problem> {
    app.table(TABLE).get(keys::meta(id), Read::Consistent).await?.map(read).transpose()
}

/// Everything small of those posts that exist, as it is now.
pub async fn metas(app: &App, ids: Vec<PostId>) -> Result<HashMap<PostId, Meta>, Problem> {
    let keys = ids.into_iter().map(keys::meta).collect();
    let items = app.table(TABLE).batch_get(keys, Read::Consistent).await?;
    let metas = items.into_iter().map(|item| {
        let meta: Meta = read(item)?;
        Ok((meta.post_id, meta))
    });
    metas.collect()
}

/// A whole post as it is now. Its two items are not read at one moment, so they
/// are read again until they belong together.
pub async fn whole(app: &App, id: PostId) -> Result<Option<Post>, Problem> {
    let mut patience = Patience::default();
    loop {
        let keys = vec![keys::meta(id), keys::body(id)];
        let items = app.table(TABLE).batch_get(keys, Read::Consistent).await?;
        let (meta, body): (Vec<Item>, Vec<Item>) = items
            .into_iter()
            .partition(|item| Key::of(item).is_some_and(|key| key.sk == keys::META));
        let Some(meta) = meta.into_iter().next() else {
            return Ok(None);
        };
        let meta: Meta = read(meta)?;
        let body: Option<Body> = body.into_iter().next().map(read).transpose()?;
        if let Some(body) = body.filter(|body| body.version == meta.body_version) {
            return Ok(Some(Post { meta, body: body.body }));
        }
        if !patience.pause(app).await {
            return Err(Problem::busy("the post keeps changing"));
        }
    }
}
