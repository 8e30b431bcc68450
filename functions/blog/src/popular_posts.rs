//! `GET /posts/popular`: the posts with the most views.
//!
//! The ranking lies in eight partitions of an index. An environment merges the
//! first of each, and remembers the result for a second: whatever the traffic,
//! it costs eight small queries a second. Nobody reads it fresher than that.

use std::sync::Arc;

use platform::cache::Cache;
use platform::http::{self, List};
use platform::operation;
use platform::table::{Query, all, read, s};
use platform::{App, Function, Operation, Problem, Reply, Request};

use crate::post::{self, Entry, EntryView};
use crate::{TABLE, keys};

/// The function.
pub static FUNCTION: Function = Function::http("popular-posts", |a, r| Box::pin(handle(a, r)));

/// How many posts are popular.
const MOST: usize = 20;

/// How long the ranking is remembered, in milliseconds.
const LIFETIME_MS: i64 = 1_000;

/// The first of the ranking.
struct Ranking(Cache<(), Arc<Vec<Entry>>>);

impl Default for Ranking {
    fn default() -> Self {
        Self(Cache::new(1, LIFETIME_MS))
    }
}

platform::schema! {
    /// Its `?limit=`, in the document.
    Limit = operation::number(1, MOST)
}

/// What the document says of it.
pub fn operation() -> Operation {
    Operation::new(FUNCTION, "GET /posts/popular", "The posts with the most views.")
        .query::<Limit>("limit", "At most so many posts: 20 if it is left out.")
        .lists::<EntryView<'_>>(post::entry_example())
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let limit = http::query::<usize>(&request, "limit")?.unwrap_or(MOST);
    if !(1..=MOST).contains(&limit) {
        return Err(Problem::invalid("limit", format!("expected 1 to {MOST}")));
    }
    let (ranking, now) = (app.memory::<Ranking>(), app.clock.now());
    let entries = match ranking.0.get(&(), now) {
        Some(entries) => entries,
        None => {
            let entries = Arc::new(read_ranking(app).await?);
            ranking.0.put((), now, Arc::clone(&entries));
            entries
        }
    };
    let items = entries.iter().take(limit).map(Entry::view).collect();
    Reply::ok(&List::<EntryView<'_>> { items, next_cursor: None })
}

async fn read_ranking(app: &App) -> Result<Vec<Entry>, Problem> {
    let table = app.table(TABLE);
    let queries = (0..keys::RANK_SHARDS).map(|shard| {
        table.query(Query {
            index: Some(keys::RANKING),
            condition: "index1_pk = :pk".into(),
            values: vec![(":pk", s(keys::rank_partition(shard)))],
            limit: MOST,
            descending: true,
            ..Query::default()
        })
    });
    let entries = all(queries).await?.into_iter().flatten().map(read::<Entry>);
    let mut entries = entries.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_cached_key(|entry| std::cmp::Reverse(entry.rank_position()));
    entries.truncate(MOST);
    Ok(entries)
}
