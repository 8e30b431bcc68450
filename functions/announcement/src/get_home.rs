//! `GET /home`: what closes soon, what is new, what most people marked, and what
//! is one's own.
//!
//! The shared part is a copy that this environment has; one's own favorites and
//! checklists are two queries and then one read of their announcements each. So
//! home costs the same however many there are. Without a token there is only the
//! shared part.

use std::collections::HashMap;

use platform::auth::Caller;
use platform::clock::Instant;
use platform::problem::UNAUTHENTICATED;
use platform::table::Read;
use platform::{App, Function, Operation, Problem, Reply, Request, auth};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::announcement::{self, Entry, Meta};
use crate::announcements;
use crate::checklist::{self, Checklist};
use crate::favorite::{self, Favorite};
use crate::home::{self, Snapshot};
use crate::ids::AnnouncementId;

/// The function.
pub static FUNCTION: Function = Function::http("get-home", |a, r| Box::pin(handle(a, r)));

/// How many checklists home shows: those that were changed last.
const CHECKLISTS: usize = 20;

/// Home as JSON.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct View<'a> {
    closing_soon: Vec<Entry<'a>>,
    newest: Vec<Entry<'a>>,
    most_favorited: Vec<Entry<'a>>,
    built_at: Option<Instant>,
    /// With a token: those that close soonest first, and those that have closed last.
    #[schema(nullable = false)]
    #[serde(skip_serializing_if = "Option::is_none")]
    favorites: Option<Vec<Entry<'a>>>,
    /// With a token: those that were changed last.
    #[schema(nullable = false)]
    #[serde(skip_serializing_if = "Option::is_none")]
    checklists: Option<Vec<ChecklistView<'a>>>,
}

#[derive(Serialize, ToSchema)]
struct ChecklistView<'a> {
    #[serde(flatten)]
    entry: Entry<'a>,
    #[serde(flatten)]
    checklist: checklist::View<'a>,
}

/// What is one's own.
struct Own {
    favorites: Vec<Favorite>,
    checklists: Vec<Checklist>,
    /// The announcements of both.
    metas: HashMap<AnnouncementId, Meta>,
}

/// What the document says of it.
pub fn operation() -> Operation {
    let entry = announcement::entry_example();
    let mut checklist = checklist::example();
    for (name, value) in entry.as_object().into_iter().flatten() {
        checklist[name] = value.clone();
    }
    let home = json!({
        "closingSoon": [entry],
        "newest": [],
        "mostFavorited": [entry],
        "builtAt": "2030-01-19T09:00:00Z",
        "favorites": [entry],
        "checklists": [checklist],
    });
    let summary = "What closes soon, what is new, what most people marked, and what is one's own.";
    Operation::new(FUNCTION, "GET /home", summary)
        .for_anyone_with_token()
        .answers::<View<'_>>(home)
        .refuses([UNAUTHENTICATED])
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let is_guest = !request.headers().contains_key("authorization");
    let caller = if is_guest { None } else { Some(auth::caller(app, &request)?) };
    let (snapshot, own) = home::beside(app, own(app, caller.as_ref())).await?;
    let (empty, now) = (Snapshot::default(), app.clock.now());
    let shared = snapshot.as_deref().unwrap_or(&empty);
    let built_at = snapshot.as_ref().map(|snapshot| Instant::from_millis(snapshot.built_at_ms));
    Reply::ok(&View {
        closing_soon: shared.show(&shared.closing_soon, now, |meta| meta.is_open(now)),
        newest: shared.show(&shared.newest, now, |_| true),
        most_favorited: shared.show(&shared.most_favorited, now, |meta| meta.favorites > 0),
        built_at,
        favorites: own.as_ref().map(|own| own.favorites(now)),
        checklists: own.as_ref().map(|own| own.checklists(now)),
    })
}

async fn own(app: &App, caller: Option<&Caller>) -> Result<Option<Own>, Problem> {
    let Some(Caller { member_id, .. }) = caller else { return Ok(None) };
    let (favorites, checklists) = tokio::try_join!(
        favorite::all_of(app, member_id),
        checklist::last_of(app, member_id, CHECKLISTS)
    )?;
    let marked: Vec<_> = favorites.iter().map(|it| &it.announcement_id).collect();
    // Apart, since together they may be more than one call reads.
    let (mut metas, others) = tokio::try_join!(
        announcements::metas_of_marked(app, &marked),
        announcements::metas(
            app,
            checklists.iter().map(|it| &it.announcement_id),
            Read::Consistent
        )
    )?;
    metas.extend(others);
    Ok(Some(Own { favorites, checklists, metas }))
}

impl Own {
    /// Favorites that close soonest first, and those that have closed last.
    fn favorites(&self, now: Instant) -> Vec<Entry<'_>> {
        let favorites = self.favorites.iter().map(|favorite| &favorite.announcement_id);
        let mut favorites: Vec<&Meta> = favorites.filter_map(|id| self.metas.get(id)).collect();
        favorites.sort_by_key(|meta| (meta.is_over(now), meta.closes_at_ms));
        favorites.into_iter().map(|meta| meta.entry(now)).collect()
    }

    fn checklists(&self, now: Instant) -> Vec<ChecklistView<'_>> {
        let checklists = self.checklists.iter().filter_map(|checklist| {
            let meta = self.metas.get(&checklist.announcement_id)?;
            let checklist = checklist::view(Some(checklist), meta);
            Some(ChecklistView { entry: meta.entry(now), checklist })
        });
        checklists.collect()
    }
}
