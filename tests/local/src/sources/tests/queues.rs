//! Queues: what is deleted, what comes again, and in which order.

use super::*;

const BODY: &str = "/body";
const ID: &str = "/messageId";

fn queue(name: &str, more: &str) -> String {
    format!("{{ Type: SQS, Properties: {{ Queue: !GetAtt {name}Queue.Arn, {more} }} }}")
}

fn bench(name: &str, more: &str) -> Bench {
    Bench::new(&[&queue(name, more)])
}

#[tokio::test]
async fn a_message_reaches_the_function_as_lambda_hands_it_over() {
    let bench = bench("Ordered", "");
    bench.send("Ordered.fifo", Some("g"), "hello").await;
    bench.cloud.settle().await;
    let events = bench.events();
    let record = &events[0]["Records"][0];
    assert_eq!((&record["body"], &record["eventSource"]), (&json!("hello"), &json!("aws:sqs")));
    assert_eq!(record["md5OfBody"], "5d41402abc4b2a76b9719d911017c592");
    assert_eq!(record["eventSourceARN"], "arn:aws:sqs:us-east-1:000000000000:Ordered.fifo");
    assert_eq!(record["messageAttributes"], json!({}));
    assert_eq!(record["attributes"]["MessageGroupId"], "g");
    assert_eq!(record["attributes"]["ApproximateReceiveCount"], "1");
    for field in ["messageId", "receiptHandle"] {
        assert!(record[field].is_string(), "{field}");
    }
    assert_eq!(bench.depth("Ordered.fifo"), (0, 0));
}

#[tokio::test]
async fn attributes_of_the_sender_have_lambdas_form() {
    let sent = json!({ "kind": { "DataType": "String", "StringValue": "x" } });
    let bench = bench("Plain", "");
    let value = aws_sdk_sqs::types::MessageAttributeValue::builder();
    let value = value.data_type("String").string_value("x").build().unwrap();
    let send = bench.cloud.clients().sqs.send_message().message_attributes("kind", value);
    let send = send.queue_url(crate::template::queue_url("Plain")).message_body("b");
    send.send().await.unwrap();
    bench.cloud.settle().await;
    let attribute = &bench.events()[0]["Records"][0]["messageAttributes"]["kind"];
    assert_eq!(attribute["dataType"], sent["kind"]["DataType"]);
    assert_eq!(attribute["stringValue"], "x");
    assert_eq!(attribute["stringListValues"], json!([]));
}

#[tokio::test]
async fn what_fails_comes_again_when_it_is_visible_and_ends_among_the_dead_letters() {
    let bench = bench("Plain", "");
    bench.fails();
    bench.send("Plain", None, "1").await;
    bench.send("Plain", None, "2").await;
    for _ in 0..3 {
        assert_eq!(bench.cloud.settle().await.failures, 1);
        assert_eq!(bench.depth("Plain"), (0, 2));
        bench.clock.advance(29_999);
        assert_eq!(bench.cloud.settle().await.batches, 0);
        bench.clock.advance(1);
        assert_eq!(bench.batches(BODY), [["1", "2"]]);
    }
    assert_eq!(bench.cloud.settle().await.batches, 0);
    assert_eq!((bench.depth("Plain"), bench.depth("Dead")), ((0, 0), (2, 0)));
}

#[tokio::test]
async fn only_the_messages_that_the_function_names_come_again() {
    let bench = bench("Plain", "FunctionResponseTypes: [ReportBatchItemFailures]");
    bench.answers(|event| {
        let ids = texts(event, ID);
        Ok(if ids.len() == 3 { failures(&[&ids[1]]) } else { Value::Null })
    });
    for body in ["1", "2", "3"] {
        bench.send("Plain", None, body).await;
    }
    assert_eq!(bench.cloud.settle().await.failures, 1);
    assert_eq!(bench.depth("Plain"), (0, 1));
    bench.clock.advance(30_000);
    bench.cloud.settle().await;
    assert_eq!(bench.batches(BODY), [vec!["1", "2", "3"], vec!["2"]]);
    assert_eq!(bench.depth("Plain"), (0, 0));
}

#[tokio::test]
async fn an_answer_that_names_no_message_of_the_batch_deletes_none() {
    let bench = bench("Plain", "FunctionResponseTypes: [ReportBatchItemFailures]");
    bench.answers(|_| Ok(failures(&["nobody"])));
    bench.send("Plain", None, "1").await;
    assert_eq!(bench.cloud.settle().await.failures, 1);
    assert_eq!(bench.depth("Plain"), (0, 1));
}

#[tokio::test]
async fn a_group_keeps_its_order_while_other_groups_go_on() {
    let bench = bench("Ordered", "BatchSize: 1");
    bench.answers(|event| match texts(event, BODY)[0].as_str() {
        "a1" => Err(Problem::internal("a1")),
        _ => Ok(Value::Null),
    });
    for body in ["a1", "a2", "b1", "a3", "b2"] {
        bench.send("Ordered.fifo", body.get(..1), body).await;
    }
    bench.cloud.settle().await;
    let first = bench.batches(BODY).concat();
    let of = |group: &str, bodies: &[String]| -> Vec<String> {
        bodies.iter().filter(|body| body.starts_with(group)).cloned().collect()
    };
    assert_eq!(
        (of("a", &first), of("b", &first)),
        (vec!["a1".into()], vec!["b1".into(), "b2".into()])
    );
    bench.succeeds();
    bench.clock.advance(30_000);
    bench.cloud.settle().await;
    assert_eq!(bench.batches(BODY), [["a1"], ["a2"], ["a3"]]);
}

#[tokio::test]
async fn messages_that_no_filter_lets_pass_are_deleted() {
    let pattern = r#"{"body": {"kind": ["wanted"]}}"#;
    let criteria = format!("FilterCriteria: {{ Filters: [{{ Pattern: '{pattern}' }}] }}");
    let bench = bench("Plain", &criteria);
    let wanted = r#"{"kind": "wanted"}"#;
    for body in [r#"{"kind": "other"}"#, "plain text", wanted, "[1]"] {
        bench.send("Plain", None, body).await;
    }
    bench.cloud.settle().await;
    assert_eq!(bench.batches(BODY), [[wanted]]);
    assert_eq!(bench.depth("Plain"), (0, 0));
    assert_eq!(bench.counts("work Plain")["filtered"], 3);
}

#[tokio::test]
async fn no_more_batches_run_at_once_than_the_template_allows() {
    let bench = bench("Plain", "BatchSize: 1, ScalingConfig: { MaximumConcurrency: 2 }");
    for n in 0..8 {
        bench.send("Plain", None, &n.to_string()).await;
    }
    assert_eq!(bench.cloud.settle().await.batches, 8);
    assert_eq!(on_stage(&bench.id, |stage| stage.most_running), 2);
}

#[tokio::test]
async fn messages_wait_for_others_as_long_as_the_window_is_open() {
    let bench = bench("Plain", "BatchSize: 3, MaximumBatchingWindowInSeconds: 5");
    bench.send("Plain", None, "1").await;
    assert_eq!(bench.cloud.settle().await.batches, 0);
    bench.clock.advance(5_000);
    bench.send("Plain", None, "2").await;
    bench.cloud.settle().await;
    assert_eq!(bench.batches(BODY), [["1", "2"]]);
    for body in ["3", "4", "5"] {
        bench.send("Plain", None, body).await;
    }
    bench.cloud.settle().await;
    assert_eq!(bench.batches(BODY), [["3", "4", "5"]]);
}

#[tokio::test]
async fn after_a_crash_before_the_deletion_the_batch_comes_again() {
    let bench = bench("Plain", "");
    bench.send("Plain", None, "1").await;
    bench.cloud.lose_next_checkpoints();
    bench.cloud.settle().await;
    assert_eq!(bench.depth("Plain"), (0, 1));
    bench.clock.advance(30_000);
    bench.cloud.settle().await;
    assert_eq!(bench.batches(BODY), [["1"], ["1"]]);
    assert_eq!(bench.depth("Plain"), (0, 0));
}

#[tokio::test]
async fn what_one_source_brings_about_is_settled_with_it() {
    let stream = "{ Type: DynamoDB, Properties: { Stream: !GetAtt ThingsTable.StreamArn, \
        StartingPosition: TRIM_HORIZON, MaximumRetryAttempts: 0, \
        DestinationConfig: { OnFailure: { Destination: !GetAtt DeadQueue.Arn } } } }";
    let bench = Bench::new(&[&queue("Dead", ""), stream]);
    bench.answers(|event| match event["Records"][0]["eventSource"].as_str() {
        Some("aws:dynamodb") => Err(Problem::internal("never")),
        _ => Ok(Value::Null),
    });
    bench.put("a", 1).await;
    bench.cloud.settle().await;
    let sources = bench.batches("/eventSource");
    assert_eq!(sources, [["aws:dynamodb"], ["aws:sqs"]]);
    assert_eq!(bench.depth("Dead"), (0, 0));
}
