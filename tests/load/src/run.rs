//! One run from the options to the report.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use crate::ceiling;
use crate::child::Serve;
use crate::cloud::Cloud;
use crate::compare;
use crate::error::Error;
use crate::options::{
    Common, Herd, Home, HotCourse, Hour, MixedFlow, Options, PopularPosts, Scenario, TicketOpen,
};
use crate::peer;
use crate::progress;
use crate::record::Samples;
use crate::report::{Ceiling, Measured, Operation, Part, Phase, Ratio, Report};
use crate::scenarios::{
    Outcome, herd, home, hot_course, hour, mixed_flow, popular_posts, relay, ticket_open,
};
use crate::users::Users;

/// The least that our rate should be of the peer's.
const PEER_RATE_GOAL: f64 = 2.5;
/// The most that our 95th percentile should be of the peer's.
const PEER_P95_GOAL: f64 = 0.4;
/// The least that our rate should be of the ceiling.
const CEILING_GOAL: f64 = 0.6;

/// Runs what was asked for and reports. `false` when an invariant is broken.
pub(crate) async fn run(options: Options) -> Result<bool, Error> {
    if let Scenario::Compare(options) = &options.scenario {
        return compare::run(options);
    }
    let Some(common) = options.common() else {
        return Ok(true); // it has been served already
    };
    for path in common.json.iter().chain(&common.html) {
        Report::require_writable(path)?;
    }
    let seed = common.seed.unwrap_or_else(|| fastrand::u64(..=u64::from(u32::MAX)));
    let report = match &options.scenario {
        Scenario::HotCourse(options) => hot_course(options, seed).await?,
        Scenario::MixedFlow(options) => mixed_flow(options, seed).await?,
        Scenario::PopularPosts(options) => popular_posts(options, seed).await?,
        Scenario::Home(options) => home(options, seed).await?,
        Scenario::TicketOpen(options) => ticket_open(options, seed).await?,
        Scenario::Herd(options) => herd(options, seed).await?,
        Scenario::Relay(options) => relay::run(options, seed).await?,
        Scenario::Hour(options) => hour_of_all(options, seed).await?,
        Scenario::Compare(_) | Scenario::ServeCloud(_) => return Ok(true),
    };
    report.print(&mut std::io::stdout().lock())?;
    if let Some(path) = &common.json {
        report.write_json(path)?;
    }
    if let Some(path) = &common.html {
        report.write_html(path)?;
    }
    std::io::stdout().lock().flush()?;
    if !report.is_sound() {
        progress::say(&format!("replay with the same options and --seed {seed}"));
    }
    Ok(report.is_sound())
}

async fn hot_course(options: &HotCourse, seed: u64) -> Result<Report, Error> {
    let common = &options.common;
    let cloud = open(common, options.users(), seed, options.no_events).await?;
    let users = users(common, options.users(), &cloud);
    let shape = options.shape();
    let mut random = fastrand::Rng::with_seed(seed);
    let outcome = hot_course::run(&cloud, &users, shape, options.stripes, &mut random).await?;
    let mut report = report("hot-course", &cloud, &users, seed, outcome);
    cloud.stop().await;
    if let Some(url) = &options.peer {
        let users = Users { url: url.clone(), ..users };
        report.compare_with_peer(&peer::run(&users, shape.students as u64).await?);
    }
    if options.ceiling {
        let rate = ceiling::measure(shape.students, users.count, seed).await?;
        report.compare_with_ceiling(Ceiling { rate });
    }
    Ok(report)
}

async fn mixed_flow(options: &MixedFlow, seed: u64) -> Result<Report, Error> {
    let common = &options.common;
    let cloud = match options.kill_at {
        Some(_) => Cloud::start_mortal(common.serve(seed, false)).await?,
        None => open(common, options.users(), seed, false).await?,
    };
    let users = users(common, options.users(), &cloud);
    let outcome = mixed_flow::run(&cloud, &users, options.shape(), seed, options.kill_at).await?;
    let report = report("mixed-flow", &cloud, &users, seed, outcome);
    cloud.stop().await;
    Ok(report)
}

async fn popular_posts(options: &PopularPosts, seed: u64) -> Result<Report, Error> {
    let common = &options.common;
    let cloud = open(common, options.users(), seed, false).await?;
    // They stop by themselves when their time is over.
    let users = Users { at_most: None, ..users(common, options.users(), &cloud) };
    let outcome = popular_posts::run(&cloud, &users, options.shape(), seed).await?;
    let report = report("popular-posts", &cloud, &users, seed, outcome);
    cloud.stop().await;
    Ok(report)
}

async fn home(options: &Home, seed: u64) -> Result<Report, Error> {
    let common = &options.common;
    let cloud = open(common, options.users(), seed, false).await?;
    // They stop by themselves when their time is over.
    let users = Users { at_most: None, ..users(common, options.users(), &cloud) };
    let outcome = home::run(&cloud, &users, options.time(), seed).await?;
    let report = report("home", &cloud, &users, seed, outcome);
    cloud.stop().await;
    Ok(report)
}

async fn ticket_open(options: &TicketOpen, seed: u64) -> Result<Report, Error> {
    let common = &options.common;
    let cloud = open(common, options.users(), seed, false).await?;
    let users = users(common, options.users(), &cloud);
    let outcome = ticket_open::run(&cloud, &users, options.shape(), seed).await?;
    let report = report("ticket-open", &cloud, &users, seed, outcome);
    cloud.stop().await;
    Ok(report)
}

async fn herd(options: &Herd, seed: u64) -> Result<Report, Error> {
    let common = &options.common;
    let cloud = open(common, options.users(), seed, options.no_events).await?;
    let users = users(common, options.users(), &cloud);
    let outcome = herd::run(&cloud, &users, options.target, options.stripes).await?;
    let report = report("herd", &cloud, &users, seed, outcome);
    cloud.stop().await;
    Ok(report)
}

async fn hour_of_all(options: &Hour, seed: u64) -> Result<Report, Error> {
    let common = &options.common;
    let limits = common.aws_limits.clone().unwrap_or_else(hour::limits);
    let serve = Serve { aws_limits: Some(limits), ..common.serve(seed, false) };
    let cloud = Cloud::simulate_mortal(serve).await?;
    let minutes = Duration::from_secs(60 * u64::from(options.minutes));
    let (outcome, count) = hour::run(&cloud, minutes, seed).await?;
    let users = users(common, count, &cloud);
    let report = report("hour", &cloud, &users, seed, outcome);
    cloud.stop().await;
    Ok(report)
}

/// The system under load: what answers at the URL, or a local cloud of one's
/// own. Above some thousands of users that is another process, since both ends
/// of their connections are more descriptors than one has.
async fn open(common: &Common, users: usize, seed: u64, no_events: bool) -> Result<Cloud, Error> {
    if let Some(url) = &common.url {
        return Cloud::at(url, common.token_key.as_deref());
    }
    let serve = common.serve(seed, no_events);
    if common.simulate {
        return Cloud::simulate(serve).await;
    }
    if Common::needs_process(users) {
        return Cloud::start_process(serve).await;
    }
    Cloud::start(serve).await
}

fn users(common: &Common, count: usize, cloud: &Cloud) -> Users {
    let at_most = common.seconds.map(Duration::from_secs);
    let (url, direct) = (cloud.url().to_owned(), cloud.direct().cloned());
    Users { count, url, at_most, direct, think: None, company: None }
}

fn report(
    scenario: &'static str,
    cloud: &Cloud,
    users: &Users,
    seed: u64,
    outcome: Outcome,
) -> Report {
    let Outcome {
        phases,
        is_complete,
        unknown_outcomes,
        aside,
        behind,
        status,
        invariants,
        details,
    } = outcome;
    let part = |phase: &Phase| Part { name: phase.name, measured: (&phase.samples).into() };
    let parts: Vec<Part> = phases.iter().map(part).collect();
    let samples: Vec<&Samples> = phases.iter().map(|phase| &phase.samples).collect();
    let timeline = samples[0].seconds();
    let mut requests = BTreeMap::<&'static str, u64>::new();
    for (operation, count) in samples.into_iter().chain(&aside).flat_map(|s| &s.operations) {
        *requests.entry(operation).or_default() += count;
    }
    let usage_of = |operation: &str| {
        status.as_ref().map(|(before, after)| after.of(operation).since(&before.of(operation)))
    };
    for operation in behind {
        requests.extend(usage_of(operation).map(|usage| (*operation, usage.requests)));
    }
    let operations = requests.into_iter().map(|(operation, requests)| {
        (operation.to_owned(), Operation::new(requests, usage_of(operation)))
    });
    Report {
        scenario,
        clock: cloud.clock_name(),
        url: users.url.clone(),
        seed,
        users: users.count,
        events: cloud.events(),
        is_complete,
        measured: parts[0].measured.clone(),
        operations: operations.collect(),
        phases: parts,
        unknown_outcomes,
        details,
        timeline,
        limits: cloud.limits().map(ToString::to_string),
        limited: status.as_ref().and_then(|(before, after)| after.limited_since(before)),
        hottest_keys: status.as_ref().and_then(|(_, after)| after.hottest_keys.clone()),
        invariants,
        peer: None,
        ceiling: None,
        ratios: Vec::new(),
    }
}

impl Report {
    fn compare_with_peer(&mut self, samples: &Samples) {
        let (ours, theirs) = (self.measured.clone(), Measured::from(samples));
        let (our_p95, their_p95) = (ours.latency_ms.p95, theirs.latency_ms.p95);
        self.ratios.extend([
            Ratio::at_least("rate, ours ÷ peer", ours.rate, theirs.rate, PEER_RATE_GOAL),
            Ratio::at_most("p95, ours ÷ peer", our_p95, their_p95, PEER_P95_GOAL),
        ]);
        self.peer = Some(theirs);
    }

    fn compare_with_ceiling(&mut self, ceiling: Ceiling) {
        let (ours, theirs) = (self.measured.rate, ceiling.rate);
        self.ratios.push(Ratio::at_least("rate, ours ÷ ceiling", ours, theirs, CEILING_GOAL));
        self.ceiling = Some(ceiling);
    }
}
