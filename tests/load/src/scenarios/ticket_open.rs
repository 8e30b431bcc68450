//! `ticket-open`: a sale opens on the second, and everybody is at the door.
//!
//! What counts is that the queue lets in no more than the rate and nobody before
//! the time, that no seat is anybody's twice, and that whatever was abandoned is
//! free again when its time is over, without anything having run for it.

mod checks;
mod claims;
mod ledger;
mod plan;
mod read_back;
mod user;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use self::checks::Expected;
use self::ledger::{Ledger, Told};
use self::plan::Plan;
pub(crate) use self::plan::Shape;
use self::user::Buying;
use super::Outcome;
use crate::backlog::{Depth, Emptied, Growth, Watch};
use crate::caller::Caller;
use crate::cloud::Cloud;
use crate::error::Error;
use crate::invariants;
use crate::progress;
use crate::record::{Recorder, Samples, three_digits};
use crate::report::{Details, Phase};
use crate::status::Status;
use crate::users::Users;
use crate::way::Way;

/// In a run that is shorter than this, in seconds, batches of changes look like
/// a growing backlog.
const LEAST_GROWTH_S: f64 = 10.0;
/// What works with what was done.
const BEHIND: &[&str] = &["count-seats"];
/// Refusals that are nobody's fault.
const REFUSALS: &[&str] = &["SALE_NOT_OPEN", "SEAT_TAKEN", "SOLD_OUT", "HOLD_LAPSED"];

/// What came of the load.
struct Played {
    is_complete: bool,
    samples: Samples,
    /// Requests that had to be refused.
    provoked: Samples,
    told: Told,
    emptied: Emptied,
    depths: Option<Vec<Depth>>,
}

/// Puts the match there, lets everybody in, waits until every hold and order that
/// nobody ended is over, reads back and checks.
pub(crate) async fn run(
    cloud: &Cloud,
    users: &Users,
    shape: Shape,
    seed: u64,
) -> Result<Outcome, Error> {
    let way = cloud.way()?;
    let (set_up, checked) = (Arc::new(Recorder::new()?), Arc::new(Recorder::new()?));
    let status_before = Status::read(&way).await;
    let caller = Caller::new(Arc::new(way.clone()), &set_up);
    let preparing = Plan::prepare(cloud, &caller, shape, users.count);
    let plan = Arc::new(progress::show("set-up", None, &set_up, preparing).await?);

    let played = play(&way, users, &plan, seed).await?;
    wait_until_over(&played.told).await;
    let caller = Caller::new(Arc::new(way.clone()), &checked);
    let reading = read_back::read(&caller, &plan, &played.told);
    let seen = progress::show("read back", None, &checked, reading).await?;
    let status = status_before.zip(Status::read(&way).await);
    let details = played.details();
    let Played { is_complete, samples, provoked, told, emptied, .. } = played;
    let expected = Expected { plan: &plan, told: &told, is_own: cloud.events().is_some() };
    let mut invariants = checks::all(&expected, &seen);
    invariants.extend(checks::of_answers(&samples, &provoked));
    invariants.push(emptied.invariant());
    invariants.push(invariants::only_refusals(REFUSALS, [&samples]));
    Ok(Outcome {
        unknown_outcomes: samples.unknown_outcomes(),
        phases: vec![Phase { name: "sale", samples }],
        is_complete,
        aside: vec![set_up.samples(), provoked, checked.samples()],
        behind: BEHIND,
        status,
        invariants,
        details,
    })
}

/// Lets everybody wait, choose and buy, and waits until everything is told.
async fn play(way: &Way, users: &Users, plan: &Arc<Plan>, seed: u64) -> Result<Played, Error> {
    let (recorder, provoked) = (Arc::new(Recorder::new()?), Arc::new(Recorder::new()?));
    let ledger = Arc::new(Ledger::default());
    let watch = Watch::start(Arc::new(way.clone())).await;
    let buying = Arc::new(Buying::new(plan, &ledger, &provoked, seed));
    let is_complete =
        progress::show("sale", None, &recorder, users.play(buying, &recorder)).await?;
    let (samples, told) = (recorder.samples(), ledger.told());
    progress::say("waiting until everything is told");
    let ended = samples.last_answered().unwrap_or_else(Instant::now);
    let ended = users.wait_for_others(ended).await;
    let (emptied, depths) = match watch {
        Some(watch) => (watch.until_empty(ended).await, Some(watch.stop())),
        None => (Emptied::Unseen, None),
    };
    Ok(Played { is_complete, samples, provoked: provoked.samples(), told, emptied, depths })
}

/// Waits until the time of every hold and order is over that nobody ended.
async fn wait_until_over(told: &Told) {
    let ends = told.members.values().flat_map(|member| &member.claims).map(|it| it.over_by);
    if let Some(last) = ends.flatten().max() {
        let left = last.saturating_duration_since(Instant::now());
        progress::say(&format!("waiting {} s until what was left is over", left.as_secs() + 1));
        tokio::time::sleep_until(last + Duration::from_millis(100)).await;
    }
}

impl Played {
    fn details(&self) -> Details {
        let seconds = self.samples.wall().as_secs_f64();
        let growth = self.depths.as_ref().filter(|_| seconds >= LEAST_GROWTH_S);
        let growth = growth.and_then(|d| Growth::of(d, seconds, self.samples.succeeded()));
        Details {
            load_seconds: Some(three_digits(seconds)),
            backlog: self.depths.clone(),
            backlog_growth: growth,
            seconds_to_empty: self.emptied.seconds(),
            ..Details::default()
        }
    }
}
