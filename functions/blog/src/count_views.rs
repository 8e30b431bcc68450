//! Stream → ranking: the views of a post are the sum of its stripes.
//!
//! Records only tell whose stripes to add up: the sum is read from the table,
//! and written if it is larger than the one that is there. So a window may come
//! twice, late, in part, or to two instances at once. The same window tells
//! whether a post needs more stripes, and a post that is gone loses them.

use std::collections::HashMap;

use platform::clock::Instant;
use platform::events::{Change, Failures};
use platform::table::{Item, Key, Read, Write, WriteError, n, read, s};
use platform::windows::{self, windows};
use platform::{App, Function, Problem};

use crate::ids::PostId;
use crate::post::{Meta, Status};
use crate::views::{self, MOST_STRIPES, Stripe};
use crate::{TABLE, keys, posts};

/// The function.
pub static FUNCTION: Function = Function::stream("count-views", |a, c| Box::pin(handle(a, c)));

/// How often a sum is written anew because the post's status changed meanwhile.
const TRIES: u32 = 5;

/// What the records of a batch tell of one post: of each the stripe that counted
/// a view, or nothing if the post was deleted.
type Window = windows::Window<Option<u32>>;

async fn handle(app: &App, changes: Vec<Change>) -> Result<Failures, Problem> {
    let windows = windows(&changes, subject);
    // The number of stripes is read before they are, or some could be missed.
    let metas = posts::metas(app, windows.keys().copied().collect()).await?;
    let sums = sums(app, metas.values()).await?;
    let work = windows.into_iter().map(|(id, window)| {
        let sum = sums.get(&id).copied().unwrap_or_default();
        (id, window.first.clone(), bring_up_to_date(app, id, metas.get(&id), sum, window))
    });
    windows::settle(work).await
}

/// Does all that a window leads to.
async fn bring_up_to_date(
    app: &App,
    post_id: PostId,
    post: Option<&Meta>,
    sum: u64,
    window: Window,
) -> Result<(), Problem> {
    match post {
        Some(post) => count(app, post, sum, &window).await,
        None => sweep(app, post_id, &window).await,
    }
}

/// The post that a record is about, and the stripe, if it is one's.
fn subject(change: &Change) -> Option<(PostId, Option<u32>)> {
    let pk = change.key("pk")?;
    match change.key("sk")? {
        keys::VIEWS => keys::parse_views(pk).map(|(id, stripe)| (id, Some(stripe))),
        keys::META => Some((keys::parse_post(pk)?, None)),
        _ => None,
    }
}

/// The sums of the stripes of posts.
async fn sums<'a>(
    app: &App,
    posts: impl Iterator<Item = &'a Meta>,
) -> Result<HashMap<PostId, u64>, Problem> {
    let keys = posts.flat_map(|post| views::stripes(post.post_id, post.view_stripes)).collect();
    let stripes = app.table(TABLE).batch_get(keys, Read::Consistent).await?;
    let mut sums = HashMap::new();
    for stripe in stripes {
        let stripe: Stripe = read(stripe)?;
        if let Some(id) = stripe.post() {
            *sums.entry(id).or_default() += stripe.views;
        }
    }
    Ok(sums)
}

async fn count(app: &App, post: &Meta, sum: u64, window: &Window) -> Result<(), Problem> {
    if sum > post.views && !raise(app, post, sum).await? {
        return sweep(app, post.post_id, window).await;
    }
    let (id, table) = (post.post_id, app.table(TABLE));
    views::counted(post).grow(app, table, &id, keys::meta(id), sum).await
}

/// Raises a post's views to `sum`, unless they are as many already. Whether
/// there is such a post.
async fn raise(app: &App, post: &Meta, sum: u64) -> Result<bool, Problem> {
    let mut status = post.status;
    for _ in 0..TRIES {
        let write = raised(post.post_id, sum, status, app.clock.now());
        match app.table(TABLE).update(write).await {
            Ok(()) => return Ok(true),
            Err(WriteError::Refused(mut refusals)) => {
                let Some(there) = refusals.take(0).flatten().map(read::<Meta>).transpose()? else {
                    return Ok(false);
                };
                if there.views >= sum {
                    return Ok(true);
                }
                status = there.status;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err(Problem::busy("the post is published and unpublished again and again"))
}

/// The write that raises the views, and the place in the ranking of a post that
/// has one. Its conditions do not hold of a post that is gone, so none comes
/// back; and only publishing puts one into the ranking.
fn raised(id: PostId, sum: u64, status: Status, now: Instant) -> Write {
    let update = match status {
        Status::Published => "SET #views = :sum, counted_at_ms = :now, index1_sk = :position",
        Status::Draft => "SET #views = :sum, counted_at_ms = :now",
    };
    let write = Write::update(keys::meta(id), update)
        .when("#views < :sum")
        .when("#status = :status")
        .name("#views", "views")
        .name("#status", "status")
        .bind(":sum", n(sum))
        .bind(":now", n(now.as_millis()))
        .bind(":status", s(status.as_str()));
    match status {
        Status::Published => write.bind(":position", s(keys::rank_position(sum, id))),
        Status::Draft => write,
    }
}

/// Takes away the stripes of a post that is gone: all that it can have, or those
/// that counted a view after that.
async fn sweep(app: &App, id: PostId, window: &Window) -> Result<(), Problem> {
    let stripes: Option<Vec<u32>> = window.told.iter().copied().collect();
    let mut keys: Vec<Key> = match stripes {
        Some(stripes) => stripes.into_iter().map(|stripe| keys::views(id, stripe)).collect(),
        None => views::stripes(id, MOST_STRIPES).collect(),
    };
    keys.sort_unstable_by(|one, other| one.pk.cmp(&other.pk));
    keys.dedup();
    let there: Vec<Item> = app.table(TABLE).batch_get(keys, Read::Consistent).await?;
    for key in there.iter().filter_map(Key::of) {
        app.table(TABLE).delete(key).await?;
    }
    Ok(())
}
