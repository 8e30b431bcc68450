//! Streams: what the function is handed, in which order, and what failures lead
//! to.

use std::collections::HashMap;

use super::*;

const PK: &str = "/dynamodb/Keys/pk/S";
const N: &str = "/dynamodb/NewImage/n/N";
const NUMBER: &str = "/dynamodb/SequenceNumber";

/// A stream of the table, with more to say about it.
fn stream(more: &str) -> String {
    let stream = "Stream: !GetAtt ThingsTable.StreamArn";
    let position = if more.contains("LATEST") { "" } else { "StartingPosition: TRIM_HORIZON," };
    format!("{{ Type: DynamoDB, Properties: {{ {stream}, {position} {more} }} }}")
}

fn bench(more: &str) -> Bench {
    Bench::new(&[&stream(more)])
}

#[tokio::test]
async fn a_change_reaches_the_function_as_lambda_hands_it_over() {
    let bench = bench("");
    bench.put("a", 1).await;
    bench.clock.advance(5_000);
    bench.put("a", 2).await;
    let settled = bench.cloud.settle().await;
    assert_eq!((settled.batches, settled.failures), (1, 0));
    let events = bench.events();
    let [insert, modify] = events[0]["Records"].as_array().unwrap().as_slice() else {
        panic!("{events:?}");
    };
    assert_eq!((&insert["eventName"], &modify["eventName"]), (&json!("INSERT"), &json!("MODIFY")));
    assert_eq!(insert["eventID"].as_str().unwrap().len(), 32);
    assert_ne!(insert["eventID"], modify["eventID"]);
    assert_eq!(
        (&insert["eventVersion"], &insert["awsRegion"]),
        (&json!("1.1"), &json!("us-east-1"))
    );
    assert_eq!(insert["eventSource"], "aws:dynamodb");
    let arn = insert["eventSourceARN"].as_str().unwrap();
    assert!(arn.starts_with("arn:aws:dynamodb:us-east-1:000000000000:table/Things/stream/"));
    assert!(insert.get("userIdentity").is_none());
    let (first, second) = (&insert["dynamodb"], &modify["dynamodb"]);
    assert_eq!(first["Keys"], json!({ "pk": { "S": "a" }, "sk": { "S": "x" } }));
    assert_eq!((first.get("OldImage"), &first["NewImage"]["n"]), (None, &json!({ "N": "1" })));
    assert_eq!(second["OldImage"]["n"], json!({ "N": "1" }));
    assert_eq!(second["StreamViewType"], "NEW_AND_OLD_IMAGES");
    assert!(first["SizeBytes"].as_u64().unwrap() > 0);
    assert_eq!(first["ApproximateCreationDateTime"], 1_893_456_000);
    assert_eq!(second["ApproximateCreationDateTime"], 1_893_456_005);
    let number = |record: &Value| record["SequenceNumber"].as_str().unwrap().to_owned();
    assert!(number(first).len() == 21 && number(first) < number(second));
}

#[tokio::test]
async fn a_batch_has_as_many_records_as_the_template_allows() {
    let bench = bench("BatchSize: 2");
    for n in 1..=5 {
        bench.put("a", n).await;
    }
    bench.cloud.settle().await;
    assert_eq!(bench.batches(N), [vec!["1", "2"], vec!["3", "4"], vec!["5"]]);
    assert_eq!(bench.cloud.settle().await.batches, 0);
}

#[tokio::test]
async fn records_wait_for_others_as_long_as_the_window_is_open() {
    let bench = bench("BatchSize: 3, MaximumBatchingWindowInSeconds: 10");
    bench.put("a", 1).await;
    assert_eq!(bench.cloud.settle().await.batches, 0);
    bench.clock.advance(9_999);
    bench.put("a", 2).await;
    assert_eq!(bench.cloud.settle().await.batches, 0);
    bench.clock.advance(1);
    bench.cloud.settle().await;
    assert_eq!(bench.batches(N), [["1", "2"]]);
    for n in 3..=5 {
        bench.put("a", n).await;
    }
    bench.cloud.settle().await;
    assert_eq!(bench.batches(N), [["3", "4", "5"]]);
}

#[tokio::test]
async fn a_record_that_no_filter_lets_pass_counts_as_passed() {
    let pattern = r#"{"dynamodb": {"Keys": {"pk": {"S": [{"prefix": "b"}]}}}}"#;
    let bench = bench(&format!("FilterCriteria: {{ Filters: [{{ Pattern: '{pattern}' }}] }}"));
    for pk in ["a1", "b1", "a2"] {
        bench.put(pk, 1).await;
    }
    assert_eq!(bench.lag()["records"], 3);
    bench.cloud.settle().await;
    assert_eq!(bench.batches(PK), [["b1"]]);
    assert_eq!(bench.lag(), json!({ "records": 0, "oldest_age_s": 0 }));
    assert_eq!(bench.counts("work Things")["filtered"], 2);
}

#[tokio::test]
async fn lanes_run_side_by_side_and_each_key_keeps_its_order() {
    let bench = bench("ParallelizationFactor: 10, BatchSize: 2");
    for n in 1..=8 {
        for pk in ["a", "b", "c", "d", "e", "f"] {
            bench.put(pk, n).await;
        }
    }
    bench.cloud.settle().await;
    let most_running = on_stage(&bench.id, |stage| stage.most_running);
    assert!(most_running > 1, "one batch at a time");
    let mut seen: HashMap<String, Vec<String>> = HashMap::new();
    for event in bench.events() {
        for (pk, n) in texts(&event, PK).into_iter().zip(texts(&event, N)) {
            seen.entry(pk).or_default().push(n);
        }
    }
    assert_eq!(seen.len(), 6);
    for (pk, numbers) in seen {
        assert_eq!(numbers, ["1", "2", "3", "4", "5", "6", "7", "8"], "{pk}");
    }
}

#[tokio::test]
async fn a_lane_that_is_stuck_holds_back_the_position_but_not_the_other_lanes() {
    let folder = tempfile::tempdir().unwrap();
    let events = [stream("ParallelizationFactor: 10, BatchSize: 1")];
    let events: Vec<_> = events.iter().map(String::as_str).collect();
    let bench = Bench::in_folder(folder.path(), &events);
    bench.answers(|event| {
        if texts(event, PK) == ["a"] { Err(Problem::internal("a")) } else { Ok(Value::Null) }
    });
    let keys = ["a", "b", "c", "d", "e", "f", "g", "h"];
    for pk in keys {
        bench.put(pk, 1).await;
    }
    bench.cloud.settle().await;
    let handed = bench.batches(PK).concat();
    assert!(handed.len() >= 6, "{handed:?}");
    let stuck = bench.lag()["records"].as_u64().unwrap();
    assert_eq!(stuck, (keys.len() + 1 - handed.len()) as u64, "{handed:?}");
    drop(bench);
    let bench = Bench::in_folder(folder.path(), &events);
    bench.cloud.settle().await;
    let mut again = bench.batches(PK).concat();
    again.sort();
    assert_eq!(again, keys, "all since the first that was not done");
}

#[tokio::test]
async fn a_batch_that_fails_comes_again_when_the_clock_has_moved() {
    let bench = bench("");
    bench.fails();
    bench.put("a", 1).await;
    let settled = bench.cloud.settle().await;
    assert_eq!((settled.batches, settled.failures), (1, 1));
    assert_eq!(bench.cloud.settle().await.batches, 0);
    bench.clock.advance(1_000);
    bench.put("a", 2).await;
    assert_eq!(bench.cloud.settle().await.failures, 1);
    assert_eq!(bench.lag(), json!({ "records": 2, "oldest_age_s": 1 }));
    bench.succeeds();
    bench.clock.advance(2_000);
    assert_eq!(bench.cloud.settle().await.failures, 0);
    assert_eq!(bench.batches(N), [["1"], ["1"], ["1"], ["2"]]);
    let counts = json!({ "batches": 4, "records": 4, "failures": 2, "dropped": 0, "filtered": 0 });
    assert_eq!(bench.counts("work Things"), counts);
}

#[tokio::test]
async fn a_batch_goes_on_from_the_lowest_record_that_failed() {
    let bench = bench("FunctionResponseTypes: [ReportBatchItemFailures]");
    bench.answers(|event| {
        let numbers = texts(event, NUMBER);
        Ok(if numbers.len() < 4 { Value::Null } else { failures(&[&numbers[3], &numbers[1]]) })
    });
    for n in 1..=4 {
        bench.put("a", n).await;
    }
    bench.cloud.settle().await;
    bench.clock.advance(1_000);
    bench.cloud.settle().await;
    assert_eq!(bench.batches(N), [vec!["1", "2", "3", "4"], vec!["2", "3", "4"]]);
    assert_eq!(bench.lag()["records"], 0);
}

#[tokio::test]
async fn an_answer_that_names_no_record_of_the_batch_fails_all_of_it() {
    let bench = bench("FunctionResponseTypes: [ReportBatchItemFailures]");
    bench.put("a", 1).await;
    bench.put("a", 2).await;
    for answer in [failures(&["1"]), failures(&[""]), json!({ "batchItemFailures": [{}] })] {
        bench.answers(move |_| Ok(answer.clone()));
        assert_eq!(bench.cloud.settle().await.failures, 1);
        bench.clock.advance(10_000);
        assert_eq!(bench.batches(N), [["1", "2"]]);
    }
    bench.succeeds();
    bench.cloud.settle().await;
    assert_eq!(bench.batches(N), [["1", "2"]]);
}

#[tokio::test]
async fn what_is_given_up_is_told_to_the_destination_and_the_rest_goes_on() {
    let bench = bench(
        "MaximumRetryAttempts: 1, BisectBatchOnFunctionError: true, BatchSize: 4, \
         DestinationConfig: { OnFailure: { Destination: !GetAtt DeadQueue.Arn } }",
    );
    bench.answers(|event| {
        if texts(event, N).contains(&"3".to_owned()) {
            return Err(Problem::internal("3"));
        }
        Ok(Value::Null)
    });
    for n in 1..=5 {
        bench.put("a", n).await;
    }
    bench.cloud.settle().await;
    bench.clock.advance(1_000);
    bench.cloud.settle().await;
    let handed = bench.events();
    let number = texts(&handed[3], NUMBER);
    let handed: Vec<_> = handed.iter().map(|event| texts(event, N)).collect();
    let expected: [&[&str]; 7] =
        [&["1", "2", "3", "4"], &["1", "2"], &["3", "4"], &["3"], &["3"], &["4"], &["5"]];
    assert_eq!(handed, expected);
    assert_eq!(bench.counts("work Things")["dropped"], 1);
    assert_eq!(bench.depth("Dead"), (1, 0));
    let url = crate::template::queue_url("Dead");
    let told = bench.cloud.clients().sqs.receive_message().queue_url(url).send().await.unwrap();
    let told: Value = serde_json::from_str(told.messages()[0].body().unwrap()).unwrap();
    assert_eq!(told["requestContext"]["condition"], "RetryAttemptsExhausted");
    assert_eq!(told["requestContext"]["approximateInvokeCount"], 2);
    let function = told["requestContext"]["functionArn"].as_str().unwrap();
    assert!(function.ends_with(":function:hotseat-work"), "{function}");
    let batch = &told["DDBStreamBatchInfo"];
    assert_eq!(
        (&batch["batchSize"], &batch["startSequenceNumber"]),
        (&json!(1), &json!(number[0]))
    );
    assert_eq!(batch["approximateArrivalOfFirstRecord"], "2030-01-01T00:00:00Z");
    assert!(told.get("Records").is_none());
}

#[tokio::test]
async fn records_that_are_too_old_are_given_up_without_being_handed_over() {
    let bench = bench("MaximumRecordAgeInSeconds: 60");
    bench.put("a", 1).await;
    bench.clock.advance(61_000);
    bench.put("a", 2).await;
    bench.cloud.settle().await;
    assert_eq!(bench.batches(N), [["2"]]);
    assert_eq!(bench.counts("work Things")["dropped"], 1);
}

#[tokio::test]
async fn after_a_crash_before_the_checkpoint_the_batch_comes_again() {
    let bench = bench("");
    bench.put("a", 1).await;
    bench.cloud.lose_next_checkpoints();
    bench.cloud.settle().await;
    bench.put("a", 2).await;
    bench.cloud.settle().await;
    assert_eq!(bench.batches(N), [["1"], ["1"], ["2"]]);
    assert_eq!(bench.lag()["records"], 0);
}

#[tokio::test]
async fn what_was_written_before_a_crash_is_delivered_after_it_and_only_that() {
    let folder = tempfile::tempdir().unwrap();
    let stream = stream("");
    let open = || Bench::in_folder(folder.path(), &[&stream]);
    let bench = open();
    bench.put("a", 1).await;
    bench.cloud.settle().await;
    bench.put("a", 2).await;
    drop(bench);
    let bench = open();
    bench.cloud.settle().await;
    assert_eq!(bench.batches(N), [["2"]]);
}

#[tokio::test]
async fn a_reader_that_begins_with_the_latest_misses_nothing_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::in_folder(folder.path(), &[]);
    bench.put("a", 1).await;
    drop(bench);
    let stream = stream("StartingPosition: LATEST");
    let open = || Bench::in_folder(folder.path(), &[&stream]);
    let bench = open();
    bench.put("a", 2).await;
    drop(bench);
    let bench = open();
    bench.cloud.settle().await;
    assert_eq!(bench.batches(N), [["2"]]);
}

#[tokio::test]
async fn records_that_every_reader_has_passed_are_trimmed() {
    let bench = bench("");
    for n in 0..1_200 {
        bench.put("a", n).await;
    }
    assert_eq!(bench.cloud.settle().await.batches, 12);
    let (left, _) = bench.cloud.sources().ground.embedded.streams().backlog("Things", 0).unwrap();
    assert!((1..=200).contains(&left), "{left} records are left");
    bench.put("a", 7).await;
    bench.cloud.settle().await;
    assert_eq!(bench.batches(N).last().unwrap(), &["7"]);
}

#[tokio::test]
async fn an_item_whose_time_is_over_is_removed_by_dynamodb() {
    let bench = bench("");
    let now_s = u32::try_from(bench.clock.now().as_seconds()).unwrap();
    for (pk, expires_at_s) in [("old", 60), ("young", 120)] {
        let put = bench.client.put_item().table_name("Things").item("pk", text(pk));
        let put = put.item("sk", text("x")).item("expires_at_s", number(now_s + expires_at_s));
        put.send().await.unwrap();
    }
    bench.put("none", 1).await;
    let delete = bench.client.delete_item().table_name("Things");
    delete.key("pk", text("none")).key("sk", text("x")).send().await.unwrap();
    assert_eq!(bench.cloud.expire_items().await.unwrap(), 0);
    bench.clock.advance(61_000);
    assert_eq!(bench.cloud.expire_items().await.unwrap(), 1);
    bench.cloud.settle().await;
    let events = bench.events();
    let removed = events[0]["Records"].as_array().unwrap().iter();
    let removed: Vec<_> = removed.filter(|record| record["eventName"] == "REMOVE").collect();
    assert_eq!(removed.len(), 2);
    assert!(removed[0].get("userIdentity").is_none());
    assert_eq!(removed[1].pointer(PK).unwrap(), "old");
    let identity = json!({ "type": "Service", "principalId": "dynamodb.amazonaws.com" });
    assert_eq!(removed[1]["userIdentity"], identity);
    assert_eq!(removed[1]["dynamodb"]["ApproximateCreationDateTime"], now_s + 61);
}

#[tokio::test]
async fn a_source_that_is_switched_off_does_not_run() {
    let bench = bench("Enabled: false");
    bench.put("a", 1).await;
    assert_eq!(bench.cloud.settle().await.batches, 0);
}
