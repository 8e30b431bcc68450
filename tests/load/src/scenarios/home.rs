//! `home`: everybody opens home, marks the same announcements, reads them, and
//! checks documents off, all at once.
//!
//! What counts is that nobody waits while the part of home that all share is
//! built anew, and that every mark and every check is there afterwards.

mod checks;
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
use self::user::Living;
use super::Outcome;
use crate::backlog::{Depth, Emptied, Growth, Watch};
use crate::caller::Caller;
use crate::cloud::Cloud;
use crate::error::Error;
use crate::invariants;
use crate::progress;
use crate::record::{Recorder, Samples, three_digits};
use crate::report::{Details, Phase};
use crate::status::{Status, uncounted};
use crate::users::Users;
use crate::way::Way;

/// In a run that is shorter than this, in seconds, batches of changes look like
/// a growing backlog.
const LEAST_GROWTH_S: f64 = 10.0;
/// So many times home is built anew during a run, beside once a minute.
const REFRESHES: u32 = 6;
/// And not more often than this.
const LEAST_BETWEEN: Duration = Duration::from_secs(1);
/// What builds it.
const REFRESH: &str = "refresh-home";
/// What works with what was done.
const BEHIND: &[&str] = &["count-announcements", REFRESH];

/// What came of the load.
struct Played {
    is_complete: bool,
    samples: Samples,
    told: Told,
    emptied: Emptied,
    depths: Option<Vec<Depth>>,
}

/// Announces, runs, waits until everything is added up, reads back and checks.
pub(crate) async fn run(
    cloud: &Cloud,
    users: &Users,
    time: Duration,
    seed: u64,
) -> Result<Outcome, Error> {
    let way = cloud.way()?;
    let (set_up, checked) = (Arc::new(Recorder::new()?), Arc::new(Recorder::new()?));
    let status_before = Status::read(&way).await;
    let plan = Arc::new(Plan::new(cloud, users.count)?);
    let caller = Caller::new(Arc::new(way.clone()), &set_up);
    progress::show("set-up", plan.places() as u64, &set_up, plan.announce(cloud, &caller)).await?;
    refresh(cloud).await;

    let played = play(cloud, &way, users, &plan, (seed, time)).await?;
    let status = status_before.zip(Status::read(&way).await);
    let caller = Caller::new(Arc::new(way), &checked);
    let total = plan.requests_to_read_back(&played.told);
    let reading = read_back::read(&caller, &plan, &played.told);
    let seen = progress::show("read back", total, &checked, reading).await?;
    let uncounted = uncounted(status.as_ref(), "get-announcement");
    let details = played.details();
    let Played { is_complete, samples, told, emptied, .. } = played;
    let expected = Expected { plan: &plan, told: &told, uncounted };
    let mut invariants = checks::all(&expected, &seen, &samples);
    invariants.push(emptied.invariant());
    invariants.push(invariants::no_server_error([&samples]));
    invariants.push(invariants::only_refusals(&[], [&samples]));
    Ok(Outcome {
        unknown_outcomes: samples.unknown_outcomes(),
        phases: vec![Phase { name: "home", samples }],
        is_complete,
        aside: vec![set_up.samples(), checked.samples()],
        behind: BEHIND,
        status,
        invariants,
        details,
    })
}

/// Builds the shared part of home, where that can be asked for.
async fn refresh(cloud: &Cloud) {
    if let Some(cloud) = cloud.local() {
        // If it fails the next one does it, and the run has seen one less.
        let _ = cloud.invoke_event(REFRESH, serde_json::Value::Null).await;
    }
}

/// Lets everybody do what they do while home is built anew now and then, and
/// waits until everything is added up.
async fn play(
    cloud: &Cloud,
    way: &Way,
    users: &Users,
    plan: &Arc<Plan>,
    (seed, time): (u64, Duration),
) -> Result<Played, Error> {
    let (recorder, ledger) = (Arc::new(Recorder::new()?), Arc::new(Ledger::default()));
    let watch = Watch::start(Arc::new(way.clone())).await;
    let living = Arc::new(Living::new(plan, &ledger, seed, time));
    let playing = progress::show("home", None, &recorder, users.play(living, &recorder));
    let refreshing = async {
        let between = (time / (REFRESHES + 1)).max(LEAST_BETWEEN);
        loop {
            tokio::time::sleep(between).await;
            refresh(cloud).await;
        }
    };
    let is_complete = tokio::select! {
        played = playing => played?,
        () = refreshing => unreachable!("refreshing has no end"),
    };
    let (samples, told) = (recorder.samples(), ledger.told());
    progress::say("waiting until everything is added up");
    let ended = samples.last_answered().unwrap_or_else(Instant::now);
    let ended = users.wait_for_others(ended).await;
    let (emptied, depths) = match watch {
        Some(watch) => (watch.until_empty(ended).await, Some(watch.stop())),
        None => {
            let caller = Caller::new(Arc::new(way.clone()), &Arc::new(Recorder::new()?));
            read_back::wait_until_counted(&caller, plan, &told).await?;
            (Emptied::Unseen, None)
        }
    };
    Ok(Played { is_complete, samples, told, emptied, depths })
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
