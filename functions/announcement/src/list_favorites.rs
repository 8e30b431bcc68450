//! `GET /favorites`: the caller's favorites, the last one added first.
//!
//! There are so few that all are read, in one query, and then what the page
//! shows of their announcements, in one more call.

use platform::clock::Instant;
use platform::http::{List, Page};
use platform::{App, Function, Operation, Problem, Reply, Request, auth};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::announcement::{self, Entry, Meta};
use crate::announcements;
use crate::favorite::{self, Favorite};
use crate::ids::AnnouncementId;

/// The function.
pub static FUNCTION: Function = Function::http("list-favorites", |a, r| Box::pin(handle(a, r)));

/// Where a favorite stands in the list: later ones first.
type Position = (i64, AnnouncementId);

/// A favorite as JSON.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct View<'a> {
    #[serde(flatten)]
    entry: Entry<'a>,
    favorite_since: Instant,
}

/// What the document says of it.
pub fn operation() -> Operation {
    let mut favorite = announcement::entry_example();
    favorite["favoriteSince"] = json!("2030-01-02T09:00:00Z");
    let summary = "The caller's favorites, the last one added first.";
    Operation::new(FUNCTION, "GET /favorites", summary)
        .for_members()
        .pages(20)
        .lists::<View<'_>>(favorite)
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    let page = Page::<Position>::of(&request, format!("favorites {}", caller.member_id))?;
    let favorites = favorite::all_of(app, &caller.member_id).await?;
    let mut positions: Vec<Position> = favorites.into_iter().map(position).collect();
    positions.sort_unstable_by(|one, other| other.cmp(one));
    if let Some(after) = &page.after {
        positions.retain(|position| position < after);
    }
    let (on_page, next_cursor) = page.cut(positions)?;
    let ids: Vec<_> = on_page.iter().map(|(_, id)| id).collect();
    let metas = announcements::metas_of_marked(app, &ids).await?;
    let now = app.clock.now();
    let items = on_page.iter().filter_map(|(since_ms, id)| {
        let meta: &Meta = metas.get(id)?;
        let favorite_since = Instant::from_millis(*since_ms);
        Some(View { entry: meta.entry(now), favorite_since })
    });
    Reply::ok(&List { items: items.collect(), next_cursor })
}

fn position(favorite: Favorite) -> Position {
    (favorite.added_at_ms, favorite.announcement_id)
}
