//! A function on a schedule.
//!
//! A run that is late is run once, however many it has missed, and the next one
//! is due when it would have been. A run that fails is not run again: the next
//! one has to make up for it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use platform::clock::Instant;
use serde_json::{Value, json};

use super::{Counts, Ground, Reader, Work};
use crate::dynamodb::StorageError;
use crate::pool::Pool;
use crate::template::{ACCOUNT, REGION, STACK_NAME, ScheduleSource};

/// Runs a function when its time has come.
pub(super) struct Schedule {
    name: String,
    rules: ScheduleSource,
    pool: Arc<Pool>,
    ground: Arc<Ground>,
    state: Mutex<State>,
}

struct State {
    due_at: Instant,
    is_running: bool,
    counts: Counts,
}

impl Schedule {
    /// Its first run is due when it has been there for as long as its runs are
    /// apart.
    pub(super) fn new(
        rules: ScheduleSource,
        pool: Arc<Pool>,
        ground: Arc<Ground>,
    ) -> Result<Self, StorageError> {
        let name = format!("{} {}", pool.name(), rules.name);
        let first = ground.clock.now().plus_millis(rules.every_ms);
        let saved = ground.positions.begin(&name, None, first.as_millis())?;
        let due_at = Instant::from_millis(saved).min(first); // the clock may have been set back
        let state = State { due_at, is_running: false, counts: Counts::default() };
        Ok(Self { name, rules, pool, ground, state: Mutex::new(state) })
    }

    async fn run(self: Arc<Self>, due_at: Instant) -> bool {
        let event = self.event(due_at);
        let outcome = self.pool.invoke_event(event).await;
        let next = next_after(due_at, self.rules.every_ms, self.ground.clock.now());
        if let Err(error) = self.ground.positions.save(&self.name, next.as_millis()) {
            tracing::error!(source = self.name, %error, "cannot save when a schedule is due");
        }
        let mut state = self.state();
        state.due_at = next;
        state.is_running = false;
        state.counts.record(1, outcome.response.is_ok());
        outcome.response.is_ok()
    }

    /// The event of a rule or of the scheduler
    /// ([example](https://docs.aws.amazon.com/lambda/latest/dg/with-eventbridge-scheduler.html)).
    fn event(&self, due_at: Instant) -> Value {
        if let Some(input) = &self.rules.input {
            return input.clone();
        }
        let name = format!("{STACK_NAME}-{}", self.rules.name);
        let (source, detail, resource) = if self.rules.is_of_scheduler {
            (
                "aws.scheduler",
                json!("{}"),
                format!("scheduler:{REGION}:{ACCOUNT}:schedule/default/{name}"),
            )
        } else {
            ("aws.events", json!({}), format!("events:{REGION}:{ACCOUNT}:rule/{name}"))
        };
        let time = Timestamp::from_second(due_at.as_seconds()).unwrap_or_default();
        json!({
            "version": "0",
            "id": self.ground.new_id(),
            "detail-type": "Scheduled Event",
            "source": source,
            "account": ACCOUNT,
            "time": time.to_string(),
            "region": REGION,
            "resources": [format!("arn:aws:{resource}")],
            "detail": detail,
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The first run after `now`, in step with the one that was due.
fn next_after(due_at: Instant, every_ms: i64, now: Instant) -> Instant {
    let late_ms = (now.as_millis() - due_at.as_millis()).max(0);
    due_at.plus_millis((late_ms / every_ms + 1) * every_ms)
}

impl Reader for Schedule {
    fn name(&self) -> &str {
        &self.name
    }

    fn next(self: Arc<Self>) -> Option<Work> {
        let due_at = {
            let mut state = self.state();
            if state.is_running || self.ground.clock.now() < state.due_at {
                return None;
            }
            state.is_running = true;
            state.due_at
        };
        Some(Box::pin(self.run(due_at)))
    }

    fn due_at(&self) -> Option<Instant> {
        let state = self.state();
        (!state.is_running).then_some(state.due_at)
    }

    fn changed(&self) -> BoxFuture<'static, ()> {
        Box::pin(std::future::pending())
    }

    fn lose_next_checkpoint(&self) {} // a run has nothing that could come again

    fn counts(&self) -> Counts {
        self.state().counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_keeps_step_with_its_first_run() {
        let at = Instant::from_millis;
        for (now_ms, next_ms) in [(60_000, 120_000), (60_001, 120_000), (119_999, 120_000)] {
            assert_eq!(next_after(at(60_000), 60_000, at(now_ms)), at(next_ms), "{now_ms}");
        }
        assert_eq!(next_after(at(60_000), 60_000, at(120_000)), at(180_000));
        assert_eq!(next_after(at(60_000), 60_000, at(600_001)), at(660_000));
    }
}
