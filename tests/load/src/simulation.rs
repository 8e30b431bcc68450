//! A cloud in simulated time: Tokio's clock is paused and jumps to the next
//! moment at which somebody waits for something, on one thread.
//!
//! Handlers, SDK, event sources and users are the real ones; only waiting costs
//! nothing. With the limits of the real services, two cores show what tens of
//! thousands of users meet there, and a seed gives the same figures each time.

use local::{Drivers, Options};
use platform::clock::{Clock, Instant};
use tempfile::TempDir;
use tokio::sync::Mutex;

use crate::direct::Direct;
use crate::error::Error;

/// When every simulation begins: 2030-01-01T00:00Z.
const BEGIN_MS: i64 = 1_893_456_000_000;

/// Execution environments of each function: what an account has to begin with
/// ([source](https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html)).
pub(crate) const ENVIRONMENTS: u32 = 1_000;

/// The runtime of a simulation.
pub(crate) fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    // One thread for what blocks, which are password hashes, so that they end in
    // the order in which they began.
    builder.enable_time().start_paused(true).max_blocking_threads(1).build()
}

/// A simulated cloud, which can be killed and lives on with its files.
pub(crate) struct Simulation {
    options: Options,
    direct: Direct,
    drivers: Mutex<Option<Drivers>>,
    _folder: Option<TempDir>,
}

impl Simulation {
    /// Starts a cloud with these options, but for its clock.
    pub(crate) async fn start(options: Options) -> Result<Self, Error> {
        fastrand::seed(options.seed.unwrap_or_default());
        let clock = Clock::tokio(Instant::from_millis(BEGIN_MS));
        let options = Options { clock, ..options };
        let cloud = local::Cloud::start(options.clone()).await?;
        let drivers = Mutex::new(options.events.then(|| cloud.drive()));
        Ok(Self { options, direct: Direct::to(cloud), drivers, _folder: None })
    }

    /// Starts one that can be killed: what it keeps outlives it.
    pub(crate) async fn start_mortal(options: Options) -> Result<Self, Error> {
        let folder = tempfile::tempdir()?;
        let data_dir = Some(folder.path().to_owned());
        let simulation = Self::start(Options { data_dir, ..options }).await?;
        Ok(Self { _folder: Some(folder), ..simulation })
    }

    /// Its time.
    pub(crate) fn clock(&self) -> &Clock {
        &self.options.clock
    }

    /// The way to it.
    pub(crate) fn direct(&self) -> &Direct {
        &self.direct
    }

    /// Ends every function where it is, loses what is not in files, and closes
    /// those.
    pub(crate) async fn kill(&self) {
        let cloud = self.direct.cloud();
        self.direct.replace(None);
        if let Some(drivers) = self.drivers.lock().await.take() {
            drivers.kill().await;
        }
        if let Some(cloud) = cloud {
            cloud.kill().await;
        }
    }

    /// Starts it again with the same files.
    pub(crate) async fn start_again(&self) -> Result<(), Error> {
        // Whoever was told a moment ago may not have let go of the old one.
        tokio::task::yield_now().await;
        let seed = Some(fastrand::u64(..));
        let cloud = local::Cloud::start(Options { seed, ..self.options.clone() }).await?;
        *self.drivers.lock().await = self.options.events.then(|| cloud.drive());
        self.direct.replace(Some(cloud));
        Ok(())
    }

    /// Stops it when nothing runs any more.
    pub(crate) async fn stop(&self) {
        if let Some(drivers) = self.drivers.lock().await.take() {
            drivers.stop().await;
        }
        if let Some(cloud) = self.direct.cloud() {
            cloud.quiet().await;
        }
    }
}
