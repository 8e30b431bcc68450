//! The sources on small templates, with a function whose answers a test writes.

mod queues;
mod schedules;
mod served;
mod streams;

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex};

use aws_sdk_dynamodb::types::AttributeValue;
use platform::app::App;
use platform::clock::Clock;
use platform::lambda::{Function, Promise};
use platform::problem::Problem;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::cloud::{Cloud, Options};
use crate::template::Template;

/// A table, queues, and a function with the events of a test.
const TEMPLATE: &str = "
Resources:
  ThingsTable:
    Type: AWS::DynamoDB::Table
    Properties:
      AttributeDefinitions:
        - { AttributeName: pk, AttributeType: S }
        - { AttributeName: sk, AttributeType: S }
      KeySchema:
        - { AttributeName: pk, KeyType: HASH }
        - { AttributeName: sk, KeyType: RANGE }
      StreamSpecification: { StreamViewType: NEW_AND_OLD_IMAGES }
      TimeToLiveSpecification: { AttributeName: expires_at_s, Enabled: true }
  PlainQueue:
    Type: AWS::SQS::Queue
    Properties:
      RedrivePolicy: { deadLetterTargetArn: !GetAtt DeadQueue.Arn, maxReceiveCount: 3 }
  OrderedQueue:
    Type: AWS::SQS::Queue
    Properties: { FifoQueue: true, ContentBasedDeduplication: true }
  DeadQueue: { Type: AWS::SQS::Queue }
  Work:
    Type: AWS::Serverless::Function
    Properties:
      FunctionName: !Sub '${AWS::StackName}-work'
      Environment: { Variables: { BENCH: '<bench>' } }
      Events:
";

/// What a function answers to a batch.
type Script = Box<dyn FnMut(&Value) -> Result<Value, Problem> + Send>;

/// What a test has set up for its function, and what the function was handed.
struct Stage {
    script: Script,
    events: Vec<Value>,
    running: usize,
    most_running: usize,
    handed: watch::Sender<usize>,
}

static STAGES: LazyLock<Mutex<HashMap<String, Stage>>> = LazyLock::new(Mutex::default);
static NEXT: AtomicU64 = AtomicU64::new(0);

const WORK: Function =
    Function::direct("work", |app, event| -> Promise<'_, Value> { Box::pin(work(app, event)) });

async fn work(app: &App, event: Value) -> Result<Value, Problem> {
    let bench = app.setting("BENCH").unwrap_or_default().to_owned();
    on_stage(&bench, |stage| {
        stage.running += 1;
        stage.most_running = stage.most_running.max(stage.running);
    });
    for _ in 0..20 {
        tokio::task::yield_now().await; // others may begin
    }
    on_stage(&bench, |stage| {
        stage.running -= 1;
        let answer = (stage.script)(&event);
        stage.events.push(event);
        stage.handed.send_modify(|count| *count += 1);
        answer
    })
}

fn on_stage<T>(bench: &str, act: impl FnOnce(&mut Stage) -> T) -> T {
    act(STAGES.lock().unwrap().get_mut(bench).unwrap())
}

/// A cloud with one function, at 2030-01-01T00:00:00Z.
struct Bench {
    id: String,
    cloud: Cloud,
    clock: Clock,
    client: aws_sdk_dynamodb::Client,
}

impl Bench {
    /// A bench whose function has these events, each as in
    /// `{ Type: SQS, Properties: { … } }`.
    fn new(events: &[&str]) -> Self {
        Self::with(events, Options::default())
    }

    fn in_folder(folder: &Path, events: &[&str]) -> Self {
        Self::with(events, Options { data_dir: Some(folder.to_owned()), ..Options::default() })
    }

    fn with(events: &[&str], options: Options) -> Self {
        let id = NEXT.fetch_add(1, Ordering::SeqCst).to_string();
        let stage = Stage {
            script: Box::new(|_| Ok(Value::Null)),
            events: Vec::new(),
            running: 0,
            most_running: 0,
            handed: watch::Sender::default(),
        };
        STAGES.lock().unwrap().insert(id.clone(), stage);
        let mut text = TEMPLATE.replace("<bench>", &id);
        for (at, event) in events.iter().enumerate() {
            text.push_str(&format!("        Event{at}: {event}\n"));
        }
        let clock = Clock::manual("2030-01-01T00:00:00Z".parse().unwrap());
        let template = Template::parse(&text).unwrap();
        let options = Options { clock: clock.clone(), ..options };
        let cloud = Cloud::assemble(options, &template, &[WORK]).unwrap();
        Self { client: cloud.client(), id, cloud, clock }
    }

    /// What the function answers from now on.
    fn answers(&self, script: impl FnMut(&Value) -> Result<Value, Problem> + Send + 'static) {
        on_stage(&self.id, |stage| stage.script = Box::new(script));
    }

    /// The function fails from now on.
    fn fails(&self) {
        self.answers(|_| Err(Problem::internal("as told")));
    }

    /// The function succeeds from now on.
    fn succeeds(&self) {
        self.answers(|_| Ok(Value::Null));
    }

    /// The events that the function was handed since this was asked last.
    fn events(&self) -> Vec<Value> {
        on_stage(&self.id, |stage| std::mem::take(&mut stage.events))
    }

    /// What stands at `path` in each record of each batch handed over.
    fn batches(&self, path: &str) -> Vec<Vec<String>> {
        self.events().iter().map(|event| texts(event, path)).collect()
    }

    /// Waits until the function was handed so many events.
    async fn handed(&self, count: usize) {
        let mut handed = on_stage(&self.id, |stage| stage.handed.subscribe());
        let patience = std::time::Duration::from_secs(20);
        let done = tokio::time::timeout(patience, handed.wait_for(|n| *n >= count)).await;
        assert!(done.is_ok(), "the function was not handed {count} events");
    }

    async fn put(&self, pk: &str, n: u32) {
        let put = self.client.put_item().table_name("Things");
        put.item("pk", text(pk)).item("sk", text("x")).item("n", number(n)).send().await.unwrap();
    }

    async fn send(&self, queue: &str, group: Option<&str>, body: &str) {
        let url = crate::template::queue_url(queue);
        let send = self.cloud.clients().sqs.send_message();
        let send =
            send.queue_url(url).message_body(body).set_message_group_id(group.map(Into::into));
        send.send().await.unwrap();
    }

    /// How many messages a queue has, and how many of them are hidden.
    fn depth(&self, queue: &str) -> (u64, u64) {
        let status = self.cloud.status();
        let count = |field: &str| status["queues"][queue][field].as_u64().unwrap();
        (count("visible"), count("in_flight"))
    }

    fn counts(&self, source: &str) -> Value {
        self.cloud.status()["sources"][source].clone()
    }

    fn lag(&self) -> Value {
        self.cloud.status()["stream_lag"]["work Things"].clone()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if let Ok(mut stages) = STAGES.lock() {
            stages.remove(&self.id);
        }
    }
}

fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

fn number(number: u32) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

/// What stands at `path` in each record of an event.
fn texts(event: &Value, path: &str) -> Vec<String> {
    let records = event["Records"].as_array().unwrap();
    let texts = records.iter().map(|record| record.pointer(path).unwrap().as_str().unwrap());
    texts.map(str::to_owned).collect()
}

/// An answer that names these records.
fn failures(identifiers: &[&str]) -> Value {
    let failures = identifiers.iter().map(|id| json!({ "itemIdentifier": id }));
    json!({ "batchItemFailures": failures.collect::<Vec<_>>() })
}
