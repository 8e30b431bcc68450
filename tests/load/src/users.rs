//! Users of a closed model, driven by goose: it starts them and owns their HTTP
//! client; what a user does is a [`Script`].
//!
//! Goose's own metrics, report and log are off: they would cost time on every
//! request, and what they count is recorded already.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use goose::client::GooseClientBuilder;
use goose::config::GooseConfiguration;
use goose::goose::{GooseUser, Scenario, Transaction, TransactionFunction};
use goose::{GooseAttack, GooseError};
use tokio::sync::{Barrier, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::caller::{Caller, Think};
use crate::direct::Direct;
use crate::record::Recorder;
use crate::wire::{TIMEOUT, Wire};

/// Users that goose starts each second. They wait for each other before they
/// send anything.
pub(crate) const STARTED_PER_SECOND: usize = 2_000;
/// How often to look whether goose was told to stop.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What every user of a phase does, from beginning to end.
#[async_trait]
pub(crate) trait Script: Send + Sync {
    /// Sends requests until the work is done or `stop` is set.
    async fn play(&self, caller: &Caller, stop: &Stop);
}

/// Told to stop before the work was done: by Ctrl-C, or by the end of the time
/// that was given.
#[derive(Clone)]
pub(crate) struct Stop(Arc<watch::Sender<bool>>);

impl Stop {
    /// Nobody has said so yet.
    pub(crate) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    /// Whether to stop.
    pub(crate) fn is_set(&self) -> bool {
        *self.0.borrow()
    }

    /// Says so.
    pub(crate) fn set(&self) {
        self.0.send_replace(true);
    }

    /// Passes the time, unless told to stop meanwhile.
    pub(crate) async fn sleep(&self, time: Duration) {
        tokio::select! {
            biased; // so that a simulation repeats
            () = tokio::time::sleep(time) => {}
            () = self.wait() => {}
        }
    }

    async fn wait(&self) {
        // The sender lives as long as this, so there is no error to meet.
        let _ = self.0.subscribe().wait_for(|stopped| *stopped).await;
    }
}

/// A number of users against one URL.
#[derive(Clone)]
pub(crate) struct Users {
    /// How many.
    pub(crate) count: usize,
    /// Where they send to.
    pub(crate) url: String,
    /// After which time they stop, whatever is left.
    pub(crate) at_most: Option<Duration>,
    /// The way without a socket, where there is one: then goose is not needed.
    pub(crate) direct: Option<Direct>,
    /// How long they think before each request, if what they do does not say.
    pub(crate) think: Option<Think>,
    /// The other loads of the same cloud, if there are any.
    pub(crate) company: Option<Arc<Company>>,
}

/// Several loads of one cloud. What one waits for afterwards, like empty queues,
/// comes only when all are over.
pub(crate) struct Company {
    over: Barrier,
    is_over: watch::Sender<bool>,
}

impl Company {
    /// So many loads.
    pub(crate) fn of(loads: usize) -> Self {
        Self { over: Barrier::new(loads), is_over: watch::Sender::new(false) }
    }

    /// Waits until all are over.
    pub(crate) async fn over(&self) {
        // The sender lives as long as this, so there is no error to meet.
        let _ = self.is_over.subscribe().wait_for(|is_over| *is_over).await;
    }
}

impl Users {
    /// Lets every user play `script`, all starting at the same moment. `true`
    /// if they came to its end, `false` if they were stopped before.
    pub(crate) async fn play(
        &self,
        script: Arc<dyn Script>,
        recorder: &Arc<Recorder>,
    ) -> Result<bool, GooseError> {
        let stop = Stop::new();
        if let Some(direct) = &self.direct {
            self.play_directly(direct, &script, recorder, &stop).await;
            return Ok(!stop.is_set());
        }
        silence();
        let stage = Arc::new(Stage {
            script,
            recorder: Arc::clone(recorder),
            stop: stop.clone(),
            doors: Barrier::new(self.count),
            playing: AtomicUsize::new(self.count),
        });
        let attack = GooseAttack::initialize_with_config(self.configuration())?
            .set_client_builder_without_cookies(
                GooseClientBuilder::new().without_cookies().gzip(false).timeout(TIMEOUT),
            )?
            .register_scenario(
                Scenario::new("users")
                    .register_transaction(
                        Transaction::new(on_stage(Arc::clone(&stage))).set_on_start(),
                    )
                    .register_transaction(Transaction::new(leave())),
            );
        tokio::select! {
            played = attack.execute() => played.map(|_| !stop.is_set()),
            () = watch_for_stop(&stage, self.at_most) => unreachable!("the watch has no end"),
        }
    }

    /// When this load is over, which ended at `ended`: waits for the others, if
    /// there are any, and tells when all had ended.
    pub(crate) async fn wait_for_others(&self, ended: Instant) -> Instant {
        let Some(company) = &self.company else {
            return ended;
        };
        company.over.wait().await;
        company.is_over.send_replace(true);
        Instant::now()
    }

    /// Each user is a task, and nothing else is needed.
    async fn play_directly(
        &self,
        direct: &Direct,
        script: &Arc<dyn Script>,
        recorder: &Arc<Recorder>,
        stop: &Stop,
    ) {
        let mut playing = JoinSet::new();
        for _ in 0..self.count {
            let caller = Caller::new(Arc::new(direct.clone()), recorder).thinking(self.think);
            let (script, stop) = (Arc::clone(script), stop.clone());
            playing.spawn(async move { script.play(&caller, &stop).await });
        }
        let over = async {
            match self.at_most {
                Some(time) => tokio::time::sleep(time).await,
                None => std::future::pending().await,
            }
        };
        let all = async { while playing.join_next().await.is_some() {} };
        tokio::pin!(all);
        tokio::select! {
            biased; // so that a simulation repeats
            () = &mut all => {}
            () = over => {
                stop.set();
                all.await;
            }
        }
    }

    fn configuration(&self) -> GooseConfiguration {
        let mut configuration = GooseConfiguration::default();
        configuration.host = Some(self.url.clone());
        configuration.users = Some(self.count);
        configuration.increase_rate = Some(STARTED_PER_SECOND.to_string());
        configuration.no_metrics = true;
        configuration.no_telnet = true;
        configuration.no_websocket = true;
        configuration
    }
}

/// What the users of a phase share.
struct Stage {
    script: Arc<dyn Script>,
    recorder: Arc<Recorder>,
    stop: Stop,
    doors: Barrier,
    playing: AtomicUsize,
}

/// The transaction in which a user plays its part. The last one to finish ends
/// the run.
fn on_stage(stage: Arc<Stage>) -> TransactionFunction {
    Arc::new(move |user: &mut GooseUser| {
        let stage = Arc::clone(&stage);
        Box::pin(async move {
            let wire = Wire::new(user.client.clone(), user.base_url.as_str());
            let caller = Caller::new(Arc::new(wire), &stage.recorder);
            tokio::select! {
                _ = stage.doors.wait() => stage.script.play(&caller, &stage.stop).await,
                () = stage.stop.wait() => {}
            }
            if stage.playing.fetch_sub(1, Ordering::AcqRel) == 1 {
                goose::trigger_killswitch("every user is through");
            }
            Ok(())
        })
    })
}

/// The transaction in which a user waits to be sent home: goose asks its users
/// to stop only between two transactions.
fn leave() -> TransactionFunction {
    Arc::new(|_: &mut GooseUser| {
        Box::pin(async {
            tokio::time::sleep(LOOK_EVERY).await;
            Ok(())
        })
    })
}

/// Tells users that still play to stop when goose met Ctrl-C or when the time
/// is over.
async fn watch_for_stop(stage: &Stage, at_most: Option<Duration>) {
    let started = Instant::now();
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let is_over = at_most.is_some_and(|at_most| started.elapsed() >= at_most);
        let must_stop = is_over || goose::is_killswitch_triggered();
        if must_stop && stage.playing.load(Ordering::Acquire) > 0 {
            stage.stop.set();
        }
    }
}

/// Takes the place of the logger that goose would write to standard output.
fn silence() {
    struct Silent;
    impl log::Log for Silent {
        fn enabled(&self, _: &log::Metadata<'_>) -> bool {
            false
        }
        fn log(&self, _: &log::Record<'_>) {}
        fn flush(&self) {}
    }
    // It fails when there is a logger already, as in a second phase.
    let _ = log::set_logger(&Silent);
}
