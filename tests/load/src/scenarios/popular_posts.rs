//! `popular-posts`: everybody reads the same few posts of many, and some look at
//! the list and at what is popular.
//!
//! What counts is that every view of a hot post is counted, although nobody may
//! wait for anybody, and that lists stay quick and right meanwhile.

mod checks;
mod cost;
mod ledger;
mod page;
mod plan;
mod prepare;
mod read_back;
mod tables;
mod user;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use self::checks::Expected;
use self::ledger::{Ledger, Told};
use self::plan::Plan;
pub(crate) use self::plan::Shape;
use self::user::Reading;
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

/// Posts on a page of the list, unless another length is asked for.
const USUAL_PAGE: usize = 20;
/// How many posts are popular.
const MOST_POPULAR: usize = 20;
/// An environment may answer lists from memory for a second; after this time
/// none does.
const LISTS_ARE_REMEMBERED: Duration = Duration::from_millis(1_100);
/// Views are added up in batches, for which somebody waits two seconds. In a
/// run that is shorter than this, in seconds, that looks like a growing backlog.
const LEAST_GROWTH_S: f64 = 10.0;
/// What adds views up.
const BEHIND: &[&str] = &["count-views"];

/// What came of the load.
struct Played {
    is_complete: bool,
    samples: Samples,
    told: Vec<Told>,
    pages: (u64, Vec<String>),
    emptied: Emptied,
    depths: Option<Vec<Depth>>,
}

/// Prepares, runs, waits until all views are added up, reads back and checks.
pub(crate) async fn run(
    cloud: &Cloud,
    users: &Users,
    shape: Shape,
    seed: u64,
) -> Result<Outcome, Error> {
    let way = cloud.way()?;
    let mut random = fastrand::Rng::with_seed(seed);
    let (set_up, checked) = (Arc::new(Recorder::new()?), Arc::new(Recorder::new()?));
    let status_before = Status::read(&way).await;
    let (posts, before) = match &cloud.tables().await {
        Some(client) => {
            progress::say("preparing posts");
            let posts = prepare::in_table(client, shape.posts, cloud.now(), &mut random).await?;
            posts.into_iter().map(|post| (post.id, post.counted)).unzip()
        }
        None => {
            let caller = Caller::new(Arc::new(way.clone()), &set_up);
            let creating = prepare::by_api(cloud, &caller, shape.posts, &mut random);
            let total = shape.posts as u64;
            let posts = progress::show("set-up", total, &set_up, creating).await?;
            (posts, vec![0; shape.posts])
        }
    };
    let plan = Arc::new(Plan::new(shape.hot, posts, &mut random));
    if users.company.is_none() {
        wait_until_read(&way).await;
    }

    let caller = Caller::new(Arc::new(way.clone()), &checked);
    let played = play(&way, users, &plan, &caller, (seed, shape.time)).await?;
    let status = status_before.zip(Status::read(&way).await);
    let seen = progress::show("read back", None, &checked, read_back::read(&caller)).await?;
    let costs = cost::measure(&caller, seen.far.as_ref()).await?;
    let table = match &cloud.tables().await {
        Some(client) => Some(tables::read(client).await?),
        None => None,
    };
    let uncounted = uncounted(status.as_ref(), "get-post");
    let ranking = status
        .as_ref()
        .map(|(before, after)| after.of("popular-posts").since(&before.of("popular-posts")));
    let details = played.details();
    let Played { is_complete, samples, told, pages, emptied, .. } = played;
    let expected = Expected { plan: &plan, before, told, pages, uncounted };
    let mut invariants = checks::all(&expected, &seen, table.as_deref());
    invariants.extend(cost::all(costs.as_ref()));
    let asked = samples.operations.get("popular-posts").copied().unwrap_or_default();
    invariants.push(cost::ranking_is_remembered(ranking, asked, samples.wall()));
    invariants.push(emptied.invariant());
    invariants.push(invariants::no_server_error([&samples]));
    invariants.push(invariants::only_refusals(&[], [&samples]));
    Ok(Outcome {
        unknown_outcomes: samples.unknown_outcomes(),
        phases: vec![Phase { name: "read", samples }],
        is_complete,
        // Without what was read back: its pages are longer than those of users.
        aside: vec![set_up.samples()],
        behind: BEHIND,
        status,
        invariants,
        details,
    })
}

/// Lets everybody read, and waits until all views are added up.
async fn play(
    way: &Way,
    users: &Users,
    plan: &Arc<Plan>,
    caller: &Caller,
    (seed, time): (u64, Duration),
) -> Result<Played, Error> {
    let (recorder, ledger) =
        (Arc::new(Recorder::new()?), Arc::new(Ledger::new(plan.posts().len())));
    let watch = Watch::start(Arc::new(way.clone())).await;
    let reading = Arc::new(Reading::new(plan, &ledger, seed, time));
    let is_complete =
        progress::show("read", None, &recorder, users.play(reading, &recorder)).await?;
    let (samples, told, pages) = (recorder.samples(), ledger.told(), ledger.pages());
    progress::say("waiting until all views are added up");
    let ended = samples.last_answered().unwrap_or_else(Instant::now);
    let ended = users.wait_for_others(ended).await;
    let (emptied, depths) = match watch {
        Some(watch) => (watch.until_empty(ended).await, Some(watch.stop())),
        None => {
            read_back::wait_until_counted(caller, plan, &told).await?;
            (Emptied::Unseen, None)
        }
    };
    Ok(Played { is_complete, samples, told, pages, emptied, depths })
}

/// Waits until whoever reads the changes of the posts has read those of the
/// preparation, so that they do not disturb the measurement.
async fn wait_until_read(way: &Way) {
    if let Some(watch) = Watch::start(Arc::new(way.clone())).await {
        watch.until_empty(Instant::now()).await;
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
