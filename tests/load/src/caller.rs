//! Sends requests and records what became of them.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::call::{Answer, Call, Lost, Request};
use crate::record::Recorder;
use crate::users::Stop;

/// How often a request that must succeed is sent before giving up.
const ATTEMPTS: u32 = 5;
/// How long to wait before sending it again.
const PAUSE: Duration = Duration::from_millis(300);
/// How long to ask for the outcome of a request before it counts as unknown.
const ASKS_FOR: Duration = Duration::from_secs(90);

/// Somebody who sends requests, one after the other.
#[derive(Clone)]
pub(crate) struct Caller {
    call: Arc<dyn Call>,
    recorder: Arc<Recorder>,
    think: Option<Think>,
}

/// How long somebody thinks before each request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Think {
    /// At least so long.
    pub(crate) least: Duration,
    /// At most so long.
    pub(crate) most: Duration,
}

impl Think {
    /// Picks a time: each is as likely.
    pub(crate) fn pick(self, random: &mut fastrand::Rng) -> Duration {
        self.least + (self.most - self.least).mul_f64(random.f64())
    }

    /// The average.
    pub(crate) fn mean(self) -> Duration {
        (self.least + self.most) / 2
    }
}

/// A request that had to succeed and did not.
#[derive(Debug, thiserror::Error)]
#[error(
    "{method} {path}: {why}. Is a hotseat API listening there, and does --token-key sign for it?"
)]
pub(crate) struct Refused {
    method: String,
    path: String,
    why: String,
}

impl Caller {
    /// Sends by `call`, recording in `recorder`.
    pub(crate) fn new(call: Arc<dyn Call>, recorder: &Arc<Recorder>) -> Self {
        Self { call, recorder: Arc::clone(recorder), think: None }
    }

    /// The same, thinking before each request.
    pub(crate) fn thinking(self, think: Option<Think>) -> Self {
        Self { think, ..self }
    }

    /// The same, recording elsewhere.
    pub(crate) fn recording(&self, recorder: &Arc<Recorder>) -> Self {
        Self { recorder: Arc::clone(recorder), ..self.clone() }
    }

    /// What it sends by, for requests that are not recorded.
    pub(crate) fn call(&self) -> &dyn Call {
        &*self.call
    }

    /// Sends once.
    pub(crate) async fn send(&self, request: &Request) -> Result<Answer, Lost> {
        if let Some(think) = self.think {
            tokio::time::sleep(think.pick(&mut fastrand::Rng::new())).await;
        }
        let sent = Instant::now();
        let outcome = self.call.call(request).await;
        self.recorder.record(request.operation, sent, &outcome);
        outcome
    }

    /// Sends a request that may be sent again, until somebody says what became
    /// of it: after a lost answer or a server error nobody knows. `None` if
    /// nobody ever said, or the run was stopped meanwhile.
    pub(crate) async fn until_known(&self, request: &Request, stop: &Stop) -> Option<Answer> {
        let first = Instant::now();
        loop {
            match self.send(request).await {
                Ok(answer) if !answer.is_server_error() => return Some(answer),
                _ if stop.is_set() || first.elapsed() >= ASKS_FOR => return None,
                _ => stop.sleep(PAUSE).await,
            }
        }
    }

    /// Sends a request that can be repeated until it has succeeded. Only a lost
    /// answer or a server error is worth another attempt.
    pub(crate) async fn insist(&self, request: &Request) -> Result<Answer, Refused> {
        let refused =
            |why| Refused { method: request.method.to_string(), path: request.path.clone(), why };
        for attempt in 1.. {
            let why = match self.send(request).await {
                Ok(answer) if answer.is_success() => return Ok(answer),
                Ok(answer) if !answer.is_server_error() => {
                    return Err(refused(format!("{} {}", answer.status, answer.text())));
                }
                Ok(answer) => format!("{} {}", answer.status, answer.text()),
                Err(lost) => lost.to_string(),
            };
            if attempt == ATTEMPTS {
                return Err(refused(why));
            }
            tokio::time::sleep(PAUSE).await;
        }
        Err(refused("never sent".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use async_trait::async_trait;
    use http::Method;

    use super::*;

    /// Answers with these statuses, the last one for ever.
    struct Scripted(Vec<u16>, AtomicU32);

    #[async_trait]
    impl Call for Scripted {
        async fn call(&self, _: &Request) -> Result<Answer, Lost> {
            let turn = self.1.fetch_add(1, Ordering::SeqCst) as usize;
            let status = self.0[turn.min(self.0.len() - 1)];
            Ok(Answer { status, body: Vec::new() })
        }
    }

    fn scripted(statuses: &[u16]) -> (Caller, Arc<Recorder>) {
        let recorder = Arc::new(Recorder::new().unwrap());
        let call = Arc::new(Scripted(statuses.to_vec(), AtomicU32::new(0)));
        (Caller::new(call, &recorder), recorder)
    }

    async fn insist(statuses: &[u16]) -> (Result<Answer, Refused>, u64) {
        let (caller, recorder) = scripted(statuses);
        let outcome = caller.insist(&Request::new("get-course", Method::GET, "/courses/1")).await;
        (outcome, recorder.samples().answered())
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_error_is_tried_again_and_a_refusal_is_not() {
        let (outcome, sent) = insist(&[503, 500, 200]).await;
        assert_eq!((outcome.unwrap().status, sent), (200, 3));
        let (outcome, sent) = insist(&[404]).await;
        assert!(outcome.is_err());
        assert_eq!(sent, 1);
        let (outcome, sent) = insist(&[503]).await;
        assert!(outcome.unwrap_err().to_string().contains("503"));
        assert_eq!(sent, u64::from(ATTEMPTS));
    }

    #[tokio::test(start_paused = true)]
    async fn an_outcome_is_asked_for_until_it_is_known() {
        let request = Request::new("create-schedule", Method::POST, "/schedules");
        let (caller, recorder) = scripted(&[503, 500, 409]);
        let answer = caller.until_known(&request, &Stop::new()).await;
        assert_eq!((answer.unwrap().status, recorder.samples().answered()), (409, 3));
        let (caller, recorder) = scripted(&[500]);
        assert!(caller.until_known(&request, &Stop::new()).await.is_none());
        assert_eq!(recorder.samples().answered(), 301);
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_asks_any_more_once_the_run_is_stopped() {
        let request = Request::new("create-schedule", Method::POST, "/schedules");
        let (caller, recorder) = scripted(&[500]);
        let stop = Stop::new();
        stop.set();
        assert!(caller.until_known(&request, &stop).await.is_none());
        assert_eq!(recorder.samples().answered(), 1);
    }
}
