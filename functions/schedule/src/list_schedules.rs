//! `GET /schedules?from=&to=`: the caller's schedules that overlap a range of
//! time, in the order in which they begin.
//!
//! One that begins before `from` may reach into the range, but only the last of
//! those: the others end before it begins. So a page is one query in the range,
//! and the first page one more, whatever the calendar holds.

use std::collections::HashMap;

use platform::auth;
use platform::clock::{Instant, Time, When};
use platform::http::{List, Page};
use platform::table::{Item, Key, Patience, Query, Read, all, n, read, s};
use platform::{App, Function, Operation, Problem, Reply, Request, http};
use serde::Deserialize;
use serde_json::Value;

use crate::schedule::{self, Schedule};
use crate::wanted::{moment, zone_for};
use crate::{TABLE, keys};

/// The function.
pub static FUNCTION: Function = Function::http("list-schedules", |a, r| Box::pin(handle(a, r)));

/// A schedule in the local index.
#[derive(Clone, Debug, Deserialize)]
struct Entry {
    pk: String,
    sk: String,
    starts_at_ms: i64,
    ends_at_ms: i64,
}

/// From the first millisecond to the one after the last, if there are any.
#[derive(Clone, Copy, Debug)]
struct Range {
    from: Option<Instant>,
    to: Option<Instant>,
}

/// What the document says of it.
pub fn operation() -> Operation {
    let summary = "The caller's schedules that overlap a range of time, by their starts.";
    Operation::new(FUNCTION, "GET /schedules", summary)
        .for_members()
        .query::<Time>("from", "Only those that end after this.")
        .query::<Time>("to", "Only those that start before this.")
        .pages(20)
        .lists::<schedule::View<'_>>(schedule::example())
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let member = auth::caller(app, &request)?.member_id;
    let range = range(app, &request, &member).await?;
    let [from, to] = [range.from, range.to].map(|time| time.map(|at| at.as_millis().to_string()));
    let name = format!("schedules {member} {from:?} {to:?}");
    let page = Page::<i64>::of(&request, name)?;
    let mut patience = Patience::default();
    loop {
        let entries = entries(app, &member, range, &page).await?;
        let starts = entries.iter().map(|entry| entry.starts_at_ms).collect();
        let (starts, next_cursor) = page.cut(starts)?; // no two begin at once
        if let Some(items) = schedules(app, &entries[..starts.len()]).await? {
            return Reply::ok(&List { items, next_cursor });
        }
        if !patience.pause(app).await {
            return Err(Problem::busy("the calendar keeps changing"));
        }
    }
}

async fn range(app: &App, request: &Request, member_id: &str) -> Result<Range, Problem> {
    let (from, to) = (time(request, "from")?, time(request, "to")?);
    let zone = zone_for(app, member_id, [from, to]).await?;
    let from = from.map(|time| moment("from", time, &zone)).transpose()?;
    let to = to.map(|time| moment("to", time, &zone)).transpose()?;
    if from.zip(to).is_some_and(|(from, to)| from >= to) {
        return Err(Problem::invalid("to", "expected a time after from"));
    }
    Ok(Range { from, to })
}

/// A time in the query. The `+` of an offset, unless it is encoded, arrives as
/// a space, which no time has.
fn time(request: &Request, name: &str) -> Result<Option<When>, Problem> {
    let text = http::query::<String>(request, name)?;
    let time = text.map(|text| text.replace(' ', "+").parse());
    time.transpose().map_err(|error| Problem::invalid(name, error))
}

/// What the index has for a page, and one more if it goes on.
async fn entries(
    app: &App,
    member_id: &str,
    range: Range,
    page: &Page<i64>,
) -> Result<Vec<Entry>, Problem> {
    let first = range.from.unwrap_or(Instant::from_millis(i64::MIN)).as_millis();
    let first = page.after.map_or(first, |after| first.max(after + 1));
    let last = Instant::from_millis(i64::MAX).as_millis();
    let last = range.to.map_or(last, |to| to.as_millis() - 1); // before all time, if need be
    if first > last {
        return Ok(Vec::new()); // the condition would be refused
    }
    let partition = || (":pk", s(keys::member_partition(member_id)));
    let in_range = Query {
        index: Some(keys::STARTS),
        condition: "pk = :pk AND starts_at_ms BETWEEN :first AND :last".to_owned(),
        values: vec![partition(), (":first", n(first)), (":last", n(last))],
        limit: page.limit + 1,
        descending: false,
        consistent: true,
    };
    let before = range.from.filter(|_| page.after.is_none()).map(|from| Query {
        condition: "pk = :pk AND starts_at_ms < :from".to_owned(),
        values: vec![partition(), (":from", n(from.as_millis()))],
        limit: 1,
        descending: true,
        ..in_range.clone()
    });
    let table = app.table(TABLE);
    let queries = before.into_iter().chain([in_range]);
    let found = all(queries.map(|query| table.query(query)))
        .await?
        .into_iter()
        .flatten()
        .map(read::<Entry>);
    let mut found = found.collect::<Result<Vec<_>, _>>()?;
    found.retain(|entry| range.from.is_none_or(|from| entry.ends_at_ms > from.as_millis()));
    Ok(found)
}

/// The schedules of `entries` as JSON; `None` if one was moved or deleted since.
async fn schedules(app: &App, entries: &[Entry]) -> Result<Option<Vec<Value>>, Problem> {
    if entries.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let keys = entries.iter().map(|entry| Key::new(&entry.pk, &entry.sk)).collect();
    let items = app.table(TABLE).batch_get(keys, Read::Consistent).await?;
    let mut items: HashMap<String, Item> =
        items.into_iter().filter_map(|item| Some((Key::of(&item)?.sk, item))).collect();
    let mut views = Vec::with_capacity(entries.len());
    for entry in entries {
        let Some(schedule) = items.remove(&entry.sk).map(read::<Schedule>).transpose()? else {
            return Ok(None);
        };
        let times = (schedule.starts_at_ms, schedule.ends_at_ms);
        if times != (entry.starts_at_ms, entry.ends_at_ms) {
            return Ok(None);
        }
        views.push(serde_json::to_value(schedule.view()).map_err(Problem::internal)?);
    }
    Ok(Some(views))
}
