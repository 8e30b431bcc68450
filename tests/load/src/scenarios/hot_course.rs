//! `hot-course`: everybody wants the same course at the same moment.
//!
//! Users take the next student from a shared list and enroll it, until all are
//! through. When there are fewer seats than students, some of those who got one
//! then drop it, and some who were refused try again.

mod checks;
mod ledger;
mod plan;
mod read_back;
mod rush;
mod setup;
mod stripes;
mod told;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use self::checks::Expected;
use self::ledger::Ledger;
pub(crate) use self::plan::{MOST, Plan, Shape};
use self::rush::{Action, Errand, Rush};
pub(crate) use self::setup::create;
use super::Outcome;
use crate::backlog::{Depth, Emptied, Watch};
use crate::caller::Caller;
use crate::cloud::{Cloud, Events};
use crate::error::Error;
use crate::invariants::{self, Invariant};
use crate::progress;
use crate::record::{Recorder, Samples};
use crate::report::{Decile, Details, Phase};
use crate::status::Status;
use crate::users::Users;
use crate::way::Way;

/// How long an environment may answer `COURSE_FULL` from memory, in milliseconds.
const FULL_IS_REMEMBERED_MS: i64 = 1_000;
/// For each seat that is dropped, so many of those who were refused try again.
const TRIES_PER_FREE_SEAT: usize = 4;

/// One run against one cloud.
struct Run<'a> {
    cloud: &'a Cloud,
    users: &'a Users,
    way: Way,
    plan: Arc<Plan>,
    ledger: Arc<Ledger>,
    phases: Vec<Phase>,
}

/// Sets up, runs, reads back and checks.
pub(crate) async fn run(
    cloud: &Cloud,
    users: &Users,
    shape: Shape,
    stripes: Option<u32>,
    random: &mut fastrand::Rng,
) -> Result<Outcome, Error> {
    let way = cloud.way()?;
    let mut plan = Plan::new(shape, cloud.now());
    let staff_token = cloud.staff_token()?;
    let before = Status::read(&way).await;
    let set_up = Arc::new(Recorder::new()?);
    let staff = Caller::new(Arc::new(way.clone()), &set_up);
    let creating = setup::create(&staff, &staff_token, &plan);
    progress::show("set-up", plan.setup_requests(), &set_up, creating).await?;
    plan.sign_tokens(cloud)?;
    if let (Some(stripes), Some(client)) = (stripes, cloud.tables().await) {
        stripes::spread(&client, &plan, stripes).await?;
    }

    let is_told = cloud.events() != Some(Events::Paused);
    let watch = if is_told { Watch::start(Arc::new(way.clone())).await } else { None };
    let plan = Arc::new(plan);
    let ledger = Arc::new(Ledger::new(plan.students()));
    let mut run = Run { cloud, users, way: way.clone(), plan, ledger, phases: Vec::new() };
    let (deciles, is_complete) = run.rush().await?;
    let mut fits = is_complete.then(|| run.plan.fits());
    if is_complete && run.plan.is_short_of_seats() {
        fits = run.drop_and_try_again(random).await?;
    }

    if let Some(cloud) = cloud.local() {
        cloud.quiet().await; // somebody may have left whose request still runs
    }
    let (emptied, backlog) = match is_told {
        true => run.wait_until_told(watch).await,
        false => (None, None),
    };
    let checked = Arc::new(Recorder::new()?);
    let staff = Caller::new(Arc::new(way.clone()), &checked);
    let reading = read_back::read(&staff, &staff_token, &run.plan);
    let total = run.plan.read_back_requests();
    let seen = progress::show("read back", total, &checked, reading).await?;
    let is_complete = fits.is_some();
    let expected = Expected { plan: &run.plan, told: run.ledger.told(), fits };
    let mut invariants = checks::all(&expected, &seen);
    invariants.extend(told(emptied, &expected, &staff, &checked).await?);
    let after = Status::read(&way).await;
    let samples: Vec<Samples> = run.phases.iter().map(|phase| phase.samples.clone()).collect();
    invariants.push(invariants::no_server_error(&samples));
    invariants.push(invariants::only_refusals(&run.plan.expected_refusals(), &samples));
    let unknown_outcomes = samples.iter().map(Samples::unknown_outcomes).sum();
    let (phases, aside) = (run.phases, vec![set_up.samples(), checked.samples()]);
    let seconds_to_empty = emptied.and_then(Emptied::seconds);
    let details = Details { deciles, backlog, seconds_to_empty, ..Details::default() };
    let status = before.zip(after);
    Ok(Outcome {
        phases,
        is_complete,
        unknown_outcomes,
        aside,
        behind: &[],
        status,
        invariants,
        details,
    })
}

/// What must be true of what was told, once nothing waits. `None` if nothing was
/// to be told.
async fn told(
    emptied: Option<Emptied>,
    expected: &Expected<'_>,
    caller: &Caller,
    recorder: &Recorder,
) -> Result<Vec<Invariant>, Error> {
    let Some(emptied) = emptied else {
        return Ok(Vec::new());
    };
    let told = match emptied {
        Emptied::Unseen => told::unchecked(),
        Emptied::After(_) | Emptied::Stalled(_) => {
            let students = expected.plan.students() as u64;
            let reading = told::read(caller, expected.plan);
            let inboxes = progress::show("inboxes", students, recorder, reading).await?;
            told::once_and_in_order(expected, &inboxes)
        }
    };
    Ok(vec![emptied.invariant(), told])
}

impl Run<'_> {
    /// Everybody enrolls. `false` if stopped before all were through.
    async fn rush(&mut self) -> Result<(Option<Vec<Decile>>, bool), Error> {
        let repeats = self.plan.shape.repeats;
        let errands = (0..self.plan.students()).flat_map(|student| {
            std::iter::repeat_n(Errand { student, action: Action::Enroll }, repeats)
        });
        let (watch, deciles) = rush::watch_deciles(self.way.clone()).await;
        let rush = Rush::new(&self.plan, &self.ledger, errands.collect()).with_deciles(watch);
        let is_complete = self.play("enroll", rush, self.users.at_most).await?;
        Ok((deciles.await.unwrap_or_default(), is_complete))
    }

    /// Half of the seats are given back and wanted again. Returns how many seats
    /// each course must have given away at the end, or nothing if stopped.
    async fn drop_and_try_again(
        &mut self,
        random: &mut fastrand::Rng,
    ) -> Result<Option<Vec<u64>>, Error> {
        let (leaving, trying) = self.ledger.choose(&self.plan, TRIES_PER_FREE_SEAT, random);
        let fits = self.plan.fits_after(&leaving, &trying);
        let errands = |students: Vec<usize>, action| {
            let errands = students.into_iter().map(|student| Errand { student, action });
            Rush::new(&self.plan, &self.ledger, errands.collect())
        };
        let (drops, tries) = (errands(leaving, Action::Drop), errands(trying, Action::Enroll));
        if !self.play("drop", drops, None).await? {
            return Ok(None);
        }
        let free_at = self.cloud.now().plus_millis(FULL_IS_REMEMBERED_MS);
        while self.cloud.now() <= free_at {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(self.play("enroll again", tries, None).await?.then_some(fits))
    }

    /// Waits until everything is told, and says what waited meanwhile.
    async fn wait_until_told(&self, watch: Option<Watch>) -> (Option<Emptied>, Option<Vec<Depth>>) {
        let Some(watch) = watch else {
            return (Some(Emptied::Unseen), None);
        };
        progress::say("waiting until everything is told");
        let ended = self.phases.last().and_then(|phase| phase.samples.last_answered());
        let ended = self.users.wait_for_others(ended.unwrap_or_else(Instant::now)).await;
        (Some(watch.until_empty(ended).await), Some(watch.stop()))
    }

    async fn play(
        &mut self,
        name: &'static str,
        rush: Rush,
        at_most: Option<Duration>,
    ) -> Result<bool, Error> {
        let recorder = Arc::new(Recorder::new()?);
        let total = rush.total();
        let users = Users { at_most, ..self.users.clone() };
        let playing = users.play(Arc::new(rush), &recorder);
        let is_complete = progress::show(name, total, &recorder, playing).await?;
        self.phases.push(Phase { name, samples: recorder.samples() });
        Ok(is_complete)
    }
}
