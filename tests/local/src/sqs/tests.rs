//! The queues, as the service's own client sees them.

mod dead_letters;
mod fifo;
mod kept;
mod refusals;
mod standard;

use std::sync::Arc;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::{Message, MessageSystemAttributeName};

use super::*;
use crate::connector::{Links, clients};
use crate::template::Template;

const TEMPLATE: &str = "
Resources:
  WorkQueue:
    Type: AWS::SQS::Queue
    Properties:
      VisibilityTimeout: 30
      MessageRetentionPeriod: 3600
      RedrivePolicy:
        deadLetterTargetArn: !GetAtt WorkDeadLetterQueue.Arn
        maxReceiveCount: 2
  WorkDeadLetterQueue:
    Type: AWS::SQS::Queue
    Properties: { MessageRetentionPeriod: 7200 }
  SlowQueue:
    Type: AWS::SQS::Queue
    Properties: { DelaySeconds: 10, MaximumMessageSize: 1024 }
  EventsQueue:
    Type: AWS::SQS::Queue
    Properties:
      FifoQueue: true
      DeduplicationScope: messageGroup
      FifoThroughputLimit: perMessageGroupId
      VisibilityTimeout: 30
      MessageRetentionPeriod: 3600
      RedrivePolicy:
        deadLetterTargetArn: !GetAtt EventsDeadLetterQueue.Arn
        maxReceiveCount: 2
  EventsDeadLetterQueue:
    Type: AWS::SQS::Queue
    Properties:
      FifoQueue: true
      MessageRetentionPeriod: 3600
  ContentQueue:
    Type: AWS::SQS::Queue
    Properties: { FifoQueue: true, ContentBasedDeduplication: true, DelaySeconds: 10 }
";

/// Queues, their time, and a client of theirs.
struct Bench {
    queues: Arc<Queues>,
    clock: Clock,
    client: Client,
}

fn bench() -> Bench {
    bench_in(None)
}

fn bench_in(data_dir: Option<&Path>) -> Bench {
    let template = Template::parse(TEMPLATE).unwrap();
    let clock = Clock::manual("2030-01-01T00:00:00Z".parse().unwrap());
    let queues = Queues::open(&template.queues, clock.clone(), data_dir).unwrap();
    let queues = Arc::new(queues);
    let link = Arc::clone(&queues) as Arc<dyn Link>;
    let links = Links { dynamodb: Arc::clone(&link), sqs: Arc::clone(&link), secrets: link };
    let client = clients(&links, &Clock::System).sqs;
    Bench { queues, clock, client }
}

impl Bench {
    async fn send(&self, queue: &str, body: &str) {
        let send = self.client.send_message().queue_url(queue).message_body(body);
        send.send().await.unwrap();
    }

    /// Sends a message of a group, with its body for its deduplication id.
    async fn send_to_group(&self, group: &str, body: &str) {
        let send = self.client.send_message().queue_url("Events.fifo").message_body(body);
        let send = send.message_group_id(group).message_deduplication_id(body);
        send.send().await.unwrap();
    }

    async fn send_content(&self, body: &str) -> String {
        let send = self.client.send_message().queue_url("Content.fifo");
        let sent = send.message_body(body).message_group_id("g").send().await.unwrap();
        sent.message_id.unwrap()
    }

    async fn receive(&self, queue: &str) -> Vec<Message> {
        let receive = self.client.receive_message().queue_url(queue);
        let receive = receive.max_number_of_messages(10);
        let receive = receive.message_system_attribute_names(MessageSystemAttributeName::All);
        receive.send().await.unwrap().messages.unwrap_or_default()
    }

    async fn bodies(&self, queue: &str) -> Vec<String> {
        bodies(&self.receive(queue).await)
    }

    async fn delete(&self, queue: &str, message: &Message) {
        let handle = message.receipt_handle().unwrap();
        let delete = self.client.delete_message().queue_url(queue).receipt_handle(handle);
        delete.send().await.unwrap();
    }

    async fn hide(&self, queue: &str, message: &Message, seconds: i32) {
        let hide = self.client.change_message_visibility().queue_url(queue);
        let hide = hide.receipt_handle(message.receipt_handle().unwrap());
        hide.visibility_timeout(seconds).send().await.unwrap();
    }

    /// A call in JSON: its status and its response.
    async fn call(&self, operation: &str, request: Value) -> (u16, Value) {
        let body = request.to_string().into();
        let answer = self.queues.call(Call { operation: operation.to_owned(), body });
        let answer = answer.await.unwrap();
        (answer.status, serde_json::from_slice(&answer.body).unwrap())
    }

    /// The error that a call is refused with, by the name that clients go by.
    async fn refusal(&self, operation: &str, request: Value) -> String {
        let body = request.to_string().into();
        let answer = self.queues.call(Call { operation: operation.to_owned(), body });
        let answer = answer.await.unwrap();
        let error = query_error(&answer).unwrap_or_else(|| panic!("{request}: {answer:?}"));
        error.strip_suffix(";Sender").unwrap().to_owned()
    }

    fn depth(&self, queue: &str) -> (u64, u64, u64) {
        let depth = self.queues.depth(queue);
        (depth.visible, depth.in_flight, depth.delayed)
    }

    fn pass_s(&self, seconds: i64) {
        self.clock.advance(seconds * 1000);
    }
}

fn bodies(messages: &[Message]) -> Vec<String> {
    messages.iter().map(|message| message.body().unwrap().to_owned()).collect()
}

fn attribute(message: &Message, name: &MessageSystemAttributeName) -> String {
    message.attributes().unwrap()[name].clone()
}
