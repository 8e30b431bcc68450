//! The system under load: a local cloud of one's own, in this process or in
//! another one, or whatever answers at a URL; and tokens that it takes.

use std::path::Path;
use std::sync::Arc;

use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
use local::limits::Limits;
use local::{DevKey, Options, Served};
use platform::app::Clients;
use platform::auth::{Caller, Role, TokenSigner};
use platform::clock::{Clock, Instant};
use tempfile::TempDir;
use tokio::sync::Mutex;

use crate::child::{Process, Serve};
use crate::direct::Direct;
use crate::error::Error;
use crate::simulation::Simulation;
use crate::way::Way;
use crate::wire::Wire;

/// Tokens live longer than an API would make them, so that none expires before
/// a long run is read back.
const TOKEN_LIFETIME_S: i64 = 6 * 60 * 60;

/// The system under load.
pub(crate) struct Cloud {
    url: String,
    clock: Clock,
    signer: Signer,
    own: Option<Own>,
    events: Option<Events>,
    limits: Option<Limits>,
}

/// A cloud of one's own.
enum Own {
    InThisProcess(Served),
    InAnother { process: Arc<Mutex<Process>>, _folder: Option<TempDir> },
    Simulated(Simulation),
}

enum Signer {
    OfCheckout(DevKey),
    OfFile(TokenSigner),
}

/// Whether what changes is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Events {
    /// Streams and queues are worked off.
    Running,
    /// Nobody works them off.
    Paused,
}

/// The local cloud that is asked for.
pub(crate) fn options(serve: Serve) -> Options {
    let Serve { data_dir, environments, seed, no_events, aws_limits: limits, .. } = serve;
    let (seed, events) = (Some(seed), !no_events);
    Options { data_dir, environments, seed, events, limits, ..Options::default() }
}

fn events(serve: &Serve) -> Events {
    if serve.no_events { Events::Paused } else { Events::Running }
}

impl Cloud {
    /// Starts a local cloud in this process.
    pub(crate) async fn start(serve: Serve) -> Result<Self, Error> {
        let (events, limits) = (events(&serve), serve.aws_limits.clone());
        let served = local::Cloud::start(options(serve)).await?.serve(0).await?;
        let url = served.url().to_owned();
        let cloud = Self::own(url, Own::InThisProcess(served), events)?;
        Ok(Self { limits, ..cloud })
    }

    /// Starts a local cloud in simulated time, on this thread.
    pub(crate) async fn simulate(serve: Serve) -> Result<Self, Error> {
        let (events, limits) = (events(&serve), serve.aws_limits.clone());
        let simulation = Simulation::start(options(serve)).await?;
        Self::simulated(simulation, events, limits)
    }

    /// The same, of a cloud that can be killed.
    pub(crate) async fn simulate_mortal(serve: Serve) -> Result<Self, Error> {
        let (events, limits) = (events(&serve), serve.aws_limits.clone());
        let simulation = Simulation::start_mortal(options(serve)).await?;
        Self::simulated(simulation, events, limits)
    }

    fn simulated(
        simulation: Simulation,
        events: Events,
        limits: Option<Limits>,
    ) -> Result<Self, Error> {
        let clock = simulation.clock().clone();
        let cloud = Self::own("in this process".into(), Own::Simulated(simulation), events)?;
        Ok(Self { clock, limits, ..cloud })
    }

    /// Starts a local cloud in a process of its own.
    pub(crate) async fn start_process(serve: Serve) -> Result<Self, Error> {
        Self::process(serve, None).await
    }

    /// Starts a local cloud in a process of its own that can be killed: what it
    /// keeps outlives it.
    pub(crate) async fn start_mortal(mut serve: Serve) -> Result<Self, Error> {
        let folder = match serve.data_dir {
            Some(_) => None,
            None => Some(tempfile::tempdir()?),
        };
        if let Some(folder) = &folder {
            serve.data_dir = Some(folder.path().to_owned());
        }
        Self::process(serve, folder).await
    }

    async fn process(serve: Serve, folder: Option<TempDir>) -> Result<Self, Error> {
        let (events, limits) = (events(&serve), serve.aws_limits.clone());
        let process = Process::start(serve).await?;
        let url = process.url.clone();
        let process = Arc::new(Mutex::new(process));
        let cloud = Self::own(url, Own::InAnother { process, _folder: folder }, events)?;
        Ok(Self { limits, ..cloud })
    }

    fn own(url: String, own: Own, events: Events) -> Result<Self, Error> {
        let signer = Signer::OfCheckout(DevKey::of_checkout()?);
        let (own, events) = (Some(own), Some(events));
        Ok(Self { url, clock: Clock::System, signer, own, events, limits: None })
    }

    /// What answers at `url`, taking tokens of the key in `key_file`, or of
    /// this checkout's key.
    pub(crate) fn at(url: &str, key_file: Option<&Path>) -> Result<Self, Error> {
        let signer = match key_file {
            Some(path) => Signer::OfFile(read_key(path)?),
            None => Signer::OfCheckout(DevKey::of_checkout()?),
        };
        let url = url.trim_end_matches('/').to_owned();
        Ok(Self { url, clock: Clock::System, signer, own: None, events: None, limits: None })
    }

    /// The way to it.
    pub(crate) fn way(&self) -> Result<Way, Error> {
        match self.direct() {
            Some(direct) => Ok(Way::Direct(direct.clone())),
            None => Ok(Way::Wire(Wire::to(&self.url)?)),
        }
    }

    /// The simulation, if it is one.
    pub(crate) fn simulation(&self) -> Option<&Simulation> {
        match &self.own {
            Some(Own::Simulated(simulation)) => Some(simulation),
            _ => None,
        }
    }

    /// The way to it without a socket, if it is simulated.
    pub(crate) fn direct(&self) -> Option<&Direct> {
        self.simulation().map(Simulation::direct)
    }

    /// The limits of the real services, if they are set.
    pub(crate) fn limits(&self) -> Option<&Limits> {
        self.limits.as_ref()
    }

    /// Which clock it goes by.
    pub(crate) fn clock_name(&self) -> &'static str {
        if self.direct().is_some() { "simulated" } else { "real" }
    }

    /// Where it answers.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The time now.
    pub(crate) fn now(&self) -> Instant {
        self.clock.now()
    }

    /// A token for a member.
    pub(crate) fn token(&self, member_id: &str, role: Role) -> Result<Arc<str>, Error> {
        let token = match &self.signer {
            Signer::OfCheckout(key) => key.token(member_id, role, self.now(), TOKEN_LIFETIME_S),
            Signer::OfFile(signer) => {
                let caller = Caller { member_id: member_id.to_owned(), role };
                let token_id = format!("load-{:016x}", fastrand::u64(..));
                signer.sign(&caller, self.now(), TOKEN_LIFETIME_S, token_id)?
            }
        };
        Ok(token.into())
    }

    /// A token for staff.
    pub(crate) fn staff_token(&self) -> Result<Arc<str>, Error> {
        self.token("load-staff", Role::Staff)
    }

    /// A text that payments are signed with. `None` where only somebody else has it.
    pub(crate) fn payment_key(&self) -> Option<String> {
        match &self.signer {
            Signer::OfCheckout(key) => Some(key.secret("PAYMENT_KEYS")),
            Signer::OfFile(_) => None,
        }
    }

    /// Whether what changes is told. `None` if nobody knows.
    pub(crate) fn events(&self) -> Option<Events> {
        self.events
    }

    /// Clients that reach a local cloud of this process without a socket.
    pub(crate) fn clients(&self) -> Option<Clients> {
        self.local().map(|cloud| cloud.clients())
    }

    /// The local cloud of this process.
    pub(crate) fn local(&self) -> Option<local::Cloud> {
        match &self.own {
            Some(Own::InThisProcess(served)) => Some(served.cloud().clone()),
            Some(Own::Simulated(simulation)) => simulation.direct().cloud(),
            Some(Own::InAnother { .. }) | None => None,
        }
    }

    /// The process of a local cloud that has one.
    pub(crate) fn mortal(&self) -> Option<Arc<Mutex<Process>>> {
        match &self.own {
            Some(Own::InAnother { process, .. }) => Some(Arc::clone(process)),
            Some(Own::InThisProcess(_) | Own::Simulated(_)) | None => None,
        }
    }

    /// A client that looks into the tables of a local cloud of one's own.
    pub(crate) async fn tables(&self) -> Option<aws_sdk_dynamodb::Client> {
        match self.own.as_ref()? {
            Own::InThisProcess(served) => Some(served.cloud().client()),
            Own::Simulated(simulation) => Some(simulation.direct().cloud()?.client()),
            Own::InAnother { process, .. } => Some(client_of(&process.lock().await.dynamodb_url)),
        }
    }

    /// Stops a local cloud of one's own, when its last request is through.
    pub(crate) async fn stop(self) {
        match self.own {
            Some(Own::InThisProcess(served)) => served.stop().await,
            Some(Own::Simulated(simulation)) => simulation.stop().await,
            Some(Own::InAnother { process, .. }) => {
                if let Some(process) = Arc::into_inner(process) {
                    process.into_inner().stop().await;
                }
            }
            None => {}
        }
    }
}

/// A client of what answers at `url` as DynamoDB does, with any credentials.
fn client_of(url: &str) -> aws_sdk_dynamodb::Client {
    let configuration = aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("us-east-1"))
        .credentials_provider(Credentials::new("local", "local", None, None, "local"))
        .endpoint_url(url)
        .build();
    aws_sdk_dynamodb::Client::from_conf(configuration)
}

fn read_key(path: &Path) -> Result<TokenSigner, Error> {
    let unusable = |why: String| Error::KeyFile { path: path.to_owned(), why };
    let pem = std::fs::read(path).map_err(|error| unusable(error.to_string()))?;
    TokenSigner::from_pem(&pem).map_err(|error| unusable(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_cannot_be_used_says_what_is_wanted() {
        let Err(error) = Cloud::at("http://127.0.0.1:1", Some(Path::new("/no/such/key"))) else {
            panic!("there is no such key");
        };
        let message = error.to_string();
        assert!(message.contains("/no/such/key") && message.contains("--token-key"), "{message}");
    }

    #[test]
    fn a_url_may_end_in_a_slash() {
        let cloud = Cloud::at("http://127.0.0.1:9000/", None).unwrap();
        assert_eq!(cloud.url(), "http://127.0.0.1:9000");
    }
}
