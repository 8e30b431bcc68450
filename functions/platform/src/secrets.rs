//! Secrets: what a few functions may know and nobody else.
//!
//! A secret `SIGNING_KEYS` is the setting of that name where there is one, as
//! in a local cloud. On AWS settings are no place for secrets: there the
//! setting `SIGNING_KEYS_SECRET` names one in Secrets Manager. It is fetched by
//! the first request that needs it and remembered, so that few requests wait.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use aws_sdk_secretsmanager::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};

use crate::app::App;
use crate::clock::Instant;
use crate::problem::Problem;

/// How long a secret is remembered, in milliseconds: so long a key that was
/// replaced is used on. The same as in AWS's own extension
/// ([default](https://docs.aws.amazon.com/secretsmanager/latest/userguide/retrieving-secrets_lambda.html)).
const LIFETIME_MS: i64 = 5 * 60 * 1000;

/// The text of a secret. Debugging shows nothing of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// The text.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Secrets that this environment has fetched, each with the time.
#[derive(Default)]
struct Fetched(Mutex<HashMap<String, (Instant, Secret)>>);

impl Fetched {
    fn get(&self, name: &str) -> Option<(Instant, Secret)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    fn put(&self, name: &str, at: Instant, secret: Secret) {
        let mut fetched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        fetched.insert(name.to_owned(), (at, secret));
    }
}

impl App {
    /// The secret `name`, as in `SIGNING_KEYS`.
    pub async fn secret(&self, name: &str) -> Result<Secret, Problem> {
        if let Some(text) = self.setting(name) {
            return Ok(text.into());
        }
        let (fetched, now) = (self.memory::<Fetched>(), self.clock.now());
        let known = fetched.get(name);
        if let Some((at, secret)) = &known
            && (0..LIFETIME_MS).contains(&(now.as_millis() - at.as_millis()))
        {
            return Ok(secret.clone());
        }
        match (fetch(self, name).await, known) {
            (Ok(secret), _) => {
                fetched.put(name, now, secret.clone());
                Ok(secret)
            }
            // One that is a little old still opens what it opened.
            (Err(problem), Some((_, secret))) => {
                tracing::warn!(name, cause = problem.cause(), "using a secret longer");
                Ok(secret)
            }
            (Err(problem), None) => Err(problem),
        }
    }
}

async fn fetch(app: &App, name: &str) -> Result<Secret, Problem> {
    let setting = format!("{name}_SECRET");
    let (Some(id), Some(client)) = (app.setting(&setting), &app.clients.secrets) else {
        let cause = format!("no secret {name}: set it, or {setting} to one in Secrets Manager");
        return Err(Problem::internal(cause));
    };
    let got = client.get_secret_value().secret_id(id).send().await.map_err(|error| {
        let cause = format!("cannot get {name} from Secrets Manager: {}", cause(&error));
        if may_pass(&error) { Problem::busy(cause) } else { Problem::internal(cause) }
    })?;
    let text = got.secret_string().filter(|text| !text.is_empty());
    text.map(Secret::from).ok_or_else(|| Problem::internal(format!("{name} holds no text")))
}

fn cause<E>(error: &SdkError<E>) -> String
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
{
    match error.as_service_error() {
        Some(service) => service.code().unwrap_or("no code").to_owned(),
        None => DisplayErrorContext(error).to_string(),
    }
}

/// Whether asking again later can help. The SDK has asked three times.
fn may_pass<E: ProvideErrorMetadata>(error: &SdkError<E>) -> bool {
    let SdkError::ServiceError(service) = error else {
        return !matches!(error, SdkError::ConstructionFailure(_));
    };
    service.raw().status().is_server_error() || service.err().code() == Some("ThrottlingException")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};

    use aws_smithy_runtime_api::client::http::{
        HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
    };
    use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
    use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
    use aws_smithy_types::body::SdkBody;

    use super::*;
    use crate::app::{Clients, Settings};
    use crate::clock::Clock;
    use crate::problem::{BUSY, INTERNAL};

    /// A Secrets Manager that counts how often it is asked.
    #[derive(Clone, Debug, Default)]
    struct Manager(Arc<(AtomicU16, AtomicUsize)>);

    impl Manager {
        fn answers(&self, status: u16) {
            self.0.0.store(status, Ordering::SeqCst);
        }

        fn asked(&self) -> usize {
            self.0.1.load(Ordering::SeqCst)
        }
    }

    impl HttpClient for Manager {
        fn http_connector(
            &self,
            _: &HttpConnectorSettings,
            _: &RuntimeComponents,
        ) -> SharedHttpConnector {
            SharedHttpConnector::new(self.clone())
        }
    }

    impl HttpConnector for Manager {
        fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
            let asked_for = request.body().bytes().unwrap_or_default();
            assert_eq!(asked_for, br#"{"SecretId":"keys-1"}"#);
            let number = self.0.1.fetch_add(1, Ordering::SeqCst);
            let status = self.0.0.load(Ordering::SeqCst);
            let body = match status {
                200 => format!(r#"{{"SecretString":"text {number}"}}"#),
                400 => r#"{"__type":"ResourceNotFoundException"}"#.to_owned(),
                _ => r#"{"__type":"InternalServiceError"}"#.to_owned(),
            };
            let status = status.try_into().unwrap();
            HttpConnectorFuture::ready(Ok(HttpResponse::new(status, SdkBody::from(body))))
        }
    }

    fn app(manager: &Manager, settings: &[(&str, &str)]) -> App {
        let credentials =
            aws_sdk_secretsmanager::config::Credentials::new("a", "b", None, None, "test");
        let config = aws_config::SdkConfig::builder()
            .behavior_version(aws_config::BehaviorVersion::latest())
            .region(aws_config::Region::new("us-east-1"))
            .credentials_provider(aws_sdk_secretsmanager::config::SharedCredentialsProvider::new(
                credentials,
            ))
            .http_client(manager.clone())
            .build();
        let settings = settings.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        let clock = Clock::manual(Instant::from_millis(1_000));
        let random = fastrand::Rng::with_seed(1);
        App::new(Settings::from_iter(settings), clock, random, Clients::of(&config)).unwrap()
    }

    #[tokio::test]
    async fn a_secret_is_the_setting_where_there_is_one() {
        let manager = Manager::default();
        let app = app(&manager, &[("KEYS", "from here"), ("KEYS_SECRET", "keys-1")]);
        assert_eq!(app.secret("KEYS").await.unwrap().expose(), "from here");
        assert_eq!(manager.asked(), 0);
    }

    #[tokio::test]
    async fn a_secret_is_fetched_once_in_five_minutes() {
        let manager = Manager::default();
        manager.answers(200);
        let app = app(&manager, &[("KEYS_SECRET", "keys-1")]);
        assert_eq!(app.secret("KEYS").await.unwrap().expose(), "text 0");
        app.clock.advance(LIFETIME_MS - 1);
        assert_eq!(app.secret("KEYS").await.unwrap().expose(), "text 0");
        app.clock.advance(1);
        assert_eq!(app.secret("KEYS").await.unwrap().expose(), "text 1");
    }

    #[tokio::test(start_paused = true)]
    async fn an_old_secret_is_used_on_while_no_new_one_can_be_had() {
        let manager = Manager::default();
        manager.answers(200);
        let app = app(&manager, &[("KEYS_SECRET", "keys-1")]);
        app.secret("KEYS").await.unwrap();
        app.clock.advance(LIFETIME_MS);
        manager.answers(500);
        assert_eq!(app.secret("KEYS").await.unwrap().expose(), "text 0");
    }

    #[tokio::test(start_paused = true)]
    async fn a_secret_that_is_not_there_is_our_failure_and_a_failing_service_is_not() {
        let manager = Manager::default();
        let app = app(&manager, &[("KEYS_SECRET", "keys-1")]);
        manager.answers(400);
        let missing = app.secret("KEYS").await.unwrap_err();
        assert_eq!(missing.kind(), INTERNAL);
        assert!(missing.cause().unwrap().contains("ResourceNotFoundException"), "{missing:?}");
        manager.answers(500);
        assert_eq!(app.secret("KEYS").await.unwrap_err().kind(), BUSY);
        let unset = app.secret("OTHER").await.unwrap_err();
        assert!(unset.cause().unwrap().contains("OTHER_SECRET"), "{unset:?}");
    }

    #[test]
    fn debugging_shows_nothing() {
        assert_eq!(format!("{:?}", Secret::from("hunter2")), "Secret(…)");
    }
}
