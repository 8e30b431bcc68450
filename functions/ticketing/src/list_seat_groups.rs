//! `GET /matches/{matchId}/seat-groups`: how many seats of each block are free.
//!
//! The counts come from the blocks' maps, which an environment reads once a
//! second, from the caller's account, and from the clock: a hold that has lapsed
//! counts as free at once.

use platform::http::{List, Page};
use platform::{App, Function, Operation, Problem, Reply, Request, auth, http};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::ids::{BlockId, MatchId};
use crate::layout::MOST_BLOCKS;
use crate::pass::{self, Age};
use crate::refusal::Refusal;
use crate::{maps, matches};

/// The function.
pub static FUNCTION: Function = Function::http("list-seat-groups", |a, r| Box::pin(handle(a, r)));

/// A block as JSON.
#[derive(Debug, Serialize, ToSchema)]
struct Group<'a> {
    section: &'a str,
    block: &'a BlockId,
    grade: u32,
    price: u64,
    seats: u32,
    held: u32,
    sold: u32,
    free: u32,
}

/// What the document says of it.
pub fn operation() -> Operation {
    let group = json!({
        "section": "North", "block": "A", "grade": 1, "price": 9000,
        "seats": 200, "held": 12, "sold": 100, "free": 88,
    });
    let summary = "How many seats of each block are free.";
    Operation::new(FUNCTION, "GET /matches/{matchId}/seat-groups", summary)
        .for_members()
        .path::<MatchId>("matchId", "final")
        .header(pass::HEADER, "A pass for the match.")
        .pages(MOST_BLOCKS)
        .lists::<Group<'_>>(group)
        .refuses([Refusal::MatchNotFound, Refusal::PassRequired])
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    let id: MatchId = http::path(&request, "matchId")?;
    // Nobody has to turn pages: there are no more blocks than a page can hold.
    let page = Page::<usize>::with_default(&request, format!("groups {id}"), MOST_BLOCKS)?;
    let found = matches::get(app, &id).await?;
    pass::require(app, &request, &caller, &id, Age::Valid).await?;
    let maps = maps::seen_by(app, &found, &caller.member_id).await?;
    let now = app.clock.now();
    let first = page.after.map_or(0, |last| last + 1);
    let (on_page, next_cursor) = page.cut((first..found.blocks.len()).collect())?;
    let groups = found.blocks.iter().skip(first).take(on_page.len()).map(|block| {
        let (held, sold) = maps.get(&block.block).map_or((0, 0), |map| map.held_and_sold(now));
        let seats = block.seats();
        Group {
            section: block.section.as_str(),
            block: &block.block,
            grade: block.grade,
            price: block.price,
            seats,
            held,
            sold,
            free: seats - held - sold,
        }
    });
    Reply::ok(&List { items: groups.collect(), next_cursor })
}
