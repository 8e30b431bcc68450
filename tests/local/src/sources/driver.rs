//! Drives the sources of a cloud that is served: one task for each.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use platform::clock::{Clock, Instant};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::{Ground, Reader, Sources};
use crate::cloud::Cloud;

/// How long records gather before they are read. Lambda looks into a stream
/// four times a second, so that a batch has more than one record.
const GATHERING: Duration = Duration::from_millis(100);

/// How long to wait at most before looking at the clock again.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// How often items that have expired are looked for.
const SWEEP_EVERY: Duration = Duration::from_secs(60);

/// Tasks that drive a cloud's sources. Dropped, they stop where they are.
pub struct Drivers {
    stop: watch::Sender<()>,
    tasks: Vec<JoinHandle<()>>,
}

impl Drivers {
    /// Starts to drive `sources`.
    pub(crate) fn start(sources: &Sources) -> Self {
        let stop = watch::Sender::new(());
        let mut tasks: Vec<_> = sources
            .readers
            .iter()
            .map(|reader| {
                let (clock, stopped) = (sources.ground.clock.clone(), stop.subscribe());
                tokio::spawn(drive(Arc::clone(reader), clock, stopped))
            })
            .collect();
        tasks.push(tokio::spawn(sweep(Arc::clone(&sources.ground), stop.subscribe())));
        Self { stop, tasks }
    }

    /// Begins nothing new, and comes back when what runs is done and saved.
    pub async fn stop(mut self) {
        self.stop.send_replace(());
        for task in std::mem::take(&mut self.tasks) {
            let _ = task.await; // how it ended does not matter any more
        }
    }

    /// Stops where it is, and comes back when nothing runs any more.
    pub async fn kill(mut self) {
        for task in std::mem::take(&mut self.tasks) {
            task.abort();
            let _ = task.await; // that it was aborted is what was wanted
        }
    }
}

impl Cloud {
    /// Drives the sources of a cloud that nobody serves.
    pub fn drive(&self) -> Drivers {
        Drivers::start(self.sources())
    }
}

impl Drop for Drivers {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

async fn drive(reader: Arc<dyn Reader>, clock: Clock, mut stopped: watch::Receiver<()>) {
    let mut running = FuturesUnordered::new();
    loop {
        while let Some(work) = Arc::clone(&reader).next() {
            running.push(work);
        }
        let changed = async {
            reader.changed().await;
            tokio::time::sleep(GATHERING).await;
        };
        tokio::select! {
            biased; // so that a simulation repeats
            _ = stopped.changed() => break,
            Some(_) = running.next(), if !running.is_empty() => {}
            () = changed => {}
            () = tokio::time::sleep(wait(reader.due_at(), &clock)) => {}
        }
    }
    while running.next().await.is_some() {}
}

/// How long until `due_at`, within bounds: what is due and yet not done waits
/// for something else.
fn wait(due_at: Option<Instant>, clock: &Clock) -> Duration {
    let Some(due_at) = due_at else {
        return LONGEST_WAIT;
    };
    let wait_ms = due_at.as_millis().saturating_sub(clock.now().as_millis());
    let wait = Duration::from_millis(u64::try_from(wait_ms).unwrap_or_default());
    wait.clamp(GATHERING, LONGEST_WAIT)
}

async fn sweep(ground: Arc<Ground>, mut stopped: watch::Receiver<()>) {
    loop {
        tokio::select! {
            biased;
            _ = stopped.changed() => return,
            () = tokio::time::sleep(SWEEP_EVERY) => {}
        }
        match ground.expire_items().await {
            Ok(0) => {}
            Ok(items) => tracing::debug!(items, "expired"),
            Err(error) => tracing::error!(%error, "cannot delete what has expired"),
        }
    }
}
