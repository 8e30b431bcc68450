//! Stream → counts: the views and favorites of an announcement are the sums of
//! their stripes.
//!
//! Records only tell whose stripes to add up: the sums are read from the table,
//! and written if more has changed than what was added up last. So a window may
//! come twice, late, in part, or to two instances at once. Favorites go up and
//! down, so each stripe also counts its changes, which only grow.

use std::collections::HashMap;

use platform::events::{Change, Failures};
use platform::table::{Key, Read, Write, WriteError, n, read, s};
use platform::views::Counted;
use platform::windows::{self, windows};
use platform::{App, Function, Problem};
use serde::Deserialize;

use crate::announcement::Meta;
use crate::ids::AnnouncementId;
use crate::{TABLE, announcements, keys};

/// The function.
pub static FUNCTION: Function =
    Function::stream("count-announcements", |a, c| Box::pin(handle(a, c)));

/// What a record tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Views,
    Favorites,
}

type Window = windows::Window<Kind>;

/// A stripe of either kind.
#[derive(Debug, Deserialize)]
struct Stripe {
    pk: String,
    #[serde(default)]
    views: u64,
    #[serde(default)]
    held: i64,
    #[serde(default)]
    changes: u64,
}

/// Stripes added up.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    views: u64,
    held: i64,
    changes: u64,
}

async fn handle(app: &App, changes: Vec<Change>) -> Result<Failures, Problem> {
    let windows = windows(&changes, subject);
    // The number of stripes is read before they are, or some could be missed.
    let metas = announcements::metas(app, windows.keys(), Read::Consistent).await?;
    let sums = sums(app, &windows, &metas).await?;
    let work = windows.into_iter().filter_map(|(id, window)| {
        let (meta, sums) = (metas.get(&id)?, sums.get(&id).copied().unwrap_or_default());
        Some((id, window.first, bring_up_to_date(app, meta, sums)))
    });
    windows::settle(work).await
}

/// The announcement that a record is about, and of what.
fn subject(change: &Change) -> Option<(AnnouncementId, Kind)> {
    let kind = match change.key("sk")? {
        keys::VIEWS => Kind::Views,
        keys::FAVORITES => Kind::Favorites,
        _ => return None,
    };
    Some((keys::parse_stripe(change.key("pk")?)?, kind))
}

/// The sums of those stripes that windows tell of.
async fn sums(
    app: &App,
    windows: &std::collections::BTreeMap<AnnouncementId, Window>,
    metas: &HashMap<AnnouncementId, Meta>,
) -> Result<HashMap<AnnouncementId, Sums>, Problem> {
    let keys = windows.iter().filter_map(|(id, window)| Some((window, metas.get(id)?)));
    let keys: Vec<Key> = keys.flat_map(|(window, meta)| stripes(window, meta)).collect();
    let mut all: HashMap<AnnouncementId, Sums> = HashMap::new();
    for stripe in app.table(TABLE).batch_get(keys, Read::Consistent).await? {
        let Stripe { pk, views, held, changes } = read(stripe)?;
        if let Some(id) = keys::parse_stripe(&pk) {
            let sums = all.entry(id).or_default();
            sums.views += views;
            sums.held += held;
            sums.changes += changes;
        }
    }
    Ok(all)
}

fn stripes(window: &Window, meta: &Meta) -> Vec<Key> {
    let (id, mut keys) = (&meta.announcement_id, Vec::new());
    if window.told.contains(&Kind::Views) {
        keys.extend((0..meta.view_stripes).map(|stripe| keys::views(id, stripe)));
    }
    if window.told.contains(&Kind::Favorites) {
        keys.extend((0..meta.favorite_stripes).map(|stripe| keys::favorites(id, stripe)));
    }
    keys
}

/// Writes what has changed. What was not read is 0, which is no change.
async fn bring_up_to_date(app: &App, meta: &Meta, sums: Sums) -> Result<(), Problem> {
    let (id, table) = (&meta.announcement_id, app.table(TABLE));
    if sums.changes > meta.favorite_changes {
        let favorites = u64::try_from(sums.held).unwrap_or_default();
        let set = "SET favorites = :sum, favorite_changes = :changes, index1_sk = :position";
        let write = Write::update(keys::meta(id), set)
            .when("favorite_changes < :changes")
            .bind(":sum", n(favorites))
            .bind(":changes", n(sums.changes))
            .bind(":position", s(keys::rank_position(favorites, id)));
        unless_overtaken(table.update(write).await)?;
    }
    if sums.views > meta.views {
        let write = Write::update(keys::meta(id), "SET #views = :sum, counted_at_ms = :now")
            .when("#views < :sum")
            .name("#views", "views")
            .bind(":sum", n(sums.views))
            .bind(":now", n(app.clock.now().as_millis()));
        unless_overtaken(table.update(write).await)?;
    }
    let Meta { views, view_stripes: stripes, counted_at_ms: at_ms, .. } = *meta;
    let counted = Counted { views, stripes, at_ms };
    counted.grow(app, table, id, keys::meta(id), sums.views).await
}

/// Another instance may have written as much already, or more.
fn unless_overtaken(written: Result<(), WriteError>) -> Result<(), Problem> {
    match written {
        Ok(()) | Err(WriteError::Refused(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
