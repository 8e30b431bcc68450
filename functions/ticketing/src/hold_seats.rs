//! `POST /matches/{matchId}/holds`: hold seats for a while, all of them or none.
//!
//! One transaction, and nothing is read first but what the environment
//! remembers: see [`crate::hold`].

use std::collections::BTreeSet;

use garde::Validate;
use platform::idempotency::Idempotency;
use platform::{App, Function, Problem, Reply, Request, auth, http};
use serde::Deserialize;

use crate::hold::{Hold, Taker};
use crate::ids::{MatchId, Seat};
use crate::matches;
use crate::pass::{self, Age};

/// The function.
pub static FUNCTION: Function = Function::http(NAME, |a, r| Box::pin(handle(a, r)));

const NAME: &str = "hold-seats";

#[derive(Deserialize, Validate)]
struct Body {
    #[garde(length(min = 1), custom(different))]
    seats: Vec<Seat>,
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
