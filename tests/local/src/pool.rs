//! Execution environments of one function, as Lambda keeps them.
//!
//! Each has an App of its own, with its own client and memory, and serves one
//! request at a time. They are started on demand; the one used last is used
//! next; when all are busy, requests wait in line.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aws_lambda_events::apigw::ApiGatewayV2httpRequest;
use http::StatusCode;
use platform::app::{App, Settings};
use platform::clock::Clock;
use platform::lambda::{Failed, Function, Handler, Outcome, invoke, invoke_event};
use platform::meter::Usage;
use serde_json::Value;
use tokio::sync::{Semaphore, watch};

use crate::connector::{Links, clients};
use crate::gateway::refusal;
use crate::statistics::Statistics;

/// What every environment is made from.
#[derive(Clone)]
pub(crate) struct Ground {
    pub(crate) links: Links,
    pub(crate) clock: Clock,
    pub(crate) life: Life,
}

/// Whether the functions live. When they do not, each ends where it is.
#[derive(Clone, Default)]
pub(crate) struct Life(Arc<watch::Sender<bool>>);

impl Life {
    /// Ends it.
    pub(crate) fn end(&self) {
        self.0.send_replace(true);
    }

    /// Runs `work` to its end, or to that of this life.
    async fn live<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut is_over = self.0.subscribe();
        tokio::select! {
            biased;
            _ = is_over.wait_for(|is_over| *is_over) => None,
            done = work => Some(done),
        }
    }
}

/// The environments of one function.
pub(crate) struct Pool {
    function: Function,
    settings: Settings,
    timeout: Duration,
    ground: Ground,
    slots: Arc<Semaphore>,
    most: u32,
    state: Mutex<State>,
}

struct State {
    idle: Vec<App>,
    running: u64,
    random: fastrand::Rng,
    statistics: Statistics,
}

impl Pool {
    pub(crate) fn new(
        function: Function,
        settings: Settings,
        timeout: Duration,
        most: u32,
        random: fastrand::Rng,
        ground: Ground,
    ) -> Self {
        let state =
            State { idle: Vec::new(), running: 0, random, statistics: Statistics::default() };
        Self {
            function,
            settings,
            timeout,
            ground,
            slots: Arc::new(Semaphore::new(most as usize)),
            most,
            state: Mutex::new(state),
        }
    }

    /// Runs the function for a request, on an environment that is free. Once it
    /// has begun, it runs to its end, even if nobody waits for the answer any more.
    pub(crate) async fn invoke(self: &Arc<Self>, event: ApiGatewayV2httpRequest) -> Outcome {
        let (pool, function) = (Arc::clone(self), self.function);
        let run = async move {
            let work = |app: App| async move {
                let outcome = invoke(&app, function, event).await;
                (app, outcome)
            };
            let outcome = pool.run(work).await;
            let outcome = outcome.unwrap_or_else(|cut_off| failed(cut_off.took));
            pool.record(outcome.response.status().as_u16(), &outcome);
            outcome
        };
        self.spawn(run).await.unwrap_or_else(|| failed(Duration::ZERO)) // the process is ending
    }

    /// Runs the function on any event, like [`Pool::invoke`].
    pub(crate) async fn invoke_event(
        self: &Arc<Self>,
        event: Value,
    ) -> Outcome<Result<Value, Failed>> {
        let (pool, function) = (Arc::clone(self), self.function);
        let run = async move {
            let work = |app: App| async move {
                let outcome = invoke_event(&app, function, event).await;
                (app, outcome)
            };
            let outcome = pool.run(work).await;
            let outcome = outcome.unwrap_or_else(|cut_off| event_failed(cut_off.took));
            pool.record(if outcome.response.is_ok() { 200 } else { 500 }, &outcome);
            outcome
        };
        self.spawn(run).await.unwrap_or_else(|| event_failed(Duration::ZERO))
    }

    /// Runs `work` when there is room for it, to its end or that of all.
    async fn spawn<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let slot = Arc::clone(&self.slots).acquire_owned().await.ok()?;
        let life = self.ground.life.clone();
        let run = tokio::spawn(async move {
            let done = life.live(work).await;
            drop(slot);
            done
        });
        run.await.ok().flatten()
    }

    /// Runs `work` on an environment. An environment that does not end in time
    /// is gone, as on Lambda.
    async fn run<T, F>(&self, work: impl FnOnce(App) -> F) -> Result<Outcome<T>, CutOff>
    where
        F: Future<Output = (App, Outcome<T>)>,
    {
        let app = self.environment().ok_or(CutOff { took: Duration::ZERO })?;
        match tokio::time::timeout(self.timeout, work(app)).await {
            Ok((app, outcome)) => {
                self.state().idle.push(app);
                Ok(outcome)
            }
            Err(_) => {
                tracing::error!(function = self.function.name, "timed out");
                self.state().running -= 1;
                Err(CutOff { took: self.timeout })
            }
        }
    }

    fn record<T>(&self, status: u16, outcome: &Outcome<T>) {
        self.state().statistics.record(status, &outcome.usage, outcome.took);
    }

    /// The environment that was used last, or a new one.
    fn environment(&self) -> Option<App> {
        let random = {
            let mut state = self.state();
            if let Some(app) = state.idle.pop() {
                return Some(app);
            }
            state.running += 1;
            state.random.fork()
        };
        let Ground { links, clock, .. } = &self.ground;
        let clients = clients(links, clock);
        let app = App::new(self.settings.clone(), clock.clone(), random, clients);
        app.inspect_err(|error| {
            tracing::error!(function = self.function.name, %error, "cannot start");
        })
        .ok()
    }

    /// Waits until no request runs.
    pub(crate) async fn quiet(&self) {
        drop(self.slots.acquire_many(self.most).await);
    }

    /// The function's name.
    pub(crate) fn name(&self) -> &'static str {
        self.function.name
    }

    /// The most environments that it has.
    pub(crate) fn most(&self) -> usize {
        self.most as usize
    }

    /// Whether the function takes requests.
    pub(crate) fn takes_requests(&self) -> bool {
        matches!(self.function.handler, Handler::Http(_))
    }

    /// What it did so far, and how many environments it has.
    pub(crate) fn statistics(&self) -> (Statistics, u64) {
        let state = self.state();
        (state.statistics.clone(), state.running)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An invocation that had no environment, or lost it.
struct CutOff {
    took: Duration,
}

fn event_failed(took: Duration) -> Outcome<Result<Value, Failed>> {
    let failed = Failed { code: "TIMED_OUT", detail: "The function did not end in time.".into() };
    Outcome { response: Err(failed), usage: Usage::default(), took }
}

/// What API Gateway answers when a function fails to.
fn failed(took: Duration) -> Outcome {
    Outcome { took, ..refusal(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error") }
}
