//! Reading announcements, by way of what the environment remembers of them.
//!
//! An announcement is never taken away again, so one that was there is. Staff
//! read it anew, since their own change must be in it.

use std::collections::HashMap;
use std::sync::Arc;

use platform::cache::Cache;
use platform::table::{Item, Key, Patience, Read, read};
use platform::{App, Problem};

use crate::announcement::{Announcement, Body, Meta};
use crate::ids::AnnouncementId;
use crate::{TABLE, keys};

/// How long an announcement is remembered, in milliseconds.
pub const LIFETIME_MS: i64 = 5_000;

/// How much memory an environment gives to announcements.
const MOST_BYTES: u64 = 8_000_000;

struct Known(Cache<AnnouncementId, Arc<Announcement>>);

impl Default for Known {
    fn default() -> Self {
        Self(Cache::of_bytes(MOST_BYTES, LIFETIME_MS, |announcement| announcement.weight()))
    }
}

/// An announcement, at most [`LIFETIME_MS`] old, or as it is now if `is_fresh`.
pub async fn find(
    app: &App,
    id: &AnnouncementId,
    is_fresh: bool,
) -> Result<Option<Arc<Announcement>>, Problem> {
    let (known, now) = (app.memory::<Known>(), app.clock.now());
    if let Some(announcement) = known.0.get(id, now).filter(|_| !is_fresh) {
        return Ok(Some(announcement));
    }
    let announcement = whole(app, id).await?.map(Arc::new);
    if let Some(announcement) = &announcement {
        known.0.put(id.clone(), now, Arc::clone(announcement));
    }
    Ok(announcement)
}

/// A whole announcement as it is now. Its two items are not read at one moment,
/// so they are read again until they belong together.
pub async fn whole(app: &App, id: &AnnouncementId) -> Result<Option<Announcement>, Problem> {
    let mut patience = Patience::default();
    loop {
        let (meta, body) = (keys::meta(id), keys::body(id));
        let items = app.table(TABLE).get_beside(meta, Some(body), Read::Consistent).await?;
        let Some(meta) = items.0 else {
            return Ok(None);
        };
        let meta: Meta = read(meta)?;
        let body: Option<Body> = items.1.map(read).transpose()?;
        if let Some(body) = body.filter(|body| body.version == meta.version) {
            return Ok(Some(Announcement { meta, body }));
        }
        if !patience.pause(app).await {
            return Err(Problem::busy("the announcement keeps changing"));
        }
    }
}

/// Everything small of the announcements that a member has marked. All of them
/// were there when marked, so one that an eventual read does not find was made a
/// moment ago, and is read consistently.
pub async fn metas_of_marked(
    app: &App,
    ids: &[&AnnouncementId],
) -> Result<HashMap<AnnouncementId, Meta>, Problem> {
    let mut found = metas(app, ids.iter().copied(), Read::Eventual).await?;
    let missing: Vec<_> = ids.iter().copied().filter(|id| !found.contains_key(*id)).collect();
    if !missing.is_empty() {
        found.extend(metas(app, missing, Read::Consistent).await?);
    }
    Ok(found)
}

/// Everything small of those announcements that exist.
pub async fn metas(
    app: &App,
    ids: impl IntoIterator<Item = &AnnouncementId>,
    freshness: Read,
) -> Result<HashMap<AnnouncementId, Meta>, Problem> {
    let keys: Vec<Key> = ids.into_iter().map(keys::meta).collect();
    let items: Vec<Item> = app.table(TABLE).batch_get(keys, freshness).await?;
    let metas = items.into_iter().map(|item| {
        let meta: Meta = read(item)?;
        Ok((meta.announcement_id.clone(), meta))
    });
    metas.collect()
}
