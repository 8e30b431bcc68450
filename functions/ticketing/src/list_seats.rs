//! `GET /matches/{matchId}/blocks/{block}/seats`: the seats of a block, row by
//! row, and whether they are free.
//!
//! They come from the block's map, which lags by the stream. What the caller did
//! does not: it lies in the caller's account, which is read anew each time.

use std::collections::HashSet;

use platform::clock::Instant;
use platform::http::{List, Page};
use platform::table::{Read, read};
use platform::{App, Function, Operation, Problem, Reply, Request, auth, http};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use crate::ids::{BlockId, MatchId, Seat, SeatName};
use crate::layout::Block;
use crate::map::{Map, State};
use crate::pass::{self, Age};
use crate::refusal::Refusal;
use crate::{TABLE, keys, maps, matches};

/// The function.
pub static FUNCTION: Function = Function::http("list-seats", |a, r| Box::pin(handle(a, r)));

/// A seat as JSON.
#[derive(Debug, Serialize, ToSchema)]
struct View {
    #[schema(value_type = SeatName)]
    seat: Seat,
    state: State,
}

/// What a member has of a match, as far as it changes what they see.
#[derive(Debug, Default, Deserialize)]
struct Own {
    #[serde(default)]
    open_until_ms: i64,
    #[serde(default)]
    open_seats: HashSet<Seat>,
    #[serde(default)]
    bought_seats: HashSet<Seat>,
    #[serde(default)]
    freed_at_ms: i64,
    #[serde(default)]
    freed_seats: HashSet<Seat>,
}

impl Own {
    /// What a seat is for its own member.
    fn state(&self, seat: &Seat, map: &Map, block: &Block, now: Instant) -> State {
        if self.bought_seats.contains(seat) {
            return State::Sold;
        }
        if self.open_seats.contains(seat) && self.open_until_ms > now.as_millis() {
            return State::Held;
        }
        if self.freed_seats.contains(seat) && self.freed_at_ms >= map.counted_at_ms {
            return State::Free;
        }
        map.state(block.place(seat.row, seat.number), now)
    }
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
    let own = app.table(TABLE).get(keys::account(&id, &caller.member_id), Read::Consistent).await?;
    let own: Own = own.map(read).transpose()?.unwrap_or_default();
    let first = page.after.map_or(0, |last| last + 1);
    let places = (first..block.seats() as usize).take(page.limit + 1).collect();
    let (places, next_cursor) = page.cut(places)?;
    let now = app.clock.now();
    let seats = places.into_iter().map(|place| {
        let seat = block.seat(place);
        let state = own.state(&seat, map, block, now);
        View { seat, state }
    });
    Reply::ok(&List { items: seats.collect(), next_cursor })
}
