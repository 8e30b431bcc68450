//! `GET /matches/{matchId}/blocks/{block}/seats`: the seats of a block, row by
//! row, and whether they are free.
//!
//! They come from the block's map, which lags by the stream. What the caller did
//! does not: it lies in the caller's account, which is read anew each time.

use platform::http::{List, Page};
use platform::{App, Function, Operation, Problem, Reply, Request, auth, http};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::ids::{BlockId, MatchId, Seat, SeatName};
use crate::map::State;
use crate::pass::{self, Age};
use crate::refusal::Refusal;
use crate::{account, maps, matches};

/// The function.
pub static FUNCTION: Function = Function::http("list-seats", |a, r| Box::pin(handle(a, r)));

/// A seat as JSON.
#[derive(Debug, Serialize, ToSchema)]
struct View {
    #[schema(value_type = SeatName)]
    seat: Seat,
    state: State,
}

/// What the document says of it.
pub fn operation() -> Operation {
    let summary = "The seats of a block, row by row, and whether they are free.";
    Operation::new(FUNCTION, "GET /matches/{matchId}/blocks/{block}/seats", summary)
        .for_members()
        .path::<MatchId>("matchId", "final")
        .path::<BlockId>("block", "A")
        .header(pass::HEADER, "A pass for the match.")
        .pages(20)
        .lists::<View>(json!({ "seat": "A-1-1", "state": "FREE" }))
        .refuses([Refusal::MatchNotFound, Refusal::BlockNotFound, Refusal::PassRequired])
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    let id: MatchId = http::path(&request, "matchId")?;
    let block_id: BlockId = http::path(&request, "block")?;
    let page = Page::<usize>::of(&request, format!("seats {id} {block_id}"))?;
    let found = matches::get(app, &id).await?;
    let block = found.block(&block_id)?;
    pass::require(app, &request, &caller, &id, Age::Valid).await?;
    let maps = maps::get(app, &found).await?;
    let map = maps.get(&block_id).ok_or(Refusal::BlockNotFound)?;
    let own = account::get(app, &id, &caller.member_id).await?;
    let first = page.after.map_or(0, |last| last + 1);
    let places = (first..block.seats() as usize).take(page.limit + 1).collect();
    let (places, next_cursor) = page.cut(places)?;
    let now = app.clock.now();
    let map = own.noted_on(map, block, now);
    let seats = places.into_iter().map(|place| {
        let seat = block.seat(place);
        let state = map.state(place, now);
        View { seat, state }
    });
    Reply::ok(&List { items: seats.collect(), next_cursor })
}
