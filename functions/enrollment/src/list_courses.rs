//! `GET /courses?day=`: courses in the order of their ids, of one day or all.
//!
//! On the first day everybody asks for the same page, so an environment
//! remembers pages for a second. Staff, who alone change courses, read anew.

use std::sync::Arc;

use platform::cache::Cache;
use platform::http::{List, Page};
use platform::table::{Item, Key, Query, s};
use platform::{App, Function, Operation, Problem, Reply, Request, auth, http};

use crate::course::{self, CourseView, broken};
use crate::ids::CourseId;
use crate::meeting::Day;
use crate::{TABLE, courses, keys};

/// The function.
pub static FUNCTION: Function = Function::http("list-courses", |a, r| Box::pin(handle(a, r)));

/// How long a page is remembered, in milliseconds.
const PAGE_LIFETIME_MS: i64 = 1_000;

/// Which page: of which day, how long, after which course.
type PageKey = (Option<Day>, usize, Option<CourseId>);

/// Pages that this environment has read: the ids on them, and one more if the
/// list goes on.
struct Pages(Cache<PageKey, Arc<Vec<CourseId>>>);

impl Default for Pages {
    fn default() -> Self {
        Self(Cache::new(1_000, PAGE_LIFETIME_MS))
    }
}

/// What the document says of it.
pub fn operation() -> Operation {
    Operation::new(FUNCTION, "GET /courses", "Courses in the order of their ids.")
        .for_anyone_with_token()
        .query::<Day>("day", "Only those that meet on this day.")
        .pages(20)
        .lists::<CourseView>(course::example())
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let day: Option<Day> = http::query(&request, "day")?;
    let page = Page::<CourseId>::of(&request, keys::listing_partition(day))?;
    let is_staff = auth::caller(app, &request).is_ok_and(|caller| caller.is_staff());
    let key = (day, page.limit, page.after);
    let pages = app.memory::<Pages>();
    let now = app.clock.now();
    let ids = match pages.0.get(&key, now).filter(|_| !is_staff) {
        Some(ids) => ids,
        None => {
            let ids = Arc::new(read_page(app, key, is_staff).await?);
            pages.0.put(key, now, Arc::clone(&ids));
            ids
        }
    };
    let (ids, next_cursor) = page.cut(ids.to_vec())?;
    let courses = if is_staff {
        courses::get_many_fresh(app, &ids).await?
    } else {
        courses::get_many(app, &ids).await?
    };
    let items: Vec<CourseView> =
        ids.iter().filter_map(|id| courses.get(id)).map(|course| course.view()).collect();
    Reply::ok(&List { items, next_cursor })
}

async fn read_page(
    app: &App,
    (day, limit, after): PageKey,
    consistent: bool,
) -> Result<Vec<CourseId>, Problem> {
    let after = after.map_or_else(|| "COURSE#".to_owned(), keys::listing_position);
    let query = Query {
        condition: "pk = :pk AND sk > :after".into(),
        values: vec![(":pk", s(keys::listing_partition(day))), (":after", s(after))],
        limit: limit + 1,
        consistent,
        ..Query::default()
    };
    let items = app.table(TABLE).query(query).await?;
    items.iter().map(|item| course_of(item).ok_or_else(|| broken("a listed course"))).collect()
}

fn course_of(item: &Item) -> Option<CourseId> {
    let Key { sk, .. } = Key::of(item)?;
    sk.strip_prefix("COURSE#")?.parse::<u64>().ok()?.try_into().ok()
}
