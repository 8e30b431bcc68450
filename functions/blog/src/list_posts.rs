//! `GET /posts`: published posts, newest first.
//!
//! A page merges one query of each partition of an index that holds all that a
//! list shows. So it costs the same wherever it stands, and however many posts
//! there are. An environment remembers pages for a second; who has a token reads
//! anew, since it may be the own post that is looked for.

use std::sync::Arc;

use platform::cache::Cache;
use platform::http::{List, Page};
use platform::table::{Query, all, read, s};
use platform::{App, Function, Operation, Problem, Reply, Request, auth};

use crate::post::{self, Entry, EntryView};
use crate::{TABLE, keys};

/// The function.
pub static FUNCTION: Function = Function::http("list-posts", |a, r| Box::pin(handle(a, r)));

/// How long a page is remembered, in milliseconds.
const PAGE_LIFETIME_MS: i64 = 1_000;

/// How much memory an environment gives to pages.
const MOST_BYTES: u64 = 2_000_000;

/// Which page: how long, and after which position.
type PageKey = (usize, Option<String>);

/// Pages that this environment has read: the posts on them, and at least one
/// more if the list goes on.
struct Pages(Cache<PageKey, Arc<Vec<Entry>>>);

impl Default for Pages {
    fn default() -> Self {
        Self(Cache::of_bytes(MOST_BYTES, PAGE_LIFETIME_MS, weight))
    }
}

fn weight(entries: &Arc<Vec<Entry>>) -> u64 {
    entries.iter().map(Entry::weight).sum::<u64>() + 100
}

/// What the document says of it.
pub fn operation() -> Operation {
    Operation::new(FUNCTION, "GET /posts", "Published posts, newest first.")
        .for_anyone_with_token()
        .pages(20)
        .lists::<EntryView<'_>>(post::entry_example())
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let page = Page::<String>::of(&request, "posts")?;
    if page.after.as_deref().is_some_and(|after| !keys::is_list_position(after)) {
        return Err(Problem::invalid("cursor", "expected the nextCursor of this very list"));
    }
    let key = (page.limit, page.after.clone());
    let (pages, now) = (app.memory::<Pages>(), app.clock.now());
    let may_lag = auth::caller(app, &request).is_err();
    let entries = match pages.0.get(&key, now).filter(|_| may_lag) {
        Some(entries) => entries,
        None => {
            let entries = Arc::new(read_page(app, &page).await?);
            pages.0.put(key, now, Arc::clone(&entries));
            entries
        }
    };
    let (on_page, next_cursor) = page.cut(entries.iter().map(Entry::list_position).collect())?;
    let items = entries.iter().take(on_page.len()).map(Entry::view).collect();
    Reply::ok(&List::<EntryView<'_>> { items, next_cursor })
}

/// A page of posts, and one more if the list goes on, from all partitions.
async fn read_page(app: &App, page: &Page<String>) -> Result<Vec<Entry>, Problem> {
    let table = app.table(TABLE);
    let after = page.after.as_deref().unwrap_or(keys::LIST_END);
    let queries = (0..keys::LIST_SHARDS).map(|shard| {
        table.query(Query {
            index: Some(keys::LIST),
            condition: "index2_pk = :pk AND index2_sk < :after".into(),
            values: vec![(":pk", s(keys::list_partition(shard))), (":after", s(after))],
            limit: page.limit + 1,
            descending: true,
            ..Query::default()
        })
    });
    let entries = all(queries).await?.into_iter().flatten().map(read::<Entry>);
    let mut entries = entries.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_cached_key(|entry| std::cmp::Reverse(entry.list_position()));
    entries.truncate(page.limit + 1);
    Ok(entries)
}
