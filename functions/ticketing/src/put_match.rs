//! `PUT /matches/{matchId}`: create a match, or change it.
//!
//! One write, however many seats there are: a seat becomes an item when it is
//! first held. Environments go by a match that is up to five seconds old, so
//! when the sale opens, and what it sells, is settled well before it does; all
//! else changes at any time, and the rate of admission a few seconds later.

use garde::Validate;
use platform::clock::Instant;
use platform::table::{Patience, Write, WriteError, n};
use platform::text::{self, Text};
use platform::{App, Function, Operation, Problem, Reply, Request, auth, http, operation};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::TABLE;
use crate::ids::MatchId;
use crate::layout::{self, Block};
use crate::matches::{self, Match, MatchView, SETTLED_MS};
use crate::refusal::Refusal;

/// The function.
pub static FUNCTION: Function = Function::http("put-match", |a, r| Box::pin(handle(a, r)));

/// The longest that a pass, a hold or an unpaid order lasts: a week.
const MOST_MINUTES: u32 = 7 * 24 * 60;

/// The most seats that a member may have of a match: all must fit into one
/// transaction of 100 items, beside what is written about them.
const MOST_SEATS_PER_MEMBER: u32 = 50;

/// A name that says something: a title, and not only blanks.
fn name(text: &Text, context: &()) -> garde::Result {
    text::title(text, context)?;
    if text.as_str().trim().is_empty() {
        return Err(garde::Error::new("expected more than blanks"));
    }
    Ok(())
}

platform::schema! {
    /// Text that [`name`] takes, in the document.
    Name = operation::pattern(concat!(
        r"^[^\u0000-\u0008\u000b-\u001f\u007f-\u009f]*",
        r"[^\s\u0000-\u001f\u007f-\u009f]",
        r"[^\u0000-\u0008\u000b-\u001f\u007f-\u009f]*$",
    ))
    .min_length(Some(1))
    .max_length(Some(200))
}

#[derive(Deserialize, Validate, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Body {
    #[garde(custom(name))]
    #[schema(value_type = Name)]
    home: Text,
    #[garde(custom(name))]
    #[schema(value_type = Name)]
    away: Text,
    #[garde(custom(name))]
    #[schema(value_type = Name)]
    venue: Text,
    #[garde(skip)]
    starts_at: Instant,
    #[garde(skip)]
    sale_opens_at: Instant,
    #[garde(skip)]
    sale_closes_at: Instant,
    #[garde(dive, custom(|blocks: &Vec<Block>, context| layout::check(blocks, context)))]
    #[schema(min_items = 1, max_items = 100)]
    blocks: Vec<Block>,
    #[garde(range(min = 1, max = 100_000))]
    #[schema(minimum = 1, maximum = 100_000)]
    admit_per_second: u32,
    #[garde(range(min = 1, max = MOST_MINUTES))]
    #[schema(minimum = 1, maximum = 10_080)]
    pass_minutes: u32,
    #[garde(range(min = 1, max = MOST_MINUTES))]
    #[schema(minimum = 1, maximum = 10_080)]
    hold_minutes: u32,
    #[garde(range(min = 1, max = MOST_MINUTES))]
    #[schema(minimum = 1, maximum = 10_080)]
    pay_minutes: u32,
    #[garde(range(min = 1, max = MOST_SEATS_PER_MEMBER))]
    #[schema(minimum = 1, maximum = 50)]
    max_seats_per_member: u32,
}

/// What the document says of it.
pub fn operation() -> Operation {
    Operation::new(FUNCTION, "PUT /matches/{matchId}", "Create a match, or change it.")
        .for_staff()
        .path::<MatchId>("matchId", "final")
        .if_match()
        .body::<Body>(matches::wanted_example())
        .puts::<MatchView>(matches::example())
        .tells_version()
        .refuses([Refusal::MatchInUse])
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    let id: MatchId = http::path(&request, "matchId")?;
    let if_match = http::if_match(&request)?;
    let wanted = parse(id, http::body(&request)?)?;
    caller.require_staff()?;
    let (put, is_new) = put(app, wanted, if_match).await?;
    let view = put.view(app.clock.now());
    let reply = if is_new {
        Reply::created(format!("/matches/{}", put.match_id), &view)?
    } else {
        Reply::ok(&view)?
    };
    Ok(reply.etag(put.version))
}

fn parse(match_id: MatchId, body: Body) -> Result<Match, Problem> {
    if body.sale_opens_at >= body.sale_closes_at {
        return Err(Problem::invalid("saleClosesAt", "expected a time after saleOpensAt"));
    }
    Ok(Match {
        match_id,
        home: body.home.into_string(),
        away: body.away.into_string(),
        venue: body.venue.into_string(),
        starts_at_ms: body.starts_at.as_millis(),
        sale_opens_at_ms: body.sale_opens_at.as_millis(),
        sale_closes_at_ms: body.sale_closes_at.as_millis(),
        blocks: body.blocks,
        admit_per_second: body.admit_per_second,
        lanes: matches::lanes(body.admit_per_second),
        paces: Vec::new(),
        pass_minutes: body.pass_minutes,
        hold_minutes: body.hold_minutes,
        pay_minutes: body.pay_minutes,
        max_seats_per_member: body.max_seats_per_member,
        version: 1,
    })
}

/// Writes the match, and tells whether it is new.
async fn put(app: &App, wanted: Match, if_match: Option<u64>) -> Result<(Match, bool), Problem> {
    let mut patience = Patience::default();
    loop {
        let seen = matches::get_fresh(app, &wanted.match_id).await?;
        let version = seen.as_ref().map_or(0, |seen| seen.version);
        if if_match.is_some_and(|asked_for| asked_for != version) {
            return Err(Refusal::VersionMismatch { version }.into());
        }
        let next = match &seen {
            None => wanted.clone(),
            Some(seen) => changed(seen, &wanted, app.clock.now())?,
        };
        match app.table(TABLE).commit(vec![write(&next, version)?]).await {
            Ok(()) => return Ok((next, seen.is_none())),
            Err(WriteError::Refused(_)) if patience.pause(app).await => {} // look again
            Err(WriteError::Refused(_)) => return Err(Problem::busy("the match keeps changing")),
            Err(error) => return Err(error.into()),
        }
    }
}

/// The write of a match in the place of the one at `version`, 0 being none.
fn write(next: &Match, version: u64) -> Result<Write, Problem> {
    let write = Write::put(next.to_item()?);
    Ok(match version {
        0 => write.when("attribute_not_exists(pk)"),
        version => write.when("version = :seen").bind(":seen", n(version)),
    })
}

/// `seen` changed into `wanted`.
fn changed(seen: &Match, wanted: &Match, now: Instant) -> Result<Match, Refusal> {
    let moves_opening = seen.sale_opens_at_ms != wanted.sale_opens_at_ms;
    let is_far = |opens_at_ms: i64| opens_at_ms > now.as_millis() + SETTLED_MS;
    let is_settled = !(is_far(seen.sale_opens_at_ms) && is_far(wanted.sale_opens_at_ms));
    if is_settled && (moves_opening || seen.blocks != wanted.blocks) {
        return Err(Refusal::MatchInUse);
    }
    let version = seen.version + 1;
    if !is_settled {
        return Ok(Match { version, ..wanted.clone() });
    }
    // People stand in the lanes that there are, and their turns have come or not.
    let paces = seen.paces_to(wanted.admit_per_second, now);
    Ok(Match { lanes: seen.lanes, paces, version, ..wanted.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matches::tests::a_match;

    const OPENS_AT_MS: i64 = 1_000_000;

    fn change(now_ms: i64, wanted: &Match) -> Result<Match, Refusal> {
        changed(&a_match(), wanted, Instant::from_millis(now_ms))
    }

    #[test]
    fn opening_and_blocks_are_settled_once_an_environment_could_sell_by_an_older_copy() {
        let settled_ms = OPENS_AT_MS - SETTLED_MS;
        let moved = Match { sale_opens_at_ms: OPENS_AT_MS + 1, ..a_match() };
        let other_seats = Match { blocks: a_match().blocks[..1].to_vec(), ..a_match() };
        for wanted in [&moved, &other_seats] {
            assert!(change(settled_ms - 1, wanted).is_ok());
            for now_ms in [settled_ms, OPENS_AT_MS, OPENS_AT_MS * 10] {
                assert_eq!(change(now_ms, wanted), Err(Refusal::MatchInUse));
            }
        }
        let soon = Match { sale_opens_at_ms: 20_000, ..a_match() };
        assert_eq!(change(0, &soon), Err(Refusal::MatchInUse), "too soon to be known everywhere");
        assert!(change(-1, &soon).is_ok());
    }

    #[test]
    fn everything_else_changes_at_any_time_but_the_lanes_stay() {
        let slower = Match { admit_per_second: 5, lanes: 5, venue: "Park".into(), ..a_match() };
        let after = change(OPENS_AT_MS, &slower).unwrap();
        assert_eq!((after.admit_per_second, after.lanes), (5, 16));
        assert_eq!((after.venue.as_str(), after.version), ("Park", 2));
        let opens_at = Instant::from_millis(OPENS_AT_MS);
        assert_eq!(after.turns(opens_at.plus_millis(100_000)), 6 * 100 + 94 * 5);
        let before = change(0, &slower).unwrap();
        assert_eq!((before.lanes, before.paces.len()), (5, 0));
        assert_eq!(before.turns(opens_at.plus_millis(100_000)), 100 * 5);
    }
}
