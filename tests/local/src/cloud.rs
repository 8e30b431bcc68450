//! A cloud of one's own: tables, functions and the API in front of them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use aws_lambda_events::apigw::ApiGatewayV2httpRequest;
use axum::body::Bytes;
use http::{Method, Request, StatusCode};
use platform::app::{Clients, Settings};
use platform::auth::{Role, TOKEN_LIFETIME_S};
use platform::clock::{Clock, Instant};
use platform::lambda::{Failed, Function, Outcome};
use serde_json::Value;

use crate::connector::{self, Links};
use crate::dynamodb::{Embedded, StorageError};
use crate::faults::Layer;
use crate::gateway::{self, MOST_BODY_BYTES, RequestIds};
use crate::key::{DevKey, KeyError};
use crate::limits::{Limited, LimitedQueue, Limits, Sampled};
use crate::link::Link;
use crate::permissions::{self, Denied};
use crate::pool::{Ground, Life, Pool};
use crate::routes::{Routes, Twice};
use crate::sample::{self, SampleError};
use crate::secrets::Secrets;
use crate::sources::{self, Sources};
use crate::sqs::Queues;
use crate::template::{self, Template, TemplateError};

/// Every function that there is, by system.
static SYSTEMS: &[&[Function]] = &[
    platform::FUNCTIONS,
    identity::FUNCTIONS,
    enrollment::FUNCTIONS,
    schedule::FUNCTIONS,
    notification::FUNCTIONS,
    blog::FUNCTIONS,
    ticketing::FUNCTIONS,
    announcement::FUNCTIONS,
    docs::FUNCTIONS,
];

/// Lies in a data folder that is complete: with sample data, or begun without.
const BEGUN: &str = "begun";

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
    /// Whether changes, messages and schedules reach their functions by
    /// themselves while the cloud is served.
    pub events: bool,
    /// What stands between the functions and the queues.
    pub queue_layer: Option<Layer>,
    /// The limits and failures of the real services.
    pub limits: Option<Limits>,
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
            events: true,
            queue_layer: None,
            limits: None,
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
    /// What the functions use cannot be recorded.
    #[error("cannot write into the folder that HOTSEAT_PERMISSIONS_USED names: {0}")]
    Record(#[from] std::io::Error),
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
    sources: Sources,
    runs_sources: bool,
    tables: Vec<String>,
    settings: BTreeMap<String, String>,
    ids: RequestIds,
    clock: Clock,
    key: DevKey,
    /// The ways that the functions take, but for what each is not allowed.
    links: Links,
    /// The same without limits.
    unlimited: Links,
    watched: Watched,
    queues: Arc<Queues>,
    denied: Denied,
    life: Life,
}

impl Cloud {
    /// Starts a cloud as `template.yaml` describes it. It runs on the Tokio
    /// runtime of whoever calls it.
    pub async fn start(options: Options) -> Result<Self, StartError> {
        let template = Template::of_checkout()?;
        let functions: Vec<Function> = SYSTEMS.concat();
        let sample_data = options.sample_data;
        let begun = options.data_dir.as_ref().map(|folder| folder.join(BEGUN));
        let cloud = Self::assemble(options, &template, &functions)?;
        // Written last, so that a first start that was cut off begins anew.
        let is_new = !begun.as_ref().is_some_and(|path| path.exists());
        if sample_data && is_new {
            sample::write(&cloud).await?;
        }
        if let Some(path) = begun.filter(|_| is_new) {
            let written = std::fs::write(&path, "");
            written.map_err(|error| StorageError::Folder { path, error })?;
        }
        Ok(cloud)
    }

    /// Builds a cloud.
    pub(crate) fn assemble(
        options: Options,
        template: &Template,
        functions: &[Function],
    ) -> Result<Self, StartError> {
        let functions = pair(template, functions)?;
        let mut routes = Routes::default();
        for (index, (declared, _)) in functions.iter().enumerate() {
            for route in &declared.routes {
                routes.add(route, index)?;
            }
        }
        let embedded = Embedded::open(options.data_dir.as_deref(), &options.clock)?;
        embedded.create_tables(&template.tables)?;
        let embedded = Arc::new(embedded);
        let mut link: Arc<dyn Link> = Arc::clone(&embedded) as _;
        if let Some(layer) = &options.layer {
            link = layer(link);
        }
        let data_dir = options.data_dir.as_deref();
        let queues = Arc::new(Queues::open(&template.queues, options.clock.clone(), data_dir)?);
        let mut queue_link: Arc<dyn Link> = Arc::clone(&queues) as Arc<dyn Link>;
        if let Some(layer) = &options.queue_layer {
            queue_link = layer(queue_link);
        }
        let key = DevKey::of_checkout()?;
        let seed = options.seed.unwrap_or_else(|| fastrand::u64(..));
        let mut random = fastrand::Rng::with_seed(seed);
        let secrets = Secrets::of(functions.iter().map(|(declared, _)| *declared), &key);
        let unlimited = Links { dynamodb: link, sqs: queue_link, secrets: Arc::new(secrets) };
        let (links, watched) = limit(&unlimited, options.limits.as_ref(), template, seed);
        let life = Life::default();
        let (denied, record) = (Denied::default(), permissions::record()?);
        let pools = functions.iter().map(|(declared, function)| {
            Arc::new(Pool::new(
                *function,
                Settings::from_iter(settings(declared, &key)),
                declared.timeout,
                options.environments.max(1),
                random.fork(),
                Ground {
                    links: permissions::guarded(&links, declared, &denied, record.as_ref()),
                    clock: options.clock.clone(),
                    life: life.clone(),
                },
            ))
        });
        let pools: Vec<_> = pools.collect();
        let sources = Sources::new(
            sources::Ground::new(
                embedded,
                Arc::clone(&queues),
                options.clock.clone(),
                template.tables.clone(),
                data_dir,
            )?
            .again(options.limits.as_ref().map_or(0.0, |limits| limits.again), seed),
            functions.iter().map(|(declared, _)| declared.sources.as_slice()).zip(&pools),
        )?;
        let inner = Inner {
            routes,
            pools,
            sources,
            runs_sources: options.events,
            tables: template.tables.iter().map(|t| t.name.clone()).collect(),
            settings: functions.iter().flat_map(|(declared, _)| settings(declared, &key)).collect(),
            ids: RequestIds::new(seed),
            clock: options.clock,
            key,
            links,
            unlimited,
            watched,
            queues,
            denied,
            life,
        };
        Ok(Self(Arc::new(inner)))
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

    /// The route that a request takes, as in `GET /courses/{courseId}`.
    pub fn route(&self, request: &Request<Bytes>) -> Option<String> {
        let found = self.0.routes.find(request.method(), request.uri().path());
        found.map(|found| found.key.to_owned())
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

    /// Whether a function takes requests, or other events.
    pub fn takes_requests(&self, function: &str) -> Result<bool, UnknownFunction> {
        Ok(self.pool(function)?.takes_requests())
    }

    /// The time now.
    pub(crate) fn now(&self) -> Instant {
        self.0.clock.now()
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

    /// The secret `name` of this cloud's functions, as in `QUEUE_KEYS`.
    pub fn secret(&self, name: &str) -> String {
        self.0.key.secret(name)
    }

    /// What its functions were refused, since no policy of theirs allows it.
    pub fn denied(&self) -> Vec<String> {
        self.0.denied.all()
    }

    /// A client to look into the tables with, which no limits hold up.
    pub fn client(&self) -> aws_sdk_dynamodb::Client {
        self.clients().dynamodb
    }

    /// Clients like those of its functions, but without their limits.
    pub fn clients(&self) -> Clients {
        connector::clients(&self.0.unlimited, &self.0.clock)
    }

    /// What its limits did so far, if it has any.
    pub(crate) fn limited(&self) -> Option<Value> {
        match &self.0.watched {
            Watched::Limited(limited) => Some(limited.to_json()),
            Watched::Sampled(_) => None,
        }
    }

    /// The partition keys that took most so far.
    pub(crate) fn hottest_keys(&self) -> Value {
        match &self.0.watched {
            Watched::Limited(limited) => limited.hottest_keys(),
            Watched::Sampled(sampled) => sampled.hottest_keys(),
        }
    }

    /// Lets every function die where it is, as when a process is killed: nobody
    /// hears of what it did, and nothing more is done. What was written stays.
    pub async fn kill(&self) {
        self.0.life.end();
        self.quiet().await;
    }

    /// The way to the database that the functions take, faults included.
    pub(crate) fn link(&self) -> Arc<dyn Link> {
        Arc::clone(&self.0.links.dynamodb)
    }

    /// The functions' environments.
    pub(crate) fn pools(&self) -> &[Arc<Pool>] {
        &self.0.pools
    }

    /// The names of the tables.
    pub(crate) fn tables(&self) -> &[String] {
        &self.0.tables
    }

    /// The settings of all functions: one that two have is the same in both.
    pub(crate) fn settings(&self) -> &BTreeMap<String, String> {
        &self.0.settings
    }

    /// The route that takes `method` and `path`, as in `GET /courses`.
    pub(crate) fn route_key(&self, method: &Method, path: &str) -> Option<&str> {
        self.0.routes.find(method, path).map(|found| found.key)
    }

    /// What moves events to the functions.
    pub(crate) fn sources(&self) -> &Sources {
        &self.0.sources
    }

    /// Whether the sources run by themselves while the cloud is served.
    pub(crate) fn runs_sources(&self) -> bool {
        self.0.runs_sources
    }

    /// The way to the queues that the functions take, faults included.
    pub(crate) fn queue_link(&self) -> Arc<dyn Link> {
        Arc::clone(&self.0.links.sqs)
    }

    /// The way to the secrets.
    pub(crate) fn secrets_link(&self) -> Arc<dyn Link> {
        Arc::clone(&self.0.links.secrets)
    }

    /// The queues themselves.
    pub(crate) fn queues(&self) -> &Arc<Queues> {
        &self.0.queues
    }

    /// Waits until no function runs.
    pub async fn quiet(&self) {
        for pool in &self.0.pools {
            pool.quiet().await;
        }
    }
}

/// What sees the calls of functions on their way to the database.
enum Watched {
    Limited(Arc<Limited>),
    Sampled(Arc<Sampled>),
}

/// The ways with the limits that are asked for in front of them.
fn limit(
    links: &Links,
    limits: Option<&Limits>,
    template: &Template,
    seed: u64,
) -> (Links, Watched) {
    let Some(limits) = limits else {
        let sampled = Sampled::new(Arc::clone(&links.dynamodb), &template.tables);
        let sampled = Arc::new(sampled);
        let dynamodb = Arc::clone(&sampled) as Arc<dyn Link>;
        return (Links { dynamodb, ..links.clone() }, Watched::Sampled(sampled));
    };
    let mut random = fastrand::Rng::with_seed(seed);
    let (dynamodb, sqs) = (Arc::clone(&links.dynamodb), Arc::clone(&links.sqs));
    let limited = Limited::new(dynamodb, limits.clone(), &template.tables, random.fork());
    let limited = Arc::new(limited);
    let sqs = Arc::new(LimitedQueue::new(sqs, limits.clone(), random.fork()));
    let secrets = Arc::clone(&links.secrets);
    let links = Links { dynamodb: Arc::clone(&limited) as Arc<dyn Link>, sqs, secrets };
    (links, Watched::Limited(limited))
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

/// A function's settings, with this checkout's public keys.
fn settings(declared: &template::Function, key: &DevKey) -> BTreeMap<String, String> {
    let own = ("TOKEN_KEYS".to_owned(), key.public_keys().to_owned());
    declared.environment.clone().into_iter().chain([own]).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
        Cloud::assemble(Options::default(), &template, functions)
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
    fn only_a_function_that_names_a_secret_may_get_it() {
        let template = Template::of_checkout().unwrap();
        let secrets = ["hotseat-signing-keys", "RefreshKeys", "FieldKeys"];
        let holders = secrets.map(|secret| {
            let arn = template::secret_arn(secret);
            let get = "secretsmanager:GetSecretValue";
            let holds = |f: &&template::Function| f.permissions.iter().any(|p| p.covers(get, &arn));
            let names = template.functions.iter().filter(holds).map(|f| f.name.as_str());
            names.collect::<Vec<_>>().join(" ")
        });
        assert_eq!(
            holders,
            [
                "log-in refresh-session",
                "log-in log-out refresh-session",
                "get-me sign-up update-me",
            ]
        );
    }

    #[test]
    fn a_function_without_a_handler_or_a_resource_is_named() {
        let error = assemble(&template("walk", 1), &[]).err().unwrap().to_string();
        assert!(error.contains("Work") && error.contains("walk"), "{error}");
        let error = assemble("Resources: {}", &[SLOW]).err().unwrap().to_string();
        assert!(error.contains("slow"), "{error}");
    }

    /// A cloud of one queue, without functions.
    fn with_queue(options: Options) -> Cloud {
        let queue = "Resources:\n  EventsQueue:\n    Type: AWS::SQS::Queue\n    \
                     Properties: { FifoQueue: true, ContentBasedDeduplication: true }\n";
        let template = Template::parse(queue).unwrap();
        Cloud::assemble(options, &template, &[]).unwrap()
    }

    async fn send(client: &aws_sdk_sqs::Client, queue_url: &str, body: &str) {
        let send = client.send_message().queue_url(queue_url).message_body(body);
        send.message_group_id("g").send().await.unwrap();
    }

    #[tokio::test]
    async fn queues_are_reached_in_process_and_by_their_port() {
        let cloud = with_queue(Options::default());
        send(&cloud.clients().sqs, "Events.fifo", "1").await;
        let served = cloud.serve(0).await.unwrap();
        let config = aws_sdk_sqs::Config::builder()
            .behavior_version(aws_sdk_sqs::config::BehaviorVersion::latest())
            .region(aws_sdk_sqs::config::Region::from_static("us-east-1"))
            .credentials_provider(aws_sdk_sqs::config::Credentials::new("a", "b", None, None, "c"))
            .endpoint_url(served.sqs_url());
        let client = aws_sdk_sqs::Client::from_conf(config.build());
        let url = client.get_queue_url().queue_name("Events.fifo").send().await.unwrap();
        let url = url.queue_url.unwrap();
        assert_eq!(url, format!("{}/000000000000/Events.fifo", served.sqs_url()));
        send(&client, &url, "2").await;
        let receive = client.receive_message().queue_url(&url).max_number_of_messages(10);
        let received = receive.send().await.unwrap();
        let bodies: Vec<_> = received.messages().iter().filter_map(|m| m.body()).collect();
        assert_eq!(bodies, ["1", "2"]);
        let missing = client.get_queue_url().queue_name("None").send().await;
        assert!(missing.unwrap_err().into_service_error().is_queue_does_not_exist());
        let depth = json!({ "visible": 0, "in_flight": 2, "delayed": 0, "oldest_age_s": 0 });
        assert_eq!(cloud.status()["queues"], json!({ "Events.fifo": depth }));
        served.stop().await;
    }

    #[tokio::test]
    async fn messages_in_a_folder_outlive_the_cloud() {
        let folder = tempfile::tempdir().unwrap();
        let data_dir = Some(folder.path().to_owned());
        let options = Options { data_dir, ..Options::default() };
        let cloud = with_queue(options.clone());
        send(&cloud.clients().sqs, "Events.fifo", "1").await;
        drop(cloud);
        let cloud = with_queue(options);
        assert_eq!(cloud.queues().receive("Events.fifo", 1).unwrap()[0].body, "1");
    }

    #[tokio::test]
    async fn entries_of_a_batch_are_refused_and_the_others_sent() {
        let faults = Faults::default();
        let queue_layer = Some(faults.layer());
        let cloud = with_queue(Options { queue_layer, ..Options::default() });
        let client = cloud.clients().sqs;
        let batch = async || {
            let entries = ["a", "b", "c"].map(|id| {
                let entry = aws_sdk_sqs::types::SendMessageBatchRequestEntry::builder().id(id);
                entry.message_body(id).message_group_id(id).build().unwrap()
            });
            let batch = client.send_message_batch().queue_url("Events.fifo");
            batch.set_entries(Some(entries.into())).send().await.unwrap()
        };
        faults.next("SendMessageBatch", &Fault::RefusedEntries(vec![1]), 1);
        let sent = batch().await;
        assert_eq!((sent.successful().len(), sent.failed().len()), (2, 1));
        let failed = &sent.failed()[0];
        assert_eq!((failed.id(), failed.sender_fault()), ("b", false));
        assert_eq!(cloud.queues().depth("Events.fifo").visible, 2);
        faults.next("SendMessageBatch", &Fault::RefusedEntries(vec![0, 1, 2]), 1);
        assert_eq!(batch().await.failed().len(), 3);
        assert!(batch().await.failed().is_empty());
        assert_eq!(cloud.queues().depth("Events.fifo").visible, 3);
    }

    #[tokio::test]
    async fn a_fault_of_the_queues_has_a_name_of_theirs() {
        let faults = Faults::default();
        let queue_layer = Some(faults.layer());
        let cloud = with_queue(Options { queue_layer, ..Options::default() });
        let client = cloud.clients().sqs;
        let mut codes = Vec::new();
        for fault in [Fault::Throttled, Fault::ServerError, Fault::Rejected] {
            faults.always("SendMessage", fault);
            let send = client.send_message().queue_url("Events.fifo").message_body("1");
            let error = send.send().await.unwrap_err().into_service_error();
            codes.push(error.meta().code().unwrap().to_owned());
        }
        assert_eq!(codes, ["RequestThrottled", "InternalError", "InvalidParameterValue"]);
        assert_eq!(cloud.queues().depth("Events.fifo").visible, 0);
    }

    #[tokio::test]
    async fn environments_are_started_on_demand_up_to_the_limit() {
        let template = Template::parse(&template("slow", 3)).unwrap();
        let options = Options { environments: 2, ..Options::default() };
        let cloud = Cloud::assemble(options, &template, &[SLOW]).unwrap();
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

    #[tokio::test(start_paused = true)]
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

    #[tokio::test(start_paused = true)]
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
    async fn a_first_start_that_was_cut_off_begins_anew() {
        let folder = tempfile::tempdir().unwrap();
        let options = || Options {
            data_dir: Some(folder.path().to_owned()),
            sample_data: true,
            ..Options::default()
        };
        let cloud = Cloud::start(options()).await.unwrap();
        let plan = enrollment::keys::plan(3.try_into().unwrap(), "default").into_item();
        let delete = cloud.client().delete_item().table_name(enrollment::TABLE.default);
        delete.set_key(Some(plan)).send().await.unwrap();
        drop(cloud);
        std::fs::remove_file(folder.path().join(BEGUN)).unwrap();
        let cloud = Cloud::start(options()).await.unwrap();
        assert_eq!(get(&cloud, "/courses/5").await.1["seats"]["left"], 0);
        let timetable = request("GET", "/students/3/enrollments")
            .header("authorization", format!("Bearer {}", cloud.token("student-3", Role::Member)))
            .body(Bytes::new());
        assert_eq!(cloud.request(timetable.unwrap()).await.response.status(), 200);
    }

    #[tokio::test]
    async fn an_unknown_function_is_answered_with_the_known_ones() {
        let cloud = Cloud::start(Options::default()).await.unwrap();
        let error = cloud.invoke("enrol", ApiGatewayV2httpRequest::default()).await;
        let error = error.err().unwrap().to_string();
        assert!(error.contains("enrol") && error.contains("health"), "{error}");
    }
}
