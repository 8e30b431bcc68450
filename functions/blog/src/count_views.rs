//! Stream → ranking: the views of a post are the sum of its stripes.
//!
//! Records only tell whose stripes to add up: the sum is read from the table,
//! and written if it is larger than the one that is there. So a window may come
//! twice, late, in part, or to two instances at once. The same window tells
//! whether a post needs more stripes, and a post that is gone loses them.

use std::collections::{BTreeMap, HashMap};

use futures_util::stream::{self, StreamExt};
use platform::clock::Instant;
use platform::events::{Change, Failures};
use platform::table::{Item, Key, Read, Write, WriteError, n, read, s};
use platform::{App, Function, Problem};

use crate::ids::PostId;
use crate::post::{Meta, Status};
use crate::views::{self, MOST_STRIPES, Stripe, more_stripes};
use crate::{TABLE, keys, posts};

/// The function.
pub const FUNCTION: Function = Function::stream("count-views", |a, c| Box::pin(handle(a, c)));

/// Posts that are written at a time.
const AT_ONCE: usize = 25;

/// How often a sum is written anew because the post's status changed meanwhile.
const TRIES: u32 = 5;

/// What the records of a batch tell of one post.
#[derive(Debug, Default)]
struct Window {
    /// The stripes that counted a view.
    stripes: Vec<u32>,
    /// Whether the post was deleted.
    is_last: bool,
    /// The first of the records.
    first: Option<String>,
}

async fn handle(app: &App, changes: Vec<Change>) -> Result<Failures, Problem> {
    let windows = windows(&changes);
    // The number of stripes is read before they are, or some could be missed.
    let metas = posts::metas(app, windows.keys().copied().collect()).await?;
    let sums = sums(app, metas.values()).await?;
    let work: Vec<_> = windows
        .into_iter()
        .map(|(id, window)| {
            let sum = sums.get(&id).copied().unwrap_or_default();
            bring_up_to_date(app, id, metas.get(&id), sum, window)
        })
        .collect();
    let done: Vec<_> = stream::iter(work).buffer_unordered(AT_ONCE).collect().await;
    let mut failures = Failures::default();
    for first in done.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().flatten() {
        failures.add(first);
    }
    Ok(failures)
}

/// Does all that a window leads to. If that fails, the first of its records must
/// come again.
async fn bring_up_to_date(
    app: &App,
    post_id: PostId,
    post: Option<&Meta>,
    sum: u64,
    window: Window,
) -> Result<Option<String>, Problem> {
    let done = match post {
        Some(post) => count(app, post, sum, &window).await,
        None => sweep(app, post_id, &window).await,
    };
    let Err(problem) = done else { return Ok(None) };
    tracing::warn!(%post_id, cause = problem.cause(), "views were not added up");
    window.first.map(Some).ok_or(problem)
}

/// What the records tell, by post.
fn windows(changes: &[Change]) -> BTreeMap<PostId, Window> {
    let mut windows: BTreeMap<PostId, Window> = BTreeMap::new();
    for change in changes {
        let Some((id, stripe)) = subject(change) else {
            tracing::error!(record = change.id(), "a record of no post");
            continue; // it will not become one either
        };
        let window = windows.entry(id).or_default();
        window.first = window.first.take().or(change.sequence_number().map(str::to_owned));
        match stripe {
            Some(stripe) => window.stripes.push(stripe),
            None => window.is_last = true,
        }
    }
    windows
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
    match more_stripes(post, sum, app.clock.now()) {
        Some(wanted) => grow(app, post, wanted).await,
        None => Ok(()),
    }
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
        .when("attribute_exists(pk)")
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

/// Spreads the views that are to come over more stripes.
async fn grow(app: &App, post: &Meta, wanted: u32) -> Result<(), Problem> {
    let (post_id, before) = (post.post_id, post.view_stripes);
    let write = Write::update(keys::meta(post_id), "SET view_stripes = :wanted")
        .when("view_stripes = :before")
        .bind(":wanted", n(wanted))
        .bind(":before", n(before));
    match app.table(TABLE).update(write).await {
        Ok(()) => tracing::info!(%post_id, before, wanted, "more stripes"),
        Err(WriteError::Refused(_)) => {} // another instance was faster
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

/// Takes away the stripes of a post that is gone: all that it can have, or those
/// that counted a view after that.
async fn sweep(app: &App, id: PostId, window: &Window) -> Result<(), Problem> {
    let mut keys: Vec<Key> = if window.is_last {
        views::stripes(id, MOST_STRIPES).collect()
    } else {
        window.stripes.iter().map(|stripe| keys::views(id, *stripe)).collect()
    };
    keys.sort_unstable_by(|one, other| one.pk.cmp(&other.pk));
    keys.dedup();
    let there: Vec<Item> = app.table(TABLE).batch_get(keys, Read::Consistent).await?;
    for key in there.iter().filter_map(Key::of) {
        app.table(TABLE).delete(key).await?;
    }
    Ok(())
}
