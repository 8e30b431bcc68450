//! `GET /matches`: matches in the order of their starts.
//!
//! An index holds all that a list shows, so a page is one query. An environment
//! remembers pages for a second; what the clock says about a sale is worked out
//! anew each time.

use std::sync::Arc;

use platform::cache::Cache;
use platform::http::{List, Page};
use platform::table::{Query, read, s};
use platform::{App, Function, Operation, Problem, Reply, Request, auth};

use crate::ids::MatchId;
use crate::matches::{self, Entry, EntryView};
use crate::{TABLE, keys};

/// The function.
pub static FUNCTION: Function = Function::http("list-matches", |a, r| Box::pin(handle(a, r)));

/// How long a page is remembered, in milliseconds.
const PAGE_LIFETIME_MS: i64 = 1_000;

/// Which match ended the page before.
type Position = (i64, MatchId);

/// Pages that this environment has read, by their length and what came before:
/// the matches on them, and one more if the list goes on.
struct Pages(Cache<(usize, Option<Position>), Arc<Vec<Entry>>>);

impl Default for Pages {
    fn default() -> Self {
        Self(Cache::new(100, PAGE_LIFETIME_MS))
    }
}

/// What the document says of it.
pub fn operation() -> Operation {
    Operation::new(FUNCTION, "GET /matches", "Matches in the order of their starts.")
        .for_anyone_with_token()
        .pages(20)
        .lists::<EntryView>(matches::entry_example())
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let page = Page::<Position>::of(&request, "matches")?;
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
    let positions = entries.iter().map(|entry| (entry.starts_at_ms, entry.match_id.clone()));
    let (on_page, next_cursor) = page.cut(positions.collect())?;
    let items = entries.iter().take(on_page.len()).map(|entry| entry.view(now)).collect();
    Reply::ok(&List { items, next_cursor })
}

async fn read_page(app: &App, page: &Page<Position>) -> Result<Vec<Entry>, Problem> {
    let mut condition = "index1_pk = :pk".to_owned();
    let mut values = vec![(":pk", s(keys::LIST_PARTITION))];
    if let Some((starts_at_ms, id)) = &page.after {
        condition.push_str(" AND index1_sk > :after");
        values.push((":after", s(keys::position(*starts_at_ms, id))));
    }
    let query = Query {
        index: Some(keys::LIST),
        condition,
        values,
        limit: page.limit + 1,
        ..Query::default()
    };
    app.table(TABLE).query(query).await?.into_iter().map(read).collect()
}
