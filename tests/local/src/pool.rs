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
use platform::lambda::{Function, Outcome, invoke};
use tokio::sync::Semaphore;

use crate::dynamodb::{Link, client};
use crate::gateway::refusal;
use crate::statistics::Statistics;

/// What every environment is made from.
#[derive(Clone)]
pub(crate) struct Ground {
    pub(crate) link: Arc<dyn Link>,
    pub(crate) clock: Clock,
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

    /// Runs the function on an environment that is free. Once it has begun, it
    /// runs to its end, even if nobody waits for the answer any more.
    pub(crate) async fn invoke(self: &Arc<Self>, event: ApiGatewayV2httpRequest) -> Outcome {
        let Ok(slot) = Arc::clone(&self.slots).acquire_owned().await else {
            return failed(Duration::ZERO);
        };
        let pool = Arc::clone(self);
        let run = tokio::spawn(async move {
            let outcome = pool.run(event).await;
            drop(slot);
            outcome
        });
        run.await.unwrap_or_else(|_| failed(Duration::ZERO)) // the process is ending
    }

    async fn run(&self, event: ApiGatewayV2httpRequest) -> Outcome {
        let Some(app) = self.environment() else {
            return failed(Duration::ZERO);
        };
        let answer = invoke(&app, self.function, event);
        let outcome = tokio::time::timeout(self.timeout, answer).await;
        let mut state = self.state();
        let outcome = match outcome {
            Ok(outcome) => {
                state.idle.push(app);
                outcome
            }
            Err(_) => {
                tracing::error!(function = self.function.name, "timed out");
                state.running -= 1;
                failed(self.timeout) // and the environment is gone, as on Lambda
            }
        };
        state.statistics.record(&outcome);
        outcome
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
        let Ground { link, clock } = self.ground.clone();
        let app = App::new(self.settings.clone(), clock, random, client(link));
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

    /// What it did so far, and how many environments it has.
    pub(crate) fn statistics(&self) -> (Statistics, u64) {
        let state = self.state();
        (state.statistics.clone(), state.running)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What API Gateway answers when a function fails to.
fn failed(took: Duration) -> Outcome {
    Outcome { took, ..refusal(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error") }
}
