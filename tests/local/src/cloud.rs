//! A cloud of one's own: tables, functions and the API in front of them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use aws_lambda_events::apigw::ApiGatewayV2httpRequest;
use axum::body::Bytes;
use futures_util::future::BoxFuture;
use http::{Request, StatusCode};
use platform::app::{Clients, Settings};
use platform::auth::{Role, TOKEN_LIFETIME_S};
use platform::clock::Clock;
use platform::lambda::{Failed, Function, Outcome};
use serde_json::{Value, json};

use crate::dynamodb::{self, Answer, Call, Embedded, Link, Lost, StorageError};
use crate::faults::Layer;
use crate::gateway::{self, MOST_BODY_BYTES, RequestIds};
use crate::key::{DevKey, KeyError};
use crate::pool::{Ground, Pool};
use crate::routes::{Routes, Twice};
use crate::sample::{self, SampleError};
use crate::template::{self, Template, TemplateError};

/// Every function that there is, by system.
const SYSTEMS: &[&[Function]] = &[
    platform::FUNCTIONS,
    identity::FUNCTIONS,
    enrollment::FUNCTIONS,
    schedule::FUNCTIONS,
    notification::FUNCTIONS,
];

/// How a cloud is to be.
#[derive(Clone)]
pub struct Options {
    /// Where its data stays; a folder that goes with the cloud if there is none.
    pub data_dir: Option<PathBuf>,
    /// The most execution environments of each function.
    pub environments: u32,
    /// Whether an empty cloud begins with sample data.
    pub sample_data: bool,
    /// Its time.
    pub clock: Clock,
    /// What its randomness begins with; anything if there is none.
    pub seed: Option<u64>,
    /// What stands between the functions and the database.
    pub layer: Option<Layer>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            data_dir: None,
            environments: 50,
            sample_data: false,
            clock: Clock::System,
            seed: None,
            layer: None,
        }
    }
}

/// Why a cloud cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The template cannot be used.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// The template has a function that the code has not.
    #[error("template.yaml declares {resource}, but no crate lists a function {name:?}")]
    NoHandler {
        /// The resource.
        resource: String,
        /// Its function's name.
        name: String,
    },
    /// The code has a function that the template has not.
    #[error("the function {0:?} has no resource in template.yaml")]
    NoResource(&'static str),
    /// Two routes are the same.
    #[error(transparent)]
    Route(#[from] Twice),
    /// The database cannot be used.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// There is no key to sign tokens with.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The sample data cannot be written.
    #[error(transparent)]
    Sample(#[from] SampleError),
}

/// No function has this name.
#[derive(Debug, thiserror::Error)]
#[error("there is no function {name:?}; there are {known}")]
pub struct UnknownFunction {
    name: String,
    known: String,
}

/// The cloud. It needs no socket until it is [served](Cloud::serve), and lives
/// as long as anybody holds it or a request runs in it; then its temporary
/// files go.
#[derive(Clone)]
pub struct Cloud(Arc<Inner>);

struct Inner {
    routes: Routes<usize>,
    pools: Vec<Arc<Pool>>,
    tables: Vec<String>,
    ids: RequestIds,
    clock: Clock,
    key: DevKey,
    link: Arc<dyn Link>,
    sqs: Arc<dyn Link>,
}

impl Cloud {
    /// Starts a cloud as `template.yaml` describes it. It runs on the Tokio
    /// runtime of whoever calls it.
    pub async fn start(options: Options) -> Result<Self, StartError> {
        let template = Template::of_checkout()?;
        let functions: Vec<Function> = SYSTEMS.concat();
        let sample_data = options.sample_data;
        let (cloud, is_new) = Self::assemble(options, &template, &functions)?;
        if sample_data && is_new {
            sample::write(&cloud).await?;
        }
        Ok(cloud)
    }

    /// Builds a cloud, and says whether its tables are new.
    fn assemble(
        options: Options,
        template: &Template,
        functions: &[Function],
    ) -> Result<(Self, bool), StartError> {
        let functions = pair(template, functions)?;
        let mut routes = Routes::default();
        for (index, (declared, _)) in functions.iter().enumerate() {
            for route in &declared.routes {
                routes.add(route, index)?;
            }
        }
        let embedded = Embedded::open(options.data_dir.as_deref())?;
        let is_new = embedded.create_tables(&template.tables)?;
        let mut link: Arc<dyn Link> = Arc::new(embedded);
        if let Some(layer) = &options.layer {
            link = layer(link);
        }
        let key = DevKey::of_checkout()?;
        let seed = options.seed.unwrap_or_else(|| fastrand::u64(..));
        let mut random = fastrand::Rng::with_seed(seed);
        let sqs: Arc<dyn Link> = Arc::new(NoQueues);
        let ground = Ground {
            dynamodb: Arc::clone(&link),
            sqs: Arc::clone(&sqs),
            clock: options.clock.clone(),
        };
        let pools = functions.into_iter().map(|(declared, function)| {
            Arc::new(Pool::new(
                function,
                settings(declared, &key),
                declared.timeout,
                options.environments.max(1),
                random.fork(),
                ground.clone(),
            ))
        });
        let inner = Inner {
            routes,
            pools: pools.collect(),
            tables: template.tables.iter().map(|t| t.name.clone()).collect(),
            ids: RequestIds::new(seed),
            clock: options.clock,
            key,
            link,
            sqs,
        };
        Ok((Self(Arc::new(inner)), is_new))
    }

    /// Sends a request through the API: its routes, its events, its functions.
    pub async fn request(&self, request: Request<Bytes>) -> Outcome {
        if request.body().len() > MOST_BODY_BYTES {
            return gateway::refusal(StatusCode::PAYLOAD_TOO_LARGE, "Request Entity Too Large");
        }
        let found = self.0.routes.find(request.method(), request.uri().path());
        let Some(found) = found else {
            return gateway::refusal(StatusCode::NOT_FOUND, "Not Found");
        };
        let pool = Arc::clone(&self.0.pools[*found.to]);
        let now = self.0.clock.now();
        let event = gateway::event(request, found, &self.0.ids, now);
        pool.invoke(event).await
    }

    /// Invokes a function by its name, past the API.
    pub async fn invoke(
        &self,
        function: &str,
        event: ApiGatewayV2httpRequest,
    ) -> Result<Outcome, UnknownFunction> {
        Ok(self.pool(function)?.invoke(event).await)
    }

    /// Invokes a function by its name with any event, as an administrator does
    /// or an event source.
    pub async fn invoke_event(
        &self,
        function: &str,
        event: Value,
    ) -> Result<Outcome<Result<Value, Failed>>, UnknownFunction> {
        Ok(self.pool(function)?.invoke_event(event).await)
    }

    fn pool(&self, function: &str) -> Result<&Arc<Pool>, UnknownFunction> {
        let pool = self.0.pools.iter().find(|pool| pool.name() == function);
        pool.ok_or_else(|| {
            let known: Vec<_> = self.0.pools.iter().map(|pool| pool.name()).collect();
            UnknownFunction { name: function.to_owned(), known: known.join(", ") }
        })
    }

    /// An access token for a member, as long-lived as any.
    pub fn token(&self, member_id: &str, role: Role) -> String {
        let now = self.0.clock.now();
        self.0.key.token(member_id, role, now, TOKEN_LIFETIME_S)
    }

    /// Its time.
    pub(crate) fn now(&self) -> platform::clock::Instant {
        self.0.clock.now()
    }

    /// A client to look into the tables with.
    pub fn client(&self) -> aws_sdk_dynamodb::Client {
        self.clients().dynamodb
    }

    /// Clients like those of its functions.
    pub fn clients(&self) -> Clients {
        dynamodb::clients(&self.0.link, &self.0.sqs)
    }

    /// The way to the database that the functions take, faults included.
    pub(crate) fn link(&self) -> Arc<dyn Link> {
        Arc::clone(&self.0.link)
    }

    /// What happened so far, as `/_local/status.json` shows it.
    pub fn status(&self) -> Value {
        let mut functions = BTreeMap::new();
        let tables = self.0.tables.iter().map(|name| (name.clone(), 0));
        let mut calls: BTreeMap<String, u64> = tables.collect();
        for pool in &self.0.pools {
            let (statistics, environments) = pool.statistics();
            functions.insert(pool.name(), statistics.to_json(environments));
            for (table, count) in statistics.calls_by_table() {
                *calls.entry(table.to_owned()).or_default() += count;
            }
        }
        let tables = calls.into_iter();
        let tables: BTreeMap<_, _> = tables.map(|(t, n)| (t, json!({ "calls": n }))).collect();
        json!({ "functions": functions, "tables": tables, "queues": {}, "stream_lag": {} })
    }

    /// Waits until no function runs.
    pub async fn quiet(&self) {
        for pool in &self.0.pools {
            pool.quiet().await;
        }
    }
}

/// Stands where the queues will be.
#[derive(Debug)]
struct NoQueues;

impl Link for NoQueues {
    fn call(&self, _: Call) -> BoxFuture<'_, Result<Answer, Lost>> {
        Box::pin(async { Err(Lost) })
    }
}

/// Each declared function with its code. Neither may be without the other.
fn pair<'a>(
    template: &'a Template,
    functions: &[Function],
) -> Result<Vec<(&'a template::Function, Function)>, StartError> {
    let declared = &template.functions;
    for function in functions {
        if !declared.iter().any(|d| d.name == function.name) {
            return Err(StartError::NoResource(function.name));
        }
    }
    let pairs = declared.iter().map(|declared| {
        let function = functions.iter().find(|f| f.name == declared.name);
        let function = function.ok_or_else(|| StartError::NoHandler {
            resource: declared.logical_id.clone(),
            name: declared.name.clone(),
        })?;
        Ok((declared, *function))
    });
    pairs.collect()
}

/// A function's settings, with this checkout's key for those of tokens.
fn settings(declared: &template::Function, key: &DevKey) -> Settings {
    let own = ("TOKEN_KEYS".to_owned(), key.public_keys().to_owned());
    let declared = declared.environment.clone().into_iter();
    declared.chain([own]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::{Fault, Faults};

    fn request(method: &str, path: &str) -> http::request::Builder {
        Request::builder().method(method).uri(path)
    }

    async fn get(cloud: &Cloud, path: &str) -> (u16, Value) {
        let request = request("GET", path).body(Bytes::new()).unwrap();
        let response = cloud.request(request).await.response;
        let body = serde_json::from_str(response.body()).unwrap_or_default();
        (response.status().as_u16(), body)
    }

    fn assemble(template: &str, functions: &[Function]) -> Result<Cloud, StartError> {
        let template = Template::parse(template)?;
        Cloud::assemble(Options::default(), &template, functions).map(|(cloud, _)| cloud)
    }

    /// A template of one function that takes everything.
    fn template(name: &str, timeout_s: u64) -> String {
        format!(
            "Resources:\n  Work:\n    Type: AWS::Serverless::Function\n    Properties:\n      \
             FunctionName: !Sub '${{AWS::StackName}}-{name}'\n      Timeout: {timeout_s}\n      \
             Events: {{ Call: {{ Type: HttpApi, Properties: {{ Method: ANY, Path: $default }} }} }}\n"
        )
    }

    const SLOW: Function = Function::http("slow", |_, _| {
        Box::pin(async {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            Ok(platform::Reply::no_content())
        })
    });

    #[tokio::test]
    async fn the_cloud_of_this_checkout_starts_with_its_sample_data() {
        let cloud = Cloud::start(Options { sample_data: true, ..Options::default() });
        let cloud = cloud.await.unwrap();
        assert_eq!(get(&cloud, "/health").await.0, 200);
        assert_eq!(get(&cloud, "/nothing").await.1["code"], "ROUTE_NOT_FOUND");
        let (status, full) = get(&cloud, "/courses/5").await;
        assert_eq!((status, &full["seats"]["left"]), (200, &json!(0)));
        assert_eq!(get(&cloud, "/students/1/enrollments").await.0, 401);
        let status = cloud.status();
        assert_eq!(status["functions"]["put-course"]["statuses"], json!({ "201": 6 }));
        assert_eq!(status["functions"]["put-student"]["environments"], 1);
    }

    #[tokio::test]
    async fn odd_requests_are_never_our_failure() {
        let cloud = Cloud::start(Options::default()).await.unwrap();
        for path in ["/courses/%FF", "/courses/%00", "/courses/%2F%2F", "/%", "//", "/a?%", "/?é"]
        {
            let (status, body) = get(&cloud, path).await;
            assert!((400..500).contains(&status), "{path}: {status} {body}");
        }
        let odd = request("PUT", "/courses/1")
            .header("host", "a b[")
            .header("x-forwarded-proto", "?")
            .header("cookie", "\u{e9}; ;")
            .body(Bytes::from_static(b"\xff\0"));
        let response = cloud.request(odd.unwrap()).await.response;
        assert_eq!(response.status(), 401);
        let big = vec![b' '; MOST_BODY_BYTES + 1];
        let big = request("PUT", "/courses/1").body(big.into());
        let response = cloud.request(big.unwrap()).await.response;
        assert_eq!(response.status(), 413);
    }

    #[tokio::test]
    async fn a_lost_answer_is_learned_by_sending_again() {
        let faults = Faults::default();
        let cloud = Cloud::start(Options { layer: Some(faults.layer()), ..Options::default() });
        let cloud = cloud.await.unwrap();
        faults.next("TransactWriteItems", &Fault::LostAnswer, 2);
        let token = cloud.token("m", Role::Staff);
        let student = r#"{"name": "A", "memberId": "m", "maxCredits": 18}"#;
        let put = request("PUT", "/students/1")
            .header("authorization", format!("Bearer {token}"))
            .body(Bytes::from(student));
        assert_eq!(cloud.request(put.unwrap()).await.response.status(), 201);
        assert_eq!(faults.met(), 2);
    }

    #[test]
    fn a_function_without_a_handler_or_a_resource_is_named() {
        let error = assemble(&template("walk", 1), &[]).err().unwrap().to_string();
        assert!(error.contains("Work") && error.contains("walk"), "{error}");
        let error = assemble("Resources: {}", &[SLOW]).err().unwrap().to_string();
        assert!(error.contains("slow"), "{error}");
    }

    #[tokio::test]
    async fn environments_are_started_on_demand_up_to_the_limit() {
        let template = Template::parse(&template("slow", 3)).unwrap();
        let options = Options { environments: 2, ..Options::default() };
        let (cloud, _) = Cloud::assemble(options, &template, &[SLOW]).unwrap();
        let started = tokio::time::Instant::now();
        assert_eq!(get(&cloud, "/").await.0, 204);
        assert_eq!(get(&cloud, "/").await.0, 204);
        assert_eq!(cloud.status()["functions"]["slow"]["environments"], 1);
        let six = (0..6).map(|_| get(&cloud, "/"));
        futures_util::future::join_all(six).await;
        let status = cloud.status();
        let slow = &status["functions"]["slow"];
        assert_eq!((&slow["environments"], &slow["requests"]), (&json!(2), &json!(8)));
        assert!(started.elapsed() >= std::time::Duration::from_millis(20 * 5));
        assert!(slow["latency_ms"]["p50"].as_f64().unwrap() >= 20.0);
    }

    #[tokio::test]
    async fn a_caller_who_leaves_does_not_stop_the_function() {
        let cloud = assemble(&template("slow", 3), &[SLOW]).unwrap();
        let soon = std::time::Duration::from_millis(5);
        assert!(tokio::time::timeout(soon, get(&cloud, "/")).await.is_err());
        cloud.quiet().await;
        let status = cloud.status();
        let slow = &status["functions"]["slow"];
        assert_eq!((&slow["environments"], &slow["statuses"]), (&json!(1), &json!({ "204": 1 })));
        assert_eq!(get(&cloud, "/").await.0, 204);
        assert_eq!(cloud.status()["functions"]["slow"]["environments"], 1);
    }

    #[tokio::test]
    async fn a_function_that_takes_too_long_loses_its_environment() {
        let cloud = assemble(&template("slow", 0), &[SLOW]).unwrap();
        let (status, body) = get(&cloud, "/").await;
        assert_eq!((status, &body["message"]), (500, &json!("Internal Server Error")));
        get(&cloud, "/").await;
        assert_eq!(cloud.status()["functions"]["slow"]["environments"], 0);
    }

    #[tokio::test]
    async fn data_in_a_folder_outlives_the_cloud_and_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let options = || Options {
            data_dir: Some(folder.path().to_owned()),
            sample_data: true,
            ..Options::default()
        };
        let cloud = Cloud::start(options()).await.unwrap();
        let second = Cloud::start(options()).await.err().unwrap().to_string();
        assert!(second.contains("in use"), "{second}");
        let token = cloud.token("m", Role::Staff);
        let drop_one = request("DELETE", "/enrollments/19/5")
            .header("authorization", format!("Bearer {token}"))
            .body(Bytes::new());
        assert_eq!(cloud.request(drop_one.unwrap()).await.response.status(), 204);
        drop(cloud);
        let cloud = Cloud::start(options()).await.unwrap();
        let (_, course) = get(&cloud, "/courses/5").await;
        assert_eq!(course["seats"]["left"], 1);
    }

    #[tokio::test]
    async fn an_unknown_function_is_answered_with_the_known_ones() {
        let cloud = Cloud::start(Options::default()).await.unwrap();
        let error = cloud.invoke("enrol", ApiGatewayV2httpRequest::default()).await;
        let error = error.err().unwrap().to_string();
        assert!(error.contains("enrol") && error.contains("health"), "{error}");
    }
}
