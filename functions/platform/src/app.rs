//! What a function holds while it lives: settings, clients, clock, memory.
//!
//! It is built once, in the init phase. There are no statics: a test or the
//! local cloud holds many Apps at a time, each like an execution environment
//! of its own.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aws_config::SdkConfig;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;

use crate::auth::{BadKeys, TokenKeys};
use crate::clock::Clock;
use crate::meter::Meter;
use crate::problem::Problem;
use crate::queue::{Queue, QueueName};
use crate::table::{Table, TableName};

/// How long one call may take before its outcome counts as unknown. DynamoDB
/// answers within tens of milliseconds; a call that takes this long is lost.
const ATTEMPT_TIMEOUT: Duration = Duration::from_millis(1_500);

/// Settings by name, as Lambda hands them over in environment variables.
#[derive(Clone, Debug, Default)]
pub struct Settings(HashMap<String, String>);

impl Settings {
    /// The settings of this process.
    pub fn of_process() -> Self {
        Self(std::env::vars().collect())
    }

    /// The value of `name`, if it is set and not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }
}

impl FromIterator<(String, String)> for Settings {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(settings: I) -> Self {
        Self(settings.into_iter().collect())
    }
}

/// The services that functions call. Making a client opens no connection.
#[derive(Clone, Debug)]
pub struct Clients {
    /// Tables.
    pub dynamodb: aws_sdk_dynamodb::Client,
    /// Queues.
    pub sqs: aws_sdk_sqs::Client,
    /// Keys; none where they are handed over in settings.
    pub secrets: Option<aws_sdk_secretsmanager::Client>,
}

impl Clients {
    /// Clients as hotseat uses them.
    pub fn of(config: &SdkConfig) -> Self {
        let secrets = aws_sdk_secretsmanager::Client::new(config);
        let config = Self::configure(config);
        Self {
            dynamodb: aws_sdk_dynamodb::Client::new(&config),
            sqs: aws_sdk_sqs::Client::new(&config),
            secrets: Some(secrets),
        }
    }

    /// How tables and queues are called. The SDK repeats neither calls to
    /// tables, which `table` does, because only it knows what an unknown outcome
    /// permits, nor calls to queues, since whoever sends comes again anyway.
    pub fn configure(config: &SdkConfig) -> SdkConfig {
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(ATTEMPT_TIMEOUT)
            .operation_attempt_timeout(ATTEMPT_TIMEOUT)
            .build();
        let builder = config.to_builder().retry_config(RetryConfig::disabled());
        builder.timeout_config(timeouts).build()
    }
}

/// What one execution environment holds.
pub struct App {
    /// The only source of time.
    pub clock: Clock,
    /// Counts calls and capacity units.
    pub meter: Meter,
    pub(crate) token_keys: TokenKeys,
    pub(crate) clients: Clients,
    settings: Settings,
    random: Mutex<fastrand::Rng>,
    memory: Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

impl App {
    /// The App of a Lambda function: settings from the environment, clients
    /// with its role's credentials.
    pub async fn of_process() -> Result<Self, BadKeys> {
        let config = aws_config::defaults(aws_config::BehaviorVersion::latest()).load().await;
        Self::new(Settings::of_process(), Clock::System, fastrand::Rng::new(), Clients::of(&config))
    }

    /// An App from its parts. Fails if `TOKEN_KEYS` is there and unusable.
    pub fn new(
        settings: Settings,
        clock: Clock,
        random: fastrand::Rng,
        clients: Clients,
    ) -> Result<Self, BadKeys> {
        let token_keys = settings.get("TOKEN_KEYS").map(TokenKeys::from_json).transpose()?;
        Ok(Self {
            clock,
            meter: Meter::default(),
            token_keys: token_keys.unwrap_or_default(),
            clients,
            settings,
            random: Mutex::new(random),
            memory: Mutex::default(),
        })
    }

    /// A setting's value, if it is set and not empty.
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.settings.get(name)
    }

    /// A table, by the setting that names it.
    pub fn table(&self, name: TableName) -> Table<'_> {
        Table::new(self, name)
    }

    /// A queue, by the setting that holds its URL. Fails if there is none.
    pub fn queue(&self, name: QueueName) -> Result<Queue<'_>, Problem> {
        Queue::new(self, name)
    }

    /// What this environment remembers between requests, made on first use:
    /// one value of each type.
    pub fn memory<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let value = memory.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(T::default()));
        Arc::clone(value).downcast().unwrap_or_default() // its key is its type
    }

    /// A random number below `bound`, or 0 if the bound is 0.
    pub fn random_below(&self, bound: u64) -> u64 {
        let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        if bound == 0 { 0 } else { random.u64(0..bound) }
    }

    /// A new UUIDv7 with the clock's time.
    pub fn new_id(&self) -> String {
        self.id_at(self.now_ms())
    }

    /// A new UUIDv7 that comes after `earlier`, which may be from an environment
    /// whose clock is ahead: it has the clock's time, or else the millisecond
    /// after that of `earlier`.
    pub fn new_id_after(&self, earlier: &str) -> String {
        let digits = earlier.chars().filter(|c| *c != '-').take(12).collect::<String>();
        let earlier_ms = u64::from_str_radix(&digits, 16).unwrap_or(0);
        self.id_at(self.now_ms().max(earlier_ms + 1))
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.clock.now().as_millis()).unwrap_or(0)
    }

    fn id_at(&self, at_ms: u64) -> String {
        let mut bytes = [0; 10];
        self.random.lock().unwrap_or_else(PoisonError::into_inner).fill(&mut bytes);
        uuid::Builder::from_unix_timestamp_millis(at_ms, &bytes).into_uuid().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Instant;

    #[test]
    fn an_id_comes_after_another_whatever_the_clocks_say() {
        let config = SdkConfig::builder()
            .behavior_version(aws_config::BehaviorVersion::latest())
            .region(aws_config::Region::new("us-east-1"))
            .build();
        let clock = Clock::manual(Instant::from_millis(1_900_000_000_000));
        let random = fastrand::Rng::with_seed(1);
        let app = App::new(Settings::default(), clock, random, Clients::of(&config)).unwrap();
        let ahead = app.id_at(1_900_000_000_500);
        let after = app.new_id_after(&ahead);
        let time = |id: &str| id.chars().take(13).collect::<String>();
        assert!(after > ahead, "{after} {ahead}");
        assert_eq!(time(&after), time(&app.id_at(1_900_000_000_501)));
        app.clock.advance(1_000);
        assert_eq!(time(&app.new_id_after(&after)), time(&app.new_id()));
        assert!(app.new_id_after("") > after);
    }
}
