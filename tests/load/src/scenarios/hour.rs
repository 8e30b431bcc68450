//! `hour`: all five systems at once for a simulated hour, while answers get
//! lost, calls fail, batches come twice or late, and the cloud is killed every
//! few minutes.
//!
//! Every scenario runs with users who think, so that all together send some 50
//! requests a second, and every invariant of each must hold at the end. Only
//! how fast answers came is not asked here.

use std::sync::Arc;
use std::time::Duration;

use local::limits::Limits;

use super::{Outcome, home, hot_course, mixed_flow, popular_posts, ticket_open};
use crate::caller::Think;
use crate::cloud::Cloud;
use crate::error::Error;
use crate::invariants::{self, Invariant, NO_SERVER_ERROR};
use crate::record::Samples;
use crate::report::{Details, Phase};
use crate::simulation::Simulation;
use crate::status::Status;
use crate::users::{Company, Users};

/// How many scenarios there are.
const LOADS: usize = 5;
/// Users who think for a second on average.
const THINK: Think =
    Think { least: Duration::from_millis(500), most: Duration::from_millis(1_500) };
/// Users of `hot-course`, who send one request a second each.
const ENROLLING: usize = 6;
/// Those of `mixed-flow`, and how long they think.
const PLANNING: usize = 60;
const PLANNING_THINK: Think = Think { least: Duration::from_secs(4), most: Duration::from_secs(8) };
/// Those of `popular-posts` and of `home`.
const READING: usize = 12;
/// Posts that there are.
const POSTS: usize = 2_000;
/// The queue of `ticket-open` admits one user a second: for half of the time, but
/// no longer than this, since all who wait poll meanwhile.
const SALE: Duration = Duration::from_secs(400);
/// A sale ends so long after the last was admitted, and everything else a while
/// before the time is over.
const MARGIN: Duration = Duration::from_secs(20);
/// Enrollments, drops and enrollments again for each student, in a run with a
/// seat for every fourth: one, an eighth, and four for each of those.
const ERRANDS_PER_STUDENT: f64 = 1.0 + 0.125 + 0.5;
/// The first death comes no earlier, when everything is set up.
const FIRST_DEATH: Duration = Duration::from_secs(40);
/// A run has at least so many deaths, and at most one in four minutes.
const LEAST_DEATHS: u32 = 3;
const BETWEEN_DEATHS: Duration = Duration::from_secs(240);
/// How long the cloud is down.
const DOWN: Duration = Duration::from_secs(2);

/// What goes wrong: one answer of a hundred is lost, one call of two hundred
/// fails, and as many calls to queues are throttled; one batch of fifty comes
/// again.
pub(crate) fn limits() -> Limits {
    let (lost, errors, queue_throttles, again) = (0.01, 0.005, 0.005, 0.02);
    Limits { lost, errors, queue_throttles, again, ..Limits::default() }
}

/// Runs all scenarios, and tells how many users they had.
pub(crate) async fn run(
    cloud: &Cloud,
    time: Duration,
    seed: u64,
) -> Result<(Outcome, usize), Error> {
    let company = Arc::new(Company::of(LOADS));
    let time = time.saturating_sub(MARGIN);
    let seconds = time.as_secs_f64();
    let users = |count, think| Users {
        count,
        url: cloud.url().to_owned(),
        at_most: None,
        direct: cloud.direct().cloned(),
        think,
        company: Some(Arc::clone(&company)),
    };
    let enrolling = users(ENROLLING, Some(THINK));
    let planning = users(PLANNING, None);
    let (reading, opening) = (users(READING, Some(THINK)), users(READING, Some(THINK)));
    let buying = users(whole((seconds / 2.0).min(SALE.as_secs_f64())), None);
    let count = ENROLLING + PLANNING + 2 * READING + buying.count;

    let students = whole(seconds * ENROLLING as f64 * 0.9 / ERRANDS_PER_STUDENT);
    let enroll = hot_course::Shape {
        students,
        seats: students as u64 / 4,
        courses: (students / 400).max(1),
        repeats: 1,
    };
    let plan = mixed_flow::Shape {
        users: PLANNING,
        loops: whole(seconds * 0.9 / PLANNING_THINK.mean().as_secs_f64()),
        think: PLANNING_THINK,
        ramp: PLANNING_THINK.mean(),
    };
    let read = popular_posts::Shape { posts: POSTS, hot: 0.8, time };
    let sell =
        ticket_open::Shape { seats: u32::try_from(buying.count).unwrap_or(40).max(40), rate: 1 };
    let mut random = fastrand::Rng::with_seed(seed);
    let before = status(cloud).await;
    let all = futures_util::future::try_join5(
        Box::pin(hot_course::run(cloud, &enrolling, enroll, None, &mut random)),
        Box::pin(mixed_flow::run(cloud, &planning, plan, seed, None)),
        Box::pin(popular_posts::run(cloud, &reading, read, seed)),
        Box::pin(home::run(cloud, &opening, time, seed)),
        Box::pin(ticket_open::run(cloud, &buying, sell, seed)),
    );
    let deaths = deaths(cloud.simulation(), &company, time, seed);
    let (outcomes, deaths) = futures_util::future::try_join(all, deaths).await?;
    let (a, b, c, d, e) = outcomes;
    let names = ["hot-course", "mixed-flow", "popular-posts", "home", "ticket-open"];
    let mut outcome = together(names.into_iter().zip([a, b, c, d, e]));
    outcome.status = before.zip(status(cloud).await);
    outcome.invariants.push(invariants::no_server_error(outcome.phases.iter().map(|p| &p.samples)));
    outcome.invariants.push(survived(deaths));
    Ok((outcome, count))
}

async fn status(cloud: &Cloud) -> Option<Status> {
    Status::read(cloud.direct()?).await
}

fn whole(number: f64) -> usize {
    let whole = Duration::try_from_secs_f64(number).ok().map(|number| number.as_secs().max(1));
    whole.and_then(|whole| usize::try_from(whole).ok()).unwrap_or(1)
}

/// Kills the cloud now and then, until all loads are over. How often it did.
async fn deaths(
    simulation: Option<&Simulation>,
    company: &Company,
    time: Duration,
    seed: u64,
) -> Result<u32, Error> {
    let Some(simulation) = simulation else { return Ok(0) };
    let between = (time.saturating_sub(FIRST_DEATH) / (LEAST_DEATHS + 1)).min(BETWEEN_DEATHS);
    let think = Think { least: between.mul_f64(0.7), most: between.mul_f64(1.3) };
    let mut random = fastrand::Rng::with_seed(seed);
    let mut deaths = 0;
    tokio::time::sleep(FIRST_DEATH).await;
    loop {
        tokio::select! {
            biased; // so that it repeats
            () = company.over() => return Ok(deaths),
            () = tokio::time::sleep(think.pick(&mut random)) => {}
        }
        simulation.kill().await;
        tokio::time::sleep(DOWN).await;
        simulation.start_again().await?;
        deaths += 1;
    }
}

fn survived(deaths: u32) -> Invariant {
    let detail = format!("{deaths} times, each time with the files that were left");
    Invariant::new("the cloud was killed and came back", deaths >= LEAST_DEATHS, detail)
}

/// Several outcomes as one: the first phase of each, and every invariant but
/// those of speed.
fn together(outcomes: impl Iterator<Item = (&'static str, Outcome)>) -> Outcome {
    let mut all = Outcome {
        phases: Vec::new(),
        is_complete: true,
        unknown_outcomes: 0,
        aside: Vec::new(),
        behind: &["count-views", "count-announcements", "count-seats", "relay", "notify"],
        status: None,
        invariants: Vec::new(),
        details: Details::default(),
    };
    for (name, outcome) in outcomes {
        all.is_complete &= outcome.is_complete;
        all.unknown_outcomes += outcome.unknown_outcomes;
        let mut samples: Vec<Samples> = outcome.phases.into_iter().map(|p| p.samples).collect();
        all.phases.push(Phase { name, samples: samples.remove(0) });
        all.aside.extend(samples);
        all.aside.extend(outcome.aside);
        let invariants = outcome.invariants.into_iter().filter(is_of_data);
        all.invariants.extend(invariants.map(|invariant| {
            let detail = format!("{name}: {}", invariant.detail);
            Invariant { detail, ..invariant }
        }));
    }
    all
}

/// Whether it can be asked for here: neither speed nor that every request has an
/// answer, which a death takes from those that are under way.
fn is_of_data(invariant: &Invariant) -> bool {
    const OTHERS: [&str; 3] = ["no error", "no 5xx", NO_SERVER_ERROR];
    !invariant.name.contains("p99") && !OTHERS.contains(&invariant.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_stored_is_asked_for_after_a_death() {
        let asked = |name| is_of_data(&Invariant::new(name, true, String::new()));
        assert!(asked("nobody twice") && asked("nothing unsent"));
        assert!(!asked("no error") && !asked("me: p99 ÷ p50 is at most 10"));
    }

    #[test]
    fn a_run_without_enough_deaths_proves_nothing() {
        assert!(survived(LEAST_DEATHS - 1).is_broken());
        assert!(!survived(LEAST_DEATHS).is_broken());
    }
}
