//! What a user does: logs in, then creates schedules and updates them, and
//! thinks in between.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use http::Method;
use tokio::time::Instant;

use super::ledger::{Ledger, Log, Told};
use super::plan::Plan;
use super::session::Session;
use crate::call::Request;
use crate::caller::Caller;
use crate::record::Recorder;
use crate::users::{Script, Stop};

/// How many of ten requests create a schedule.
const CREATES_OF_TEN: u32 = 7;

/// What every user does.
pub(crate) struct Flow {
    plan: Arc<Plan>,
    ledger: Arc<Ledger>,
    /// Where log-ins are recorded.
    log_ins: Arc<Recorder>,
    seed: u64,
    next: AtomicUsize,
    started: OnceLock<Instant>,
    first_through: OnceLock<Instant>,
}

impl Flow {
    /// Users who write what `plan` says and note in `ledger` what they are told.
    pub(crate) fn new(
        plan: &Arc<Plan>,
        ledger: &Arc<Ledger>,
        log_ins: &Arc<Recorder>,
        seed: u64,
    ) -> Self {
        Self {
            plan: Arc::clone(plan),
            ledger: Arc::clone(ledger),
            log_ins: Arc::clone(log_ins),
            seed,
            next: AtomicUsize::new(0),
            started: OnceLock::new(),
            first_through: OnceLock::new(),
        }
    }

    /// From when to when all users were there.
    pub(crate) fn full_load(&self) -> Option<(Instant, Instant)> {
        let all_there = *self.started.get()? + self.plan.shape.ramp;
        self.first_through.get().map(|through| (all_there, *through))
    }

    async fn write(
        &self,
        caller: &Caller,
        stop: &Stop,
        token: &Arc<str>,
        (user, turn): (usize, usize),
        random: &mut fastrand::Rng,
    ) {
        let last = self.ledger.with(user, |log| log.last().cloned());
        let request = match last {
            Some(last) if random.u32(0..10) >= CREATES_OF_TEN => {
                self.ledger.with(user, Log::updates);
                self.update(&last)
            }
            _ => {
                self.ledger.with(user, |log| log.asks_for(self.plan.slot(user, turn)));
                self.create(user, turn)
            }
        };
        if let Some(answer) = caller.until_known(&request.token(token), stop).await {
            self.ledger.with(user, |log| log.is_told(&answer));
        }
    }

    fn create(&self, user: usize, turn: usize) -> Request {
        let content = self.plan.content(self.plan.slot(user, turn), 0);
        Request::new("create-schedule", Method::POST, "/schedules")
            .idempotency_key(self.plan.idempotency_key(user, turn))
            .body(content.body())
    }

    fn update(&self, told: &Told) -> Request {
        let path = format!("/schedules/{}", told.id.as_deref().unwrap_or_default());
        let content = self.plan.content(told.slot, told.updates + 1);
        Request::new("update-schedule", Method::PUT, path).body(content.body())
    }
}

#[async_trait]
impl Script for Flow {
    async fn play(&self, caller: &Caller, stop: &Stop) {
        let user = self.next.fetch_add(1, Ordering::Relaxed);
        self.started.get_or_init(Instant::now);
        stop.sleep(self.plan.arrives_after(user)).await;
        if stop.is_set() {
            return;
        }
        let door = caller.recording(&self.log_ins);
        let account = &self.plan.accounts()[self.plan.account_of(user)];
        let Some(mut session) = Session::open(&door, account, stop).await else { return };
        self.ledger.with(user, |log| log.got_in = true);
        let mut random = fastrand::Rng::with_seed(self.seed.wrapping_add(user as u64));
        for turn in 0..self.plan.shape.loops {
            if turn > 0 {
                stop.sleep(self.plan.shape.think.pick(&mut random)).await;
            }
            if stop.is_set() {
                break;
            }
            let Some(token) = session.token(&door, stop).await else { break };
            self.write(caller, stop, &token, (user, turn), &mut random).await;
        }
        self.first_through.get_or_init(Instant::now);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use serde_json::json;

    use super::super::plan::tests::plan;
    use super::*;
    use crate::call::{Answer, Call, Lost};

    /// Answers as the contract says, and remembers what it was asked; every
    /// third write is done, but its answer is lost.
    #[derive(Default)]
    struct Api {
        asked: Mutex<Vec<Request>>,
        version: Mutex<u64>,
    }

    #[async_trait]
    impl Call for Api {
        async fn call(&self, request: &Request) -> Result<Answer, Lost> {
            let mut asked = self.asked.lock().unwrap();
            asked.push(request.clone());
            if asked.len().is_multiple_of(3) {
                return Err(Lost("reset".into()));
            }
            let mut version = self.version.lock().unwrap();
            let (status, body) = match request.operation {
                "log-in" => {
                    (200, json!({ "accessToken": "a", "refreshToken": "r", "expiresIn": 900 }))
                }
                "create-schedule" => {
                    *version = 1;
                    let id = request.idempotency_key.clone().unwrap();
                    (201, json!({ "id": id, "version": 1 }))
                }
                _ => {
                    *version += 1;
                    let id = request.path.rsplit('/').next().unwrap().to_owned();
                    (200, json!({ "id": id, "version": *version }))
                }
            };
            Ok(Answer { status, body: body.to_string().into_bytes() })
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_user_creates_and_updates_until_it_is_through_whatever_is_lost() {
        let (plan, ledger) = (Arc::new(plan(1, 200)), Arc::new(Ledger::new(1)));
        let (recorder, log_ins) =
            (Arc::new(Recorder::new().unwrap()), Arc::new(Recorder::new().unwrap()));
        let api = Arc::new(Api::default());
        let caller = Caller::new(Arc::clone(&api) as Arc<dyn Call>, &recorder);
        let flow = Flow::new(&plan, &ledger, &log_ins, 1);
        flow.play(&caller, &Stop::new()).await;

        let log = ledger.logs().remove(0);
        let creates = log.schedules.len();
        let updates: u32 = log.schedules.iter().map(|told| told.updates).sum();
        assert!(log.got_in && log.unreadable == 0);
        assert!(log.schedules.iter().all(|told| told.id.is_some() && !told.is_open));
        assert_eq!(creates + updates as usize, 200);
        assert!((120..160).contains(&creates), "{creates}");
        assert_eq!(recorder.samples().answered(), 200);
        assert!(recorder.samples().lost > 50);
        assert_eq!(log_ins.samples().operations["log-in"], 1);
        let (from, to) = flow.full_load().unwrap();
        assert!(to > from);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_sent_again_is_the_same() {
        let (plan, ledger) = (Arc::new(plan(1, 50)), Arc::new(Ledger::new(1)));
        let recorder = Arc::new(Recorder::new().unwrap());
        let api = Arc::new(Api::default());
        let caller = Caller::new(Arc::clone(&api) as Arc<dyn Call>, &recorder);
        Flow::new(&plan, &ledger, &recorder, 1).play(&caller, &Stop::new()).await;
        let asked = api.asked.lock().unwrap();
        let repeats = asked.windows(2).enumerate().filter(|(at, _)| (at + 1) % 3 == 0);
        let mut count = 0;
        for (_, pair) in repeats {
            assert_eq!(pair[0].path, pair[1].path);
            assert_eq!(pair[0].idempotency_key, pair[1].idempotency_key);
            assert_eq!(pair[0].body, pair[1].body);
            count += 1;
        }
        assert!(count > 10);
    }

    #[tokio::test(start_paused = true)]
    async fn a_user_who_is_told_to_stop_does_so_while_it_thinks() {
        let (plan, ledger) = (Arc::new(plan(1, 1_000)), Arc::new(Ledger::new(1)));
        let recorder = Arc::new(Recorder::new().unwrap());
        let caller = Caller::new(Arc::new(Api::default()), &recorder);
        let flow = Flow::new(&plan, &ledger, &recorder, 1);
        let stop = Stop::new();
        let ten_seconds = std::time::Duration::from_secs(10);
        let started = Instant::now();
        tokio::join!(flow.play(&caller, &stop), async {
            tokio::time::sleep(ten_seconds).await;
            stop.set();
        });
        assert_eq!(started.elapsed(), ten_seconds);
    }
}
