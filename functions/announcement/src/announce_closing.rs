//! Every minute: tell members which of their favorites close within a day.
//!
//! What a member is told is an item of its own, whose key is the member, the
//! announcement and its closing time; its stream record carries it on. So it is
//! told once, whichever runs are late, double or cut off. Favorites whose members
//! wait stand together in an index, where a run takes them page by page; one that
//! was told moves behind those that wait.

use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use platform::clock::Instant;
use platform::table::{Item, Query, Read, Write, WriteError, all, s};
use platform::{App, Function, Problem};

use crate::announcement::Meta;
use crate::ids::AnnouncementId;
use crate::notice::Notice;
use crate::{TABLE, announcements, keys};

/// The function.
pub static FUNCTION: Function = Function::schedule("announce-closing", |a| Box::pin(handle(a)));

/// How long a run goes on to begin with members: less than its time-out by what
/// one may take. The next run does the rest.
pub const RUN: Duration = Duration::from_secs(45);

/// How long before the closing members are told, in milliseconds: a day.
pub const BEFORE_MS: i64 = 24 * 60 * 60 * 1000;

/// Members that are being told at a time.
const AT_ONCE: usize = 25;

/// Favorites that are read from one partition at a time.
const PAGE: usize = 100;

/// Announcements that are read at a time.
const ANNOUNCEMENTS: usize = 25;

/// A run, and what came of it.
struct Run<'a> {
    app: &'a App,
    stop_at: tokio::time::Instant,
    told: usize,
    overtaken: usize,
    failed: Option<Problem>,
}

/// A partition of an announcement's favorites, as far as it was read.
struct Partition {
    pk: String,
    after: String,
    is_read: bool,
}

async fn handle(app: &App) -> Result<(), Problem> {
    let stop_at = tokio::time::Instant::now() + RUN;
    let mut run = Run { app, stop_at, told: 0, overtaken: 0, failed: None };
    let read = run.all().await;
    tracing::info!(told = run.told, overtaken = run.overtaken, "closing announcements");
    read.and(run.failed.map_or(Ok(()), Err))
}

impl Run<'_> {
    fn is_over(&self) -> bool {
        tokio::time::Instant::now() >= self.stop_at
    }

    /// Goes through the announcements that close within a day, the soonest first.
    async fn all(&mut self) -> Result<(), Problem> {
        let now = self.app.clock.now();
        let mut after = keys::after_all_at(now);
        while !self.is_over() {
            let positions = self.positions(&after, now).await?;
            let ids: Vec<AnnouncementId> =
                positions.iter().filter_map(|it| keys::parse_position(it)).collect();
            let metas = announcements::metas(self.app, &ids, Read::Consistent).await?;
            for meta in ids.iter().filter_map(|id| metas.get(id)) {
                if is_closing(meta, now) {
                    self.tell_all(meta).await?;
                }
            }
            match positions.last() {
                Some(last) if positions.len() == ANNOUNCEMENTS => after.clone_from(last),
                _ => break,
            }
        }
        Ok(())
    }

    /// The next announcements that close within a day of `now`.
    async fn positions(&self, after: &str, now: Instant) -> Result<Vec<String>, Problem> {
        let query = Query {
            condition: "pk = :pk AND sk BETWEEN :after AND :end".to_owned(),
            values: vec![
                (":pk", s(keys::list_partition(None, None))),
                (":after", s(keys::right_after(after))),
                (":end", s(keys::after_all_at(now.plus_millis(BEFORE_MS)))),
            ],
            limit: ANNOUNCEMENTS,
            consistent: true,
            ..Query::default()
        };
        let items = self.app.table(TABLE).query(query).await?;
        let positions = items.into_iter().filter_map(|item| item.get("sk")?.as_s().ok().cloned());
        Ok(positions.collect())
    }

    /// Tells everybody who waits for `meta`, in rounds of one page of each
    /// partition. A round goes on where the last one ended, since the index may
    /// still hold those who were told.
    async fn tell_all(&mut self, meta: &Meta) -> Result<(), Problem> {
        let id = &meta.announcement_id;
        let mut partitions: Vec<Partition> =
            (0..keys::WAITING_SHARDS).map(|shard| Partition::new(id, shard)).collect();
        while !partitions.is_empty() && !self.is_over() {
            let table = self.app.table(TABLE);
            let end = keys::waiting_end(meta.closing_number);
            let pages = all(partitions.iter().map(|it| table.query(it.page(&end)))).await?;
            for (partition, page) in partitions.iter_mut().zip(&pages) {
                partition.advance(page);
            }
            partitions.retain(|partition| !partition.is_read);
            self.tell(meta, pages.into_iter().flatten()).await;
        }
        Ok(())
    }

    /// Tells members, some at a time, as long as there is time.
    async fn tell(&mut self, meta: &Meta, waiting: impl Iterator<Item = Item>) {
        let (app, stop_at) = (self.app, self.stop_at);
        let in_time = waiting.take_while(|_| tokio::time::Instant::now() < stop_at);
        let telling = in_time.map(|item| async move { tell(app, meta, &item).await });
        let mut told = stream::iter(telling).buffer_unordered(AT_ONCE);
        while let Some(outcome) = told.next().await {
            match outcome {
                Ok(true) => self.told += 1,
                Ok(false) => self.overtaken += 1,
                Err(problem) => self.failed = Some(problem),
            }
        }
    }
}

fn is_closing(meta: &Meta, now: Instant) -> bool {
    !meta.is_over(now) && meta.closes_at_ms <= now.plus_millis(BEFORE_MS).as_millis()
}

/// Tells the member of a favorite, and moves it behind those that wait. Whether
/// it was this call that told.
async fn tell(app: &App, meta: &Meta, item: &Item) -> Result<bool, Problem> {
    let unreadable = || Problem::internal("an unreadable favorite in the index");
    let pk = item.get("pk").and_then(|pk| pk.as_s().ok()).ok_or_else(unreadable)?;
    let member_id = keys::parse_member(pk).ok_or_else(unreadable)?;
    let notice = Notice::of(meta, member_id, app.clock.now());
    let table = app.table(TABLE);
    // Only a new one is told further; the first keeps its time and counts here.
    let is_new = table.put_new(notice.to_item()?).await?;
    let position = keys::waiting_position(meta.closing_number, member_id);
    let key = keys::favorite(member_id, &meta.announcement_id);
    let moved = Write::update(key, "SET index2_sk = :position")
        .when("index2_sk < :position")
        .bind(":position", s(position));
    match table.update(moved).await {
        Ok(()) | Err(WriteError::Refused(_)) => Ok(is_new), // it may be no favorite any more
        Err(error) => Err(error.into()),
    }
}

impl Partition {
    fn new(id: &AnnouncementId, shard: u32) -> Self {
        let pk = keys::waiting_partition(id, shard);
        Self { pk, after: keys::FIRST.to_owned(), is_read: false }
    }

    /// The next page of those that wait.
    fn page(&self, end: &str) -> Query {
        Query {
            index: Some(keys::WAITING),
            condition: "index2_pk = :pk AND index2_sk BETWEEN :after AND :end".to_owned(),
            values: vec![(":pk", s(&self.pk)), (":after", s(&self.after)), (":end", s(end))],
            limit: PAGE,
            ..Query::default()
        }
    }

    fn advance(&mut self, page: &[Item]) {
        self.is_read = page.len() < PAGE;
        if let Some(last) = page.last().and_then(|item| item.get("index2_sk")?.as_s().ok()) {
            self.after = keys::right_after(last);
        }
    }
}
