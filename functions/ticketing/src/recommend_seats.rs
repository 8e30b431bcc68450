//! `POST /matches/{matchId}/recommendations`: seats that the member may like, and
//! on request a hold on them.
//!
//! They are chosen from maps that lag a little, which is good enough to look at.
//! To hold them is a transaction like any other: if somebody was faster, that
//! block's seats are read, and others are chosen, farther from the best each
//! time.

use futures_util::future::join;
use garde::Validate;
use platform::auth::Caller;
use platform::idempotency::Idempotency;
use platform::text;
use platform::{App, Function, Operation, Problem, Reply, Request, auth, http};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use crate::choose::{Choice, Wish};
use crate::hold::{self, Hold, NotHeld, Taker};
use crate::ids::{BlockId, MatchId, Seat, SeatName};
use crate::maps::{self, Maps};
use crate::matches::{self, Match};
use crate::options::{MOST_SEATS, Options};
use crate::pass::{self, Age};
use crate::preferences::Preferences;
use crate::refusal::Refusal;
use crate::served::served;
use crate::wishes::{self, Sections};

/// The function.
pub static FUNCTION: Function = Function::http(NAME, |a, r| Box::pin(handle(a, r)));

const NAME: &str = "recommend-seats";

/// How many choices are tried. Each one that is lost makes the whole truth about
/// its block known.
const TRIES: u32 = 40;

#[derive(Deserialize, Validate, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Body {
    #[garde(range(min = 1, max = MOST_SEATS))]
    #[schema(minimum = 1, maximum = 8)]
    seats: Option<u32>,
    #[garde(dive)]
    #[schema(value_type = Option<Vec<text::Title>>)]
    sections: Option<Sections>,
    #[garde(skip)]
    max_price: Option<u64>,
    #[garde(skip)]
    adjacent: Option<bool>,
    #[serde(default)]
    #[garde(skip)]
    hold: bool,
}

/// A recommendation as JSON.
#[derive(Serialize, ToSchema)]
struct View<'a> {
    #[schema(value_type = Vec<SeatName>)]
    seats: &'a [Seat],
    amount: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    hold: Option<hold::View<'a>>,
}

/// What the document says of it.
pub fn operation() -> Operation {
    let chosen = json!({ "seats": ["A-1-1", "A-1-2"], "amount": 18000 });
    let mut held = chosen.clone();
    held["hold"] = hold::example();
    let summary = "Seats that the member may like, and on request a hold on them.";
    Operation::new(FUNCTION, "POST /matches/{matchId}/recommendations", summary)
        .for_members()
        .keyed()
        .path::<MatchId>("matchId", "final")
        .header(pass::HEADER, "A pass for the match.")
        .body::<Body>(json!({ "seats": 2, "adjacent": true, "hold": true }))
        .answers::<View<'_>>(chosen)
        .creates::<View<'_>>(held)
        .refuses([Refusal::MatchNotFound, Refusal::PassRequired, Refusal::SoldOut])
        .refuses(Refusal::sale_examples())
        .refuses(Refusal::account_examples())
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    let id: MatchId = http::path(&request, "matchId")?;
    let idempotency = Idempotency::of(&request, &caller, NAME)?;
    let body: Body = http::body(&request)?;
    let found = matches::get(app, &id).await?;
    pass::require(app, &request, &caller, &id, Age::Valid).await?;
    let wants_hold = body.hold;
    let maps = maps::seen_by(app, &found, &caller.member_id);
    let (wish, maps) = join(wish(app, body, &id, &caller), maps).await;
    let (wish, maps) = (wish?, maps?);
    let of = Recommending { app, found: &found, wish: &wish };
    if wants_hold {
        return of.hold(maps, &caller.member_id, idempotency.as_ref()).await;
    }
    found.require_open(app.clock.now())?;
    let choice = of.choose(&maps, 0).ok_or(Refusal::SoldOut)?;
    Reply::ok(&View { seats: &choice.seats(), amount: choice.amount(), hold: None })
}

/// What the member wants: as the request says, or else the options for this
/// match; and rather where the preferences for every match say.
async fn wish(app: &App, body: Body, match_id: &MatchId, caller: &Caller) -> Result<Wish, Problem> {
    let (options, preferences) = wishes::of(app, match_id, &caller.member_id).await?;
    Ok(merge(body, options.unwrap_or_default(), &preferences.unwrap_or_default()))
}

fn merge(body: Body, options: Options, preferences: &Preferences) -> Wish {
    let names = |sections: &Sections| {
        sections.as_slice().iter().map(|name| name.as_str().to_owned()).collect()
    };
    Wish {
        seats: body.seats.unwrap_or(options.seats) as usize,
        sections: names(&body.sections.unwrap_or(options.sections)),
        preferred: names(&preferences.sections),
        max_price: body.max_price.or(options.max_price),
        adjacent: body.adjacent.or(options.adjacent),
    }
}

struct Recommending<'a> {
    app: &'a App,
    found: &'a Match,
    wish: &'a Wish,
}

impl Recommending<'_> {
    /// Seats to recommend by these maps, after so many lost races.
    fn choose(&self, maps: &Maps, lost: u32) -> Option<Choice<'_>> {
        let blocks = self.found.blocks.iter();
        let blocks = blocks.filter_map(|block| Some((block, &**maps.get(&block.block)?)));
        self.wish.choose(blocks, self.app.clock.now(), lost, |bound| self.app.random_below(bound))
    }

    /// Holds seats, as good ones as can be had.
    async fn hold(
        &self,
        mut maps: Maps,
        member_id: &str,
        idempotency: Option<&Idempotency>,
    ) -> Result<Reply, Problem> {
        let (app, the_match) = (self.app, self.found);
        let taker = Taker { app, the_match, member_id, idempotency };
        for lost in 0..TRIES {
            let Some(seats) = self.choose(&maps, lost).map(|choice| choice.seats()) else {
                let served = served(app, idempotency).await?;
                return served.ok_or_else(|| Refusal::SoldOut.into());
            };
            match taker.take(&seats, answer).await {
                Ok(reply) => {
                    maps::note_held(app, the_match, &maps, &seats);
                    return Ok(reply);
                }
                Err(NotHeld::Taken(taken)) => self.look(&mut maps, &taken).await?,
                Err(NotHeld::Refused(problem)) => return Err(problem),
            }
        }
        Err(Problem::busy("somebody was faster each time"))
    }

    /// Reads the blocks of seats that were taken, although their maps said that
    /// they were free.
    async fn look(&self, maps: &mut Maps, taken: &[Seat]) -> Result<(), Problem> {
        let mut blocks: Vec<&BlockId> = taken.iter().map(|seat| &seat.block).collect();
        blocks.dedup();
        for id in blocks {
            let block = self.found.block(id)?;
            let map = maps::look(self.app, &self.found.match_id, block).await?;
            maps.insert(id.clone(), map);
        }
        Ok(())
    }
}

fn answer(hold: &Hold) -> Result<Reply, Problem> {
    let view = View { seats: &hold.seats, amount: hold.amount, hold: Some(hold.view()) };
    Reply::created(format!("/holds/{}", hold.hold_id), &view)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(body: &str, options: &str, preferences: &str) -> Wish {
        let options = serde_json::from_str(options).unwrap();
        let preferences = serde_json::from_str(preferences).unwrap();
        merge(serde_json::from_str(body).unwrap(), options, &preferences)
    }

    #[test]
    fn a_request_goes_before_the_options_and_both_before_preferences() {
        let options = r#"{"seats": 3, "sections": ["N"], "maxPrice": 9, "adjacent": true}"#;
        let preferences = r#"{"sections": ["S"]}"#;
        let wish = merged("{}", options, preferences);
        let (n, s) = (vec!["N".to_owned()], vec!["S".to_owned()]);
        let expected = Wish {
            seats: 3,
            sections: n,
            preferred: s.clone(),
            max_price: Some(9),
            adjacent: Some(true),
        };
        assert_eq!(wish, expected);
        let asked = r#"{"seats": 1, "sections": [], "maxPrice": 0, "adjacent": false}"#;
        let wish = merged(asked, options, preferences);
        let expected = Wish {
            seats: 1,
            sections: vec![],
            preferred: s,
            max_price: Some(0),
            adjacent: Some(false),
        };
        assert_eq!(wish, expected);
    }
}
