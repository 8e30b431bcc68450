//! `POST /matches/{matchId}/holds`: hold seats for a while, all of them or none.
//!
//! One transaction, and nothing is read first but what the environment
//! remembers: see [`crate::hold`].

use std::collections::BTreeSet;

use garde::Validate;
use platform::idempotency::Idempotency;
use platform::{App, Function, Operation, Problem, Reply, Request, auth, http};
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::hold::{self, Hold, Taker};
use crate::ids::{MatchId, Seat, SeatName};
use crate::matches;
use crate::pass::{self, Age};
use crate::refusal::Refusal;

/// The function.
pub static FUNCTION: Function = Function::http(NAME, |a, r| Box::pin(handle(a, r)));

const NAME: &str = "hold-seats";

#[derive(Deserialize, Validate, ToSchema)]
struct Body {
    #[garde(length(min = 1), custom(different))]
    #[schema(value_type = Vec<SeatName>, min_items = 1)]
    seats: Vec<Seat>,
}

/// What the document says of it.
pub fn operation() -> Operation {
    let summary = "Hold seats for a while, all of them or none.";
    Operation::new(FUNCTION, "POST /matches/{matchId}/holds", summary)
        .for_members()
        .keyed()
        .path::<MatchId>("matchId", "final")
        .header(pass::HEADER, "A pass for the match.")
        .body::<Body>(json!({ "seats": ["A-1-1", "A-1-2"] }))
        .creates::<hold::View<'_>>(hold::example())
        .refuses([Refusal::MatchNotFound, Refusal::PassRequired])
        .refuses(Refusal::seat_examples().into_iter().flatten())
        .refuses(Refusal::sale_examples())
        .refuses(Refusal::account_examples())
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    let match_id: MatchId = http::path(&request, "matchId")?;
    let body: Body = http::body(&request)?;
    let idempotency = Idempotency::of(&request, &caller, NAME)?;
    let the_match = matches::get(app, &match_id).await?;
    the_match.amount(&body.seats)?; // refuses seats that are not there
    pass::require(app, &request, &caller, &match_id, Age::Valid).await?;
    let taker = Taker {
        app,
        the_match: &the_match,
        member_id: &caller.member_id,
        idempotency: idempotency.as_ref(),
    };
    Ok(taker.take(&body.seats, created).await?)
}

fn created(hold: &Hold) -> Result<Reply, Problem> {
    Reply::created(format!("/holds/{}", hold.hold_id), &hold.view())
}

/// Refuses a seat that is named twice.
#[expect(clippy::ptr_arg, reason = "the form that garde calls")]
fn different(seats: &Vec<Seat>, _: &()) -> garde::Result {
    let mut seen = BTreeSet::new();
    match seats.iter().find(|seat| !seen.insert(*seat)) {
        Some(twice) => Err(garde::Error::new(format!("{twice} is there twice"))),
        None => Ok(()),
    }
}
