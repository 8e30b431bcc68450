//! `herd`: everybody does the same thing at the same moment, once: reads one post,
//! marks one announcement, or enters one queue.
//!
//! What counts is how far the stripes of the counter behind it carry.

mod target;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use platform::auth::Role;

use self::target::Counted;
pub(crate) use self::target::Target;
use super::Outcome;
use crate::call::Request;
use crate::caller::Caller;
use crate::cloud::Cloud;
use crate::error::Error;
use crate::invariants::{self, Invariant};
use crate::progress;
use crate::record::{Recorder, Samples};
use crate::report::{Details, Phase};
use crate::status::{Status, uncounted};
use crate::users::{Script, Stop, Users};

/// What must be true of the counter.
const COUNTED: &str = "counted = done";

/// A request for each user.
struct Herd {
    requests: Vec<Request>,
    next: AtomicUsize,
}

#[async_trait]
impl Script for Herd {
    async fn play(&self, caller: &Caller, _: &Stop) {
        if let Some(request) = self.requests.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            // Whether it was answered or not is recorded.
            let _ = caller.send(request).await;
        }
    }
}

/// Sets up, lets everybody go, reads the counter and checks it.
pub(crate) async fn run(
    cloud: &Cloud,
    users: &Users,
    target: Target,
    stripes: Option<u32>,
) -> Result<Outcome, Error> {
    let way = cloud.way()?;
    let set_up = Arc::new(Recorder::new()?);
    let staff = Caller::new(Arc::new(way.clone()), &set_up);
    let thing = target.create(cloud, &staff).await?;
    let tables = cloud.tables().await;
    if let (Some(stripes), Some(client)) = (stripes, &tables) {
        thing.spread(client, stripes).await?;
    }
    let run = format!("load-{:016x}", fastrand::u64(..));
    let tokens = (0..users.count).map(|user| cloud.token(&format!("{run}-{user}"), Role::Member));
    let requests = tokens.map(|token| Ok(thing.request().token(&token?)));
    let requests = requests.collect::<Result<_, Error>>()?;

    let before = Status::read(&way).await;
    let recorder = Arc::new(Recorder::new()?);
    let herd = Arc::new(Herd { requests, next: AtomicUsize::new(0) });
    let total = users.count as u64;
    let playing = users.play(herd, &recorder);
    let is_complete = progress::show("herd", total, &recorder, playing).await?;
    if let Some(cloud) = cloud.local() {
        cloud.quiet().await; // somebody may have left whose request still runs
    }
    let status = before.zip(Status::read(&way).await);
    let samples = recorder.samples();
    let counted = match &tables {
        Some(client) => Some(thing.count(client).await?),
        None => None,
    };
    let uncounted = uncounted(status.as_ref(), target.operation());
    let invariants = vec![
        check(counted, &samples, uncounted),
        invariants::no_server_error([&samples]),
        invariants::only_refusals(&[], [&samples]),
    ];
    Ok(Outcome {
        unknown_outcomes: samples.unknown_outcomes(),
        phases: vec![Phase { name: "herd", samples }],
        is_complete,
        aside: vec![set_up.samples()],
        behind: &[],
        status,
        invariants,
        details: Details::default(),
    })
}

/// Whether everything that was done was counted, but for what functions gave up
/// counting, and nothing else but requests whose outcome nobody knows.
fn check(counted: Option<Counted>, samples: &Samples, uncounted: u64) -> Invariant {
    let Some(Counted { sum, stripes }) = counted else {
        return Invariant::unchecked(COUNTED, "only a local cloud shows its tables");
    };
    let (done, unknown) = (samples.succeeded(), samples.unknown_outcomes());
    let held = sum + uncounted >= done && sum <= done + unknown;
    let detail =
        format!("{sum} in {stripes} stripes, {done} done, {uncounted} given up, {unknown} unknown");
    Invariant::new(COUNTED, held, detail)
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;
    use crate::call::{Answer, Lost};

    fn verdict(sum: u64, statuses: &[u16], uncounted: u64) -> &'static str {
        let recorder = Recorder::new().unwrap();
        for status in statuses {
            let outcome = match status {
                0 => Err(Lost("cut off".to_owned())),
                _ => Ok(Answer { status: *status, body: Vec::new() }),
            };
            recorder.record("enter-queue", Instant::now(), &outcome);
        }
        check(Some(Counted { sum, stripes: 4 }), &recorder.samples(), uncounted).verdict()
    }

    #[tokio::test]
    async fn what_was_done_must_be_counted_once() {
        assert_eq!(verdict(2, &[200, 200], 0), "held");
        assert_eq!(verdict(1, &[200, 200], 0), "BROKEN");
        assert_eq!(verdict(3, &[200, 200], 0), "BROKEN");
        assert_eq!(verdict(1, &[200, 200], 1), "held", "a view was given up");
        assert_eq!(verdict(2, &[200, 0, 409], 0), "held", "a lost answer may have been done");
        assert_eq!(verdict(3, &[200, 0, 409], 0), "BROKEN", "a refusal was not");
    }
}
