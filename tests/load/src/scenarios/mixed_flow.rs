//! `mixed-flow`: users of thirty accounts fill their calendars, and everything
//! that changes is told.
//!
//! Each user logs in, then creates schedules or updates the one it just created,
//! and thinks in between. What counts is not only how fast they are answered,
//! but whether telling keeps up with them, also when the cloud is killed.

mod checks;
mod kill;
mod ledger;
mod plan;
mod read_back;
mod session;
mod user;

use std::sync::Arc;

use futures_util::{StreamExt, TryStreamExt, stream};
use http::Method;
use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;

use self::checks::{Expected, Left};
use self::kill::Killer;
use self::ledger::{Ledger, Log};
use self::plan::{ACCOUNTS, Plan};
pub(crate) use self::plan::{MOST_SLOTS, Shape};
use self::user::Flow;
use super::Outcome;
use crate::backlog::{Depth, Emptied, Growth, Watch};
use crate::call::Request;
use crate::caller::Caller;
use crate::cloud::Cloud;
use crate::error::Error;
use crate::invariants::{self, Invariant};
use crate::progress;
use crate::record::{Recorder, Samples};
use crate::report::{ClosedModel, Details, Kill, Phase};
use crate::status::Status;
use crate::users::Users;

/// Accounts that are signed up at the same time: each wants a slow hash.
const SIGN_UPS_AT_A_TIME: usize = 4;

/// What came of the load.
struct Played {
    is_complete: bool,
    mixed: Samples,
    log_ins: Samples,
    /// When the last answer came.
    ended: Instant,
    /// From the beginning until then.
    seconds: f64,
    full_load: Option<(Instant, Instant)>,
    kill: Option<Kill>,
}

/// Sets up, runs, waits until everything is told, reads back and checks.
/// `kill_at` is the second in which the cloud is killed.
pub(crate) async fn run(
    cloud: &Cloud,
    users: &Users,
    shape: Shape,
    seed: u64,
    kill_at: Option<u64>,
) -> Result<Outcome, Error> {
    let way = cloud.way()?;
    let (set_up, checked) = (Arc::new(Recorder::new()?), Arc::new(Recorder::new()?));
    let staff = Caller::new(Arc::new(way.clone()), &set_up);
    let before = Status::read(&way).await;
    let buried_before = dead_letters(&staff, cloud).await?;
    let mut plan = Plan::new(shape, cloud.now(), fastrand::u32(..));
    let signing_up = sign_up(&staff, &mut plan);
    progress::show("set-up", ACCOUNTS as u64, &set_up, signing_up).await?;

    let (plan, ledger) = (Arc::new(plan), Arc::new(Ledger::new(shape.users)));
    let watch = Watch::start(Arc::new(way.clone())).await;
    let mut played = play(cloud, users, &plan, &ledger, (seed, kill_at)).await?;
    progress::say("waiting until everything is told");
    let caller = Caller::new(Arc::new(way.clone()), &checked);
    let (emptied, depths) = match watch {
        Some(watch) => {
            let ended = users.wait_for_others(played.ended).await;
            (watch.until_empty(ended).await, Some(watch.stop()))
        }
        None => {
            read_back::wait_until_told(&caller, &plan).await?;
            (Emptied::Unseen, None)
        }
    };

    let tables = cloud.tables().await;
    let reading = read_back::read(&caller, &plan, tables.as_ref());
    let total = plan.read_back_requests();
    let seen = progress::show("read back", total, &checked, reading).await?;
    let after = Status::read(&way).await;
    let buried = dead_letters(&caller, cloud).await?;
    let left = Left { emptied, dead_letters: buried_before.zip(buried) };
    let is_complete = played.is_complete;
    let logs = ledger.logs();
    let unknown_outcomes = logs.iter().map(Log::open).sum();
    let expected = Expected { plan: &plan, logs, is_complete };
    let mut invariants = checks::all(&expected, &seen, &left);
    let kill = played.kill.take();
    invariants.extend(kill_at.map(|second| killed_in_mid_run(second, kill.as_ref())));
    let details = details(&plan, &played, depths, emptied, kill);
    let phases = vec![
        Phase { name: "write", samples: played.mixed },
        Phase { name: "log in", samples: played.log_ins },
    ];
    let samples: Vec<&Samples> = phases.iter().map(|phase| &phase.samples).collect();
    invariants.push(invariants::no_server_error(samples.iter().copied()));
    invariants.push(invariants::only_refusals(&[], samples));
    // A cloud that was killed has forgotten what it counted.
    let status = before.zip(after).filter(|_| kill_at.is_none());
    let aside = vec![set_up.samples(), checked.samples()];
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

/// Lets everybody play, and kills the cloud meanwhile if it must be.
async fn play(
    cloud: &Cloud,
    users: &Users,
    plan: &Arc<Plan>,
    ledger: &Arc<Ledger>,
    (seed, kill_at): (u64, Option<u64>),
) -> Result<Played, Error> {
    let (recorder, log_ins) = (Arc::new(Recorder::new()?), Arc::new(Recorder::new()?));
    let flow = Arc::new(Flow::new(plan, ledger, &log_ins, seed));
    let killer = kill_at.zip(cloud.mortal()).map(|(second, it)| Killer::start(it, second));
    let started = Instant::now();
    let playing = users.play(Arc::clone(&flow) as _, &recorder);
    let is_complete = progress::show("write", plan.requests(), &recorder, playing).await?;
    let kill = match killer {
        Some(killer) => killer.end(&recorder).await?,
        None => None,
    };
    let full_load = flow.full_load();
    let (mixed, log_ins) = (recorder.samples(), log_ins.samples());
    let ended = mixed.last_answered().unwrap_or_else(Instant::now);
    let seconds = (ended - started).as_secs_f64();
    Ok(Played { is_complete, mixed, log_ins, ended, seconds, full_load, kill })
}

fn details(
    plan: &Plan,
    played: &Played,
    depths: Option<Vec<Depth>>,
    emptied: Emptied,
    kill: Option<Kill>,
) -> Details {
    let events = played.mixed.succeeded();
    let growth = depths.as_ref().and_then(|depths| Growth::of(depths, played.seconds, events));
    let think = plan.shape.think;
    Details {
        closed_model: Some(ClosedModel::new(
            plan.shape.users,
            (think.least, think.most, think.mean()),
            &played.mixed,
            played.full_load,
        )),
        load_seconds: Some(crate::record::three_digits(played.seconds)),
        backlog: depths,
        backlog_growth: growth,
        seconds_to_empty: emptied.seconds(),
        kill,
        ..Details::default()
    }
}

/// The run outlived the cloud.
fn killed_in_mid_run(second: u64, kill: Option<&Kill>) -> Invariant {
    const NAME: &str = "killed in mid-run";
    match kill {
        None => {
            let detail = format!("everybody was through before second {second}: lower --kill-at");
            Invariant::new(NAME, false, detail)
        }
        Some(kill) => {
            let Kill { second, down_seconds, unanswered } = kill;
            let detail = format!(
                "in second {second}, back after {down_seconds} s, {unanswered} requests without \
                 an answer were sent again"
            );
            Invariant::new(NAME, true, detail)
        }
    }
}

/// Signs all accounts up.
async fn sign_up(caller: &Caller, plan: &mut Plan) -> Result<(), Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Member {
        member_id: String,
    }
    const OPERATION: &str = "sign-up";
    let requests = plan.accounts().iter().enumerate().map(|(number, account)| {
        let name = format!("Account {}", number + 1);
        let (login_id, password) = (&account.login_id, &account.password);
        let body = json!({ "loginId": login_id, "password": password, "name": name });
        Request::new(OPERATION, Method::POST, "/members")
            .idempotency_key(login_id.clone())
            .body(body)
    });
    let requests: Vec<Request> = requests.collect();
    let members: Vec<Member> = stream::iter(&requests)
        .map(|request| async move {
            let answer = caller.insist(request).await?;
            answer.json().map_err(|error| Error::NotAsPromised { operation: OPERATION, error })
        })
        .buffered(SIGN_UPS_AT_A_TIME)
        .try_collect()
        .await?;
    for (number, member) in members.into_iter().enumerate() {
        plan.signed_up(number, member.member_id);
    }
    Ok(())
}

/// How many events did not arrive. `None` if this caller may not know.
async fn dead_letters(staff: &Caller, cloud: &Cloud) -> Result<Option<u64>, Error> {
    #[derive(Deserialize)]
    struct Body {
        count: u64,
    }
    const OPERATION: &str = "count-dead-letters";
    let request = Request::new(OPERATION, Method::GET, "/dead-letters");
    match staff.send(&request.token(&cloud.staff_token()?)).await {
        Ok(answer) if answer.is_success() => {
            let body: Body = answer
                .json()
                .map_err(|error| Error::NotAsPromised { operation: OPERATION, error })?;
            Ok(Some(body.count))
        }
        Ok(_) | Err(_) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_is_over_before_the_kill_proves_nothing() {
        let kill = Kill { second: 5, down_seconds: 0.7, unanswered: 30 };
        assert!(!killed_in_mid_run(5, Some(&kill)).is_broken());
        let never = killed_in_mid_run(5, None);
        assert!(never.is_broken() && never.detail.contains("--kill-at"));
    }
}
