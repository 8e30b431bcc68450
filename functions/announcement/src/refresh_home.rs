//! Every minute: build the part of home that is the same for everybody.
//!
//! Runs may be late, double or missing: the later snapshot stays, and home goes
//! on with the last one. What has closed also leaves the ranking here, so that
//! it is never long; only the clock decides what is shown.

use platform::clock::Instant;
use platform::table::{Item, Query, Read, Write, WriteError, n, s};
use platform::{App, Function, Problem};

use crate::announcement::Meta;
use crate::home::{HELD, Snapshot};
use crate::ids::AnnouncementId;
use crate::{TABLE, announcements, keys};

/// The function.
pub static FUNCTION: Function = Function::schedule("refresh-home", |a| Box::pin(handle(a)));

/// Announcements that are read from one partition at a time.
const PAGE: usize = 100;

/// So many pages are read at most until enough are found that have not closed.
const MOST_PAGES: usize = 10;

/// What opens this soon is held too, in milliseconds: it may open before the next
/// snapshot.
const SOON_MS: i64 = 10 * 60 * 1000;

async fn handle(app: &App) -> Result<(), Problem> {
    let now = app.clock.now();
    let (closing_soon, newest, ranked) =
        tokio::try_join!(closing_soon(app, now), newest(app, now), most_favorited(app, now))?;
    let lists = [&closing_soon, &newest, &ranked].map(|metas| ids(metas));
    let metas: Vec<Meta> = [closing_soon, newest, ranked].concat();
    Snapshot::of(lists, &metas, now).write(app).await
}

fn ids(metas: &[Meta]) -> Vec<AnnouncementId> {
    metas.iter().map(|meta| meta.announcement_id.clone()).collect()
}

/// Those that close next, of those that are open or will be soon.
async fn closing_soon(app: &App, now: Instant) -> Result<Vec<Meta>, Problem> {
    let partition = keys::list_partition(None, None);
    let from = keys::after_all_at(now);
    let opens_by = now.plus_millis(SOON_MS).as_millis();
    look_for(app, &partition, from, false, |meta| {
        !meta.is_over(now) && meta.opens_at_ms <= opens_by
    })
    .await
}

/// Those that were created last, of those that have not closed.
async fn newest(app: &App, now: Instant) -> Result<Vec<Meta>, Problem> {
    let from = keys::LAST.to_owned();
    look_for(app, keys::NEWEST, from, true, |meta| !meta.is_over(now)).await
}

/// The first announcements of a list that are wanted.
async fn look_for(
    app: &App,
    partition: &str,
    from: String,
    descending: bool,
    is_wanted: impl Fn(&Meta) -> bool,
) -> Result<Vec<Meta>, Problem> {
    let (mut found, mut after) = (Vec::new(), from);
    for _ in 0..MOST_PAGES {
        let condition = if descending { "sk < :after" } else { "sk > :after" };
        let query = Query {
            condition: format!("pk = :pk AND {condition}"),
            values: vec![(":pk", s(partition)), (":after", s(&after))],
            limit: PAGE,
            descending,
            ..Query::default()
        };
        let positions = app.table(TABLE).query(query).await?;
        let positions: Vec<&String> = positions.iter().filter_map(|it| text(it, "sk")).collect();
        let ids: Vec<AnnouncementId> =
            positions.iter().filter_map(|position| keys::parse_position(position)).collect();
        let mut metas = announcements::metas(app, &ids, Read::Eventual).await?;
        found.extend(ids.iter().filter_map(|id| metas.remove(id)).filter(&is_wanted));
        match positions.last() {
            Some(last) if positions.len() == PAGE && found.len() < HELD => {
                after.clone_from(last);
            }
            _ => break,
        }
    }
    found.truncate(HELD);
    Ok(found)
}

/// Those with the most favorites, of those that have not closed.
async fn most_favorited(app: &App, now: Instant) -> Result<Vec<Meta>, Problem> {
    let shards = (0..keys::RANK_SHARDS).map(|shard| most_favorited_of(app, shard, now));
    let ranked = futures_util::future::try_join_all(shards).await?;
    let mut ranked: Vec<Meta> = ranked.into_iter().flatten().collect();
    ranked.sort_by_cached_key(|meta| {
        std::cmp::Reverse(keys::rank_position(meta.favorites, &meta.announcement_id))
    });
    ranked.truncate(HELD);
    Ok(ranked)
}

/// Likewise, in one partition of the ranking. Those that have closed are taken
/// out of it.
async fn most_favorited_of(app: &App, shard: u32, now: Instant) -> Result<Vec<Meta>, Problem> {
    let (mut found, mut after) = (Vec::new(), keys::LAST.to_owned());
    for _ in 0..MOST_PAGES {
        let query = Query {
            index: Some(keys::RANKING),
            condition: "index1_pk = :pk AND index1_sk < :after".to_owned(),
            values: vec![(":pk", s(keys::rank_partition(shard))), (":after", s(&after))],
            limit: HELD,
            descending: true,
            ..Query::default()
        };
        let items = app.table(TABLE).query(query).await?;
        let ids: Vec<AnnouncementId> = items.iter().filter_map(ranked_id).collect();
        let mut metas = announcements::metas(app, &ids, Read::Eventual).await?;
        let metas = ids.iter().filter_map(|id| metas.remove(id));
        let (over, others): (Vec<Meta>, Vec<Meta>) = metas.partition(|meta| meta.is_over(now));
        all_done(over.iter().map(|meta| leave_ranking(app, meta))).await?;
        found.extend(others);
        match items.last().and_then(|item| text(item, "index1_sk")) {
            Some(last) if items.len() == HELD && found.len() < HELD => after.clone_from(last),
            _ => break,
        }
    }
    Ok(found)
}

async fn all_done(
    work: impl Iterator<Item = impl Future<Output = Result<(), Problem>>>,
) -> Result<(), Problem> {
    futures_util::future::try_join_all(work).await.map(drop)
}

/// Takes an announcement out of the ranking, unless it was given another closing
/// time meanwhile: then it may go on.
async fn leave_ranking(app: &App, meta: &Meta) -> Result<(), Problem> {
    let write = Write::update(keys::meta(&meta.announcement_id), "REMOVE index1_pk")
        .when("closes_at_ms = :closes_at_ms")
        .bind(":closes_at_ms", n(meta.closes_at_ms));
    match app.table(TABLE).update(write).await {
        Ok(()) | Err(WriteError::Refused(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn ranked_id(item: &Item) -> Option<AnnouncementId> {
    text(item, "pk")?.strip_prefix("ANNOUNCEMENT#")?.parse().ok()
}

fn text<'a>(item: &'a Item, name: &str) -> Option<&'a String> {
    item.get(name)?.as_s().ok()
}
