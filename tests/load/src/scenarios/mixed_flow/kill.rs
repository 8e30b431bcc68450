//! Kills the cloud in mid-run, as the system kills a process, and starts it
//! again with the same data at the same port.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::child::Process;
use crate::error::Error;
use crate::record::{Recorder, three_digits};
use crate::report::Kill;

/// Waits for its second.
pub(super) struct Killer {
    second: u64,
    began: Arc<AtomicBool>,
    task: JoinHandle<Result<Duration, Error>>,
}

impl Killer {
    /// Kills `process` after so many seconds.
    pub(super) fn start(process: Arc<Mutex<Process>>, second: u64) -> Self {
        let began = Arc::new(AtomicBool::new(false));
        let task = tokio::spawn(kill(process, second, Arc::clone(&began)));
        Self { second, began, task }
    }

    /// What it did, once the load is over. `None` if that was too early.
    pub(super) async fn end(self, recorder: &Recorder) -> Result<Option<Kill>, Error> {
        if !self.began.load(Ordering::Acquire) {
            self.task.abort();
            return Ok(None);
        }
        let down = self.task.await.map_err(|error| Error::Child(error.to_string()))??;
        Ok(Some(Kill {
            second: self.second,
            down_seconds: three_digits(down.as_secs_f64()),
            unanswered: recorder.samples().lost,
        }))
    }
}

async fn kill(
    process: Arc<Mutex<Process>>,
    second: u64,
    began: Arc<AtomicBool>,
) -> Result<Duration, Error> {
    tokio::time::sleep(Duration::from_secs(second)).await;
    let mut process = process.lock().await;
    began.store(true, Ordering::Release);
    process.kill()?;
    let killed = Instant::now();
    process.start_again().await?;
    Ok(killed.elapsed())
}
