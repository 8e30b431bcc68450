//! `GET /announcements`: of a category, of a region, open or not.
//!
//! Every combination of category and region is a list of its own, in the order
//! in which its announcements close, so a page is one query and one read of what
//! it shows. Whether an announcement is open the clock alone says: a page with
//! `?open=` reads past those that are not.

use std::sync::Arc;

use platform::cache::Cache;
use platform::clock::Instant;
use platform::http::{List, Page};
use platform::table::{Item, Query, Read, s};
use platform::text::{self, Text};
use platform::{App, Function, Operation, Problem, Reply, Request, auth, http};

use crate::announcement::{self, Entry, Meta};
use crate::ids::AnnouncementId;
use crate::{TABLE, announcements, keys};

/// The function.
pub static FUNCTION: Function = Function::http("list-announcements", |a, r| Box::pin(handle(a, r)));

/// How long a page is remembered, in milliseconds.
const PAGE_LIFETIME_MS: i64 = 1_000;

/// How much memory an environment gives to pages.
const MOST_BYTES: u64 = 4_000_000;

/// Which announcements.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Filter {
    category: Option<String>,
    region: Option<String>,
    open: Option<bool>,
}

/// Which page of them: how long, and after which position.
type PageKey = (Filter, usize, Option<String>);

/// Pages that this environment has read.
struct Pages(Cache<PageKey, Arc<Found>>);

impl Default for Pages {
    fn default() -> Self {
        Self(Cache::of_bytes(MOST_BYTES, PAGE_LIFETIME_MS, weight))
    }
}

fn weight(found: &Arc<Found>) -> u64 {
    found.metas.iter().map(|meta| meta.weight() + 100).sum::<u64>() + 500
}

/// What was read for a page.
struct Found {
    /// Positions of the page, and one more if the list goes on.
    positions: Vec<String>,
    /// What is on it.
    metas: Vec<Meta>,
    /// When the next of those that were looked at opens or closes.
    until: Option<Instant>,
}

/// What the document says of it.
pub fn operation() -> Operation {
    Operation::new(FUNCTION, "GET /announcements", "Announcements by their closing times.")
        .for_anyone_with_token()
        .query::<text::Title>("category", "Only those of this category.")
        .query::<text::Title>("region", "Only those of this region.")
        .query::<bool>("open", "Only those that are open, or only others.")
        .pages(20)
        .lists::<Entry<'_>>(announcement::entry_example())
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let filter = Filter::of(&request)?;
    let page = Page::<String>::of(&request, format!("announcements {filter:?}"))?;
    if page.after.as_deref().is_some_and(|after| keys::parse_position(after).is_none()) {
        return Err(Problem::invalid("cursor", "expected the nextCursor of this very list"));
    }
    let key = (filter, page.limit, page.after.clone());
    let (pages, now) = (app.memory::<Pages>(), app.clock.now());
    let may_lag = auth::caller(app, &request).is_err();
    let freshness = if may_lag { Read::Eventual } else { Read::Consistent };
    let is_so = |found: &Arc<Found>| may_lag && found.until.is_none_or(|until| now < until);
    let found = match pages.0.get(&key, now).filter(is_so) {
        Some(found) => found,
        None => {
            let found = Arc::new(read_page(app, &key, freshness, now).await?);
            pages.0.put(key, now, Arc::clone(&found));
            found
        }
    };
    let (_, next_cursor) = page.cut(found.positions.clone())?;
    let items = found.metas.iter().map(|meta| meta.entry(now)).collect();
    Reply::ok(&List { items, next_cursor })
}

impl Filter {
    fn of(request: &Request) -> Result<Self, Problem> {
        let open = http::query(request, "open")?;
        Ok(Self { category: name(request, "category")?, region: name(request, "region")?, open })
    }

    /// The next items after `after`: the soonest to close first where they must
    /// be open, and else the last.
    fn query(&self, after: Option<&str>, now: Instant, limit: usize) -> Query {
        let partition = keys::list_partition(self.category.as_deref(), self.region.as_deref());
        let is_open = self.open == Some(true);
        let (condition, first) = match is_open {
            true => ("pk = :pk AND sk > :after", keys::after_all_at(now)),
            false => ("pk = :pk AND sk < :after", keys::LAST.to_owned()),
        };
        let after = after.map_or(first.clone(), |after| match is_open {
            true => first.max(after.to_owned()),
            false => after.to_owned(),
        });
        Query {
            condition: condition.to_owned(),
            values: vec![(":pk", s(partition)), (":after", s(after))],
            limit,
            descending: !is_open,
            ..Query::default()
        }
    }
}

/// The name of a category or a region, in the form in which they are kept.
fn name(request: &Request, parameter: &str) -> Result<Option<String>, Problem> {
    let Some(name) = http::query::<String>(request, parameter)? else { return Ok(None) };
    let name = Text::from(name.as_str());
    text::title(&name, &()).map_err(|error| Problem::invalid(parameter, error))?;
    Ok(Some(name.into_string()))
}

/// An item of a list.
struct Listing {
    position: String,
    opens_at_ms: i64,
    closes_at_ms: i64,
}

impl Listing {
    fn of(item: &Item) -> Option<Self> {
        let position = item.get("sk")?.as_s().ok()?.clone();
        let opens_at_ms = item.get("opens_at_ms")?.as_n().ok()?.parse().ok()?;
        let closes_at_ms = position.split_once('#')?.0.parse().ok()?;
        Some(Self { position, opens_at_ms, closes_at_ms })
    }

    fn is_open(&self, now: Instant) -> bool {
        (self.opens_at_ms..self.closes_at_ms).contains(&now.as_millis())
    }

    /// When it opens or closes next.
    fn turns_at(&self, now: Instant) -> Option<Instant> {
        let times = [self.opens_at_ms, self.closes_at_ms].map(Instant::from_millis);
        times.into_iter().find(|time| *time > now)
    }
}

/// Reads on until the page is full, and one more if the list goes on.
async fn read_page(
    app: &App,
    key: &PageKey,
    freshness: Read,
    now: Instant,
) -> Result<Found, Problem> {
    let (filter, limit, after) = key;
    let (mut positions, mut after, mut until) = (Vec::new(), after.clone(), None);
    let wanted = limit + 1;
    while positions.len() < wanted {
        let query = filter.query(after.as_deref(), now, wanted);
        let query = Query { consistent: freshness == Read::Consistent, ..query };
        let items = app.table(TABLE).query(query).await?;
        for item in &items {
            let unreadable = || Problem::internal("an unreadable item of a list");
            let listing = Listing::of(item).ok_or_else(unreadable)?;
            if filter.open.is_some() {
                until = until.into_iter().chain(listing.turns_at(now)).min();
            }
            after = Some(listing.position.clone());
            if filter.open.is_none_or(|open| open == listing.is_open(now)) {
                positions.push(listing.position);
            }
        }
        if items.len() < wanted {
            break;
        }
    }
    positions.truncate(wanted);
    let on_page = positions.iter().take(*limit).map(|position| keys::parse_position(position));
    let ids: Vec<AnnouncementId> = on_page.flatten().collect();
    let mut metas = announcements::metas(app, &ids, freshness).await?;
    let metas = ids.iter().filter_map(|id| metas.remove(id)).collect();
    Ok(Found { positions, metas, until })
}
