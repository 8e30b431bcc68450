//! One run from the options to the report.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use crate::ceiling;
use crate::cloud::Cloud;
use crate::error::Error;
use crate::options::{Common, HotCourse, Options, Scenario};
use crate::peer;
use crate::record::Samples;
use crate::report::{Ceiling, Measured, Operation, Part, Phase, Ratio, Report};
use crate::scenarios::hot_course::{self, Outcome};
use crate::users::Users;

/// The least that our rate should be of the peer's.
const PEER_RATE_GOAL: f64 = 2.5;
/// The most that our 95th percentile should be of the peer's.
const PEER_P95_GOAL: f64 = 0.4;
/// The least that our rate should be of the ceiling.
const CEILING_GOAL: f64 = 0.6;

/// Runs what was asked for and reports. `false` when an invariant is broken.
pub(crate) async fn run(options: Options) -> Result<bool, Error> {
    let Scenario::HotCourse(options) = options.scenario;
    if let Some(path) = &options.common.json {
        Report::require_writable(path)?;
    }
    let report = hot_course(&options).await?;
    report.print(&mut std::io::stdout().lock())?;
    if let Some(path) = &options.common.json {
        report.write_json(path)?;
    }
    std::io::stdout().lock().flush()?;
    Ok(report.is_sound())
}

async fn hot_course(options: &HotCourse) -> Result<Report, Error> {
    let common = &options.common;
    let seed = common.seed.unwrap_or_else(|| fastrand::u64(..=u64::from(u32::MAX)));
    let cloud = open(common, seed).await?;
    let users = Users {
        count: common.users,
        url: cloud.url().to_owned(),
        at_most: common.seconds.map(Duration::from_secs),
    };
    let shape = options.shape();
    let mut random = fastrand::Rng::with_seed(seed);
    let outcome = hot_course::run(&cloud, &users, shape, &mut random).await?;
    let mut report = report("hot-course", &users, seed, outcome);
    cloud.stop().await;
    if let Some(url) = &options.peer {
        let users = Users { url: url.clone(), ..users };
        report.compare_with_peer(&peer::run(&users, shape.students as u64).await?);
    }
    if options.ceiling {
        let rate = ceiling::measure(shape.students, common.users, seed).await?;
        report.compare_with_ceiling(Ceiling { rate });
    }
    Ok(report)
}

async fn open(common: &Common, seed: u64) -> Result<Cloud, Error> {
    match &common.url {
        Some(url) => Cloud::at(url, common.token_key.as_deref()),
        None => Cloud::start(common.data_dir.clone(), common.environments, seed).await,
    }
}

fn report(scenario: &'static str, users: &Users, seed: u64, outcome: Outcome) -> Report {
    let Outcome { phases, is_complete, aside, deciles, status, invariants } = outcome;
    let part = |phase: &Phase| Part { name: phase.name, measured: (&phase.samples).into() };
    let parts: Vec<Part> = phases.iter().map(part).collect();
    let samples: Vec<&Samples> = phases.iter().map(|phase| &phase.samples).collect();
    let unknown_outcomes = samples.iter().map(|samples| samples.unknown_outcomes()).sum();
    let mut requests = BTreeMap::<&'static str, u64>::new();
    for (operation, count) in samples.into_iter().chain(&aside).flat_map(|s| &s.operations) {
        *requests.entry(operation).or_default() += count;
    }
    let operations = requests.into_iter().map(|(operation, requests)| {
        let usage =
            status.as_ref().map(|(before, after)| after.of(operation).since(&before.of(operation)));
        (operation.to_owned(), Operation::new(requests, usage))
    });
    Report {
        scenario,
        clock: "real",
        url: users.url.clone(),
        seed,
        users: users.count,
        is_complete,
        measured: parts[0].measured.clone(),
        operations: operations.collect(),
        phases: parts,
        unknown_outcomes,
        deciles,
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
