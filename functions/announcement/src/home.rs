//! The part of home that is the same for everybody, as one item.
//!
//! refresh-home writes it once a minute, and environments go by a copy. It has
//! more announcements than are shown: those that close meanwhile are left out
//! by the clock.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use platform::clock::Instant;
use platform::table::{Read, Write, WriteError, item, n, read};
use platform::{App, Problem};
use serde::{Deserialize, Serialize};

use crate::announcement::{Entry, Meta};
use crate::ids::AnnouncementId;
use crate::{TABLE, keys};

/// How many announcements each list shows.
pub const SHOWN: usize = 10;

/// How many it has.
pub const HELD: usize = 20;

/// How old a copy may be before a request reads the item again, in milliseconds.
pub const LIFETIME_MS: i64 = 5_000;

/// How long a request that has nothing else to wait for waits for that read. It
/// takes a few milliseconds; one that takes longer is not worth it.
pub const WAIT: Duration = Duration::from_millis(25);

/// How long nobody tries again after a read that was too slow, in milliseconds.
const REST_MS: i64 = 1_000;

/// The shared part of home, as the table keeps it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// When it was built.
    pub built_at_ms: i64,
    /// Announcements that close soon, the soonest first.
    pub closing_soon: Vec<AnnouncementId>,
    /// Announcements by their creation, the last first.
    pub newest: Vec<AnnouncementId>,
    /// Announcements by their favorites, most first.
    pub most_favorited: Vec<AnnouncementId>,
    /// All of these.
    pub announcements: BTreeMap<AnnouncementId, Meta>,
}

impl Snapshot {
    /// The announcements of one of its lists, as shown at `now`.
    pub fn show<'a>(
        &'a self,
        list: &'a [AnnouncementId],
        now: Instant,
        is_shown: impl Fn(&Meta) -> bool,
    ) -> Vec<Entry<'a>> {
        let metas = list.iter().filter_map(|id| self.announcements.get(id));
        let shown = metas.filter(|meta| !meta.is_over(now) && is_shown(meta));
        shown.take(SHOWN).map(|meta| meta.entry(now)).collect()
    }

    /// Its lists, of what `metas` has.
    pub fn of(lists: [Vec<AnnouncementId>; 3], metas: &[Meta], built_at: Instant) -> Self {
        let listed: HashSet<&AnnouncementId> = lists.iter().flatten().collect();
        let metas = metas.iter().filter(|meta| listed.contains(&meta.announcement_id));
        let announcements = metas.map(|meta| {
            // Home shows no documents, and they may be long.
            let meta = Meta { documents: Vec::new(), ..meta.clone() };
            (meta.announcement_id.clone(), meta)
        });
        let announcements = announcements.collect();
        let [closing_soon, newest, most_favorited] = lists;
        let built_at_ms = built_at.as_millis();
        Self { built_at_ms, closing_soon, newest, most_favorited, announcements }
    }

    /// Writes it, unless a later one is there.
    pub async fn write(&self, app: &App) -> Result<(), Problem> {
        let write = Write::put(item(keys::snapshot(), self)?)
            .when("(attribute_not_exists(pk) OR built_at_ms < :built_at_ms)")
            .bind(":built_at_ms", n(self.built_at_ms));
        match app.table(TABLE).commit(vec![write]).await {
            Ok(()) | Err(WriteError::Refused(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// What this environment has of the shared part: a copy, or that there is none.
type Copy = Option<Arc<Snapshot>>;

/// The copy, and until when nobody reads it again.
#[derive(Default)]
struct Known(Mutex<Option<(Instant, Copy)>>);

impl Known {
    fn get(&self) -> Option<(Instant, Copy)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn put(&self, good_until: Instant, copy: &Copy) {
        let known = Some((good_until, copy.clone()));
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = known;
    }
}

/// The shared part, beside `own`: what else the request needs. `None` before the
/// first one was built.
///
/// Only an environment's first request waits for the read to its end. Others
/// have a copy to go by: they read it again when it is old, for as long as `own`
/// takes, or [`WAIT`].
pub async fn beside<T>(
    app: &App,
    own: impl Future<Output = Result<T, Problem>>,
) -> Result<(Copy, T), Problem> {
    let (known, now) = (app.memory::<Known>(), app.clock.now());
    let Some((good_until, copy)) = known.get() else {
        return futures_util::future::try_join(fetch(app, &known), own).await;
    };
    let is_good =
        (now.as_millis()..=now.as_millis() + LIFETIME_MS).contains(&good_until.as_millis());
    if is_good && now < good_until {
        return Ok((copy, own.await?));
    }
    let again = async {
        match tokio::time::timeout(WAIT, fetch(app, &known)).await {
            Ok(Ok(fetched)) => fetched,
            slow_or_failed => {
                let is_slow = slow_or_failed.is_err();
                tracing::warn!(is_slow, "the shared part of home was not read again");
                known.put(now.plus_millis(REST_MS), &copy);
                copy
            }
        }
    };
    let (copy, own) = tokio::join!(again, own);
    Ok((copy, own?))
}

async fn fetch(app: &App, known: &Known) -> Result<Copy, Problem> {
    let now = app.clock.now();
    let item = app.table(TABLE).get(keys::snapshot(), Read::Eventual).await?;
    let copy = item.map(read).transpose()?.map(Arc::new);
    known.put(now.plus_millis(LIFETIME_MS), &copy);
    Ok(copy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::announcement::tests::{NOW, announcement};

    #[test]
    fn what_has_closed_is_left_out_and_the_next_takes_its_place() {
        let mut metas = Vec::new();
        for place in 0..HELD {
            let mut meta = announcement(&["a"]).meta;
            meta.announcement_id = format!("a-{place:02}").parse().unwrap();
            meta.closes_at_ms = NOW + i64::try_from(place).unwrap();
            metas.push(meta);
        }
        let ids: Vec<_> = metas.iter().map(|meta| meta.announcement_id.clone()).collect();
        let snapshot = Snapshot::of([ids, vec![], vec![]], &metas, Instant::from_millis(NOW));
        assert!(snapshot.announcements.values().all(|meta| meta.documents.is_empty()));
        let shown = |ms| {
            let now = Instant::from_millis(NOW + ms);
            let shown = snapshot.show(&snapshot.closing_soon, now, |meta| meta.is_open(now));
            serde_json::to_value(shown).unwrap()
        };
        assert_eq!((shown(0).as_array().unwrap().len(), &shown(0)[0]["id"]), (10, &"a-01".into()));
        assert_eq!((shown(9).as_array().unwrap().len(), &shown(9)[0]["id"]), (10, &"a-10".into()));
        assert_eq!(shown(17).as_array().unwrap().len(), 2);
    }
}
