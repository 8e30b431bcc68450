//! Each limit against what the service's documentation says of it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use platform::clock::Clock;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Limited, LimitedQueue, Limits, Sampled, Span};
use crate::dynamodb::Embedded;
use crate::link::{Answer, Call, Link, Lost};
use crate::template::Table;

/// A database with one table, an index and limits.
struct Service(Arc<Limited>);

/// Limits that take no time.
fn instant() -> Limits {
    let none = Span::of_ms(0, 0);
    Limits { latency: none, transaction: none, partitions: 1, ..Limits::default() }
}

fn service(limits: Limits) -> Service {
    let (embedded, table) = database();
    let random = fastrand::Rng::with_seed(1);
    Service(Arc::new(Limited::new(embedded, limits, &[table], random)))
}

/// A database with one table.
fn database() -> (Arc<dyn Link>, Table) {
    let attribute = |name| json!({ "AttributeName": name, "AttributeType": "S" });
    let definition = json!({
        "TableName": "Things",
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [attribute("pk"), attribute("sk"), attribute("kind")],
        "KeySchema": [
            { "AttributeName": "pk", "KeyType": "HASH" },
            { "AttributeName": "sk", "KeyType": "RANGE" },
        ],
        "GlobalSecondaryIndexes": [{
            "IndexName": "Kinds",
            "KeySchema": [{ "AttributeName": "kind", "KeyType": "HASH" }],
            "Projection": { "ProjectionType": "ALL" },
        }],
    });
    let (name, ttl_attribute) = ("Things".to_owned(), None);
    let table = Table { logical_id: "ThingsTable".into(), name, definition, ttl_attribute };
    let embedded = Embedded::open(None, &Clock::System).unwrap();
    embedded.create_tables(std::slice::from_ref(&table)).unwrap();
    (Arc::new(embedded), table)
}

impl Service {
    async fn send(&self, operation: &str, request: Value) -> Result<Answer, Lost> {
        let call = Call { operation: operation.to_owned(), body: request.to_string().into() };
        self.0.call(call).await
    }

    async fn call(&self, operation: &str, mut request: Value) -> (u16, Value) {
        if operation != "TransactWriteItems" && operation != "BatchGetItem" {
            request["TableName"] = json!("Things");
        }
        let answer = self.send(operation, request).await.unwrap();
        (answer.status, serde_json::from_slice(&answer.body).unwrap())
    }

    async fn put(&self, pk: &str, bytes: usize) -> (u16, Value) {
        self.call("PutItem", json!({ "Item": item(pk, bytes) })).await
    }

    async fn transact(&self, actions: Value) -> (u16, Value) {
        self.call("TransactWriteItems", json!({ "TransactItems": actions })).await
    }

    /// Units that all calls so far took from tables, and from indexes.
    fn units(&self, access: &str) -> (f64, f64) {
        let state = self.0.to_json();
        let spent = state["partitions"].as_object().unwrap();
        let of = |resource: &str| {
            let mine = format!("{resource} {access} ");
            let mine = spent.iter().filter(|(name, _)| name.starts_with(&mine));
            mine.map(|(_, units)| units.as_f64().unwrap()).sum()
        };
        (of("Things"), of("Things/Kinds"))
    }

    /// What a call took.
    async fn cost(&self, access: &str, call: impl Future<Output = (u16, Value)>) -> (f64, f64) {
        let before = self.units(access);
        call.await;
        let after = self.units(access);
        (after.0 - before.0, after.1 - before.1)
    }
}

fn key(pk: &str) -> Value {
    json!({ "pk": { "S": pk }, "sk": { "S": "a" } })
}

/// An item of about so many bytes.
fn item(pk: &str, bytes: usize) -> Value {
    json!({ "pk": { "S": pk }, "sk": { "S": "a" }, "text": { "S": "x".repeat(bytes) } })
}

fn kind(answer: &Value) -> &str {
    answer["__type"].as_str().unwrap().rsplit('#').next().unwrap()
}

fn put_action(pk: &str) -> Value {
    json!({ "Put": { "TableName": "Things", "Item": item(pk, 1) } })
}

/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html>:
/// writes in steps of 1 KB, reads in steps of 4 KB, half for eventual ones.
#[tokio::test]
async fn units_are_counted_in_steps_of_the_items_size() {
    let service = service(instant());
    assert_eq!(service.cost("write", service.put("a", 100)).await, (1.0, 0.0));
    assert_eq!(service.cost("write", service.put("b", 2_500)).await, (3.0, 0.0));
    let read = |consistent: bool, pk: &str| {
        service.call("GetItem", json!({ "Key": key(pk), "ConsistentRead": consistent }))
    };
    service.put("c", 4_500).await;
    assert_eq!(service.cost("read", read(true, "c")).await, (2.0, 0.0));
    assert_eq!(service.cost("read", read(false, "c")).await, (1.0, 0.0));
    assert_eq!(service.cost("read", read(false, "nothing")).await, (0.5, 0.0));
}

/// Same page: an update is billed by the larger of the item before and after.
#[tokio::test]
async fn an_update_bills_the_larger_of_the_old_and_the_new_item() {
    let service = service(instant());
    service.put("a", 5_000).await;
    let shrink = json!({ "Key": key("a"), "UpdateExpression": "REMOVE #t",
        "ExpressionAttributeNames": { "#t": "text" } });
    assert_eq!(service.cost("write", service.call("UpdateItem", shrink.clone())).await, (5.0, 0.0));
    assert_eq!(service.cost("write", service.call("UpdateItem", shrink)).await, (1.0, 0.0));
}

/// Same page: a failed condition costs as much as the write of the item there,
/// and one unit if there is none.
#[tokio::test]
async fn a_failed_condition_is_billed_all_the_same() {
    let service = service(instant());
    service.put("a", 2_500).await;
    let change = |pk: &str| {
        let change = json!({ "Key": key(pk), "UpdateExpression": "SET n = :n",
            "ConditionExpression": "version = :n",
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            "ExpressionAttributeValues": { ":n": { "N": "1" } } });
        service.call("UpdateItem", change)
    };
    assert_eq!(kind(&change("a").await.1), "ConditionalCheckFailedException");
    assert_eq!(service.cost("write", change("a")).await, (3.0, 0.0));
    assert_eq!(service.cost("write", change("nothing")).await, (1.0, 0.0));
}

/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html>:
/// every item of a transaction is written twice, to prepare and to commit.
#[tokio::test]
async fn a_transaction_costs_twice_its_writes_done_or_refused() {
    let service = service(instant());
    let two = json!([put_action("a"), put_action("b")]);
    assert_eq!(service.cost("write", service.transact(two)).await, (4.0, 0.0));
    let mut refused = put_action("a");
    refused["Put"]["ConditionExpression"] = json!("attribute_not_exists(pk)");
    let refused = json!([refused, put_action("c")]);
    assert_eq!(service.cost("write", service.transact(refused)).await, (4.0, 0.0));
}

/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html#GSI.ThroughputConsiderations.Writes>:
/// one write into an index, two when the index key changes, none when nothing
/// changes there.
#[tokio::test]
async fn an_index_is_billed_apart_by_what_changes_in_it() {
    let service = service(instant());
    let mut item = item("a", 1);
    item["kind"] = json!({ "S": "one" });
    let put = json!({ "Item": item });
    assert_eq!(service.cost("write", service.call("PutItem", put)).await, (1.0, 1.0));
    let set = |kind: &str| {
        let set = json!({ "Key": key("a"), "UpdateExpression": "SET kind = :k",
            "ExpressionAttributeValues": { ":k": { "S": kind } } });
        service.call("UpdateItem", set)
    };
    assert_eq!(service.cost("write", set("two")).await, (1.0, 2.0));
    assert_eq!(service.cost("write", set("two")).await, (1.0, 0.0));
    let query = json!({ "IndexName": "Kinds", "KeyConditionExpression": "kind = :k",
        "ExpressionAttributeValues": { ":k": { "S": "two" } } });
    assert_eq!(service.cost("read", service.call("Query", query)).await, (0.0, 0.5));
}

/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html>:
/// a query is billed by the sum of its items' sizes, a batch item by item.
#[tokio::test]
async fn a_query_costs_the_sum_and_a_batch_each_item() {
    let service = service(instant());
    for sk in ["1", "2", "3"] {
        let mut item = item("a", 1_200);
        item["sk"] = json!({ "S": sk });
        service.call("PutItem", json!({ "Item": item })).await;
    }
    let query = json!({ "KeyConditionExpression": "#p = :p AND sk > :s",
        "ExpressionAttributeNames": { "#p": "pk" }, "ConsistentRead": true,
        "ExpressionAttributeValues": { ":p": { "S": "a" }, ":s": { "S": "0" } } });
    assert_eq!(service.cost("read", service.call("Query", query)).await, (1.0, 0.0));
    let keys = ["1", "2", "3"].map(|sk| json!({ "pk": { "S": "a" }, "sk": { "S": sk } }));
    let batch = json!({ "RequestItems": { "Things": { "Keys": keys, "ConsistentRead": true } } });
    assert_eq!(service.cost("read", service.call("BatchGetItem", batch)).await, (3.0, 0.0));
}

/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html>:
/// 1,000 write units a second and partition. On throttling:
/// <https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ThrottlingReason.html>.
#[tokio::test(start_paused = true)]
async fn a_partition_takes_a_thousand_writes_a_second_and_says_why_no_more() {
    let service = service(instant());
    let taken = async || {
        let mut taken = 0;
        while service.put("hot", 1).await.0 == 200 {
            taken += 1;
        }
        taken
    };
    assert_eq!(taken().await, 1_000);
    let (status, error) = service.put("hot", 1).await;
    assert_eq!((status, kind(&error)), (400, "ThrottlingException"));
    let reason = &error["throttlingReasons"][0];
    assert_eq!(reason["reason"], "TableWriteKeyRangeThroughputExceeded");
    assert!(reason["resource"].as_str().unwrap().ends_with(":table/Things"));
    let (status, error) = service.transact(json!([put_action("a")])).await;
    let reasons = &error["CancellationReasons"];
    assert_eq!((status, kind(&error)), (400, "TransactionCanceledException"));
    assert_eq!(reasons[0]["Code"], "ThrottlingError");
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(taken().await, 100);
    // However long nobody wrote, one second's worth is all that was saved up.
    tokio::time::sleep(Duration::from_secs(300)).await;
    assert_eq!(taken().await, 1_000);
}

/// Same page, 3,000 read units: reads and writes are throttled apart
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/throttling-key-range-limit-exceeded-mitigation.html>),
/// and of a batch what can be read is
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html>).
#[tokio::test(start_paused = true)]
async fn reads_have_a_limit_of_their_own_and_a_batch_leaves_keys_unprocessed() {
    let two = service(Limits { partitions: 64, ..instant() });
    let read = |pk: &str| two.call("GetItem", json!({ "Key": key(pk), "ConsistentRead": true }));
    let mut taken = 0;
    while read("hot").await.0 == 200 {
        taken += 1;
    }
    assert_eq!(taken, 3_000);
    assert_eq!(two.put("hot", 1).await.0, 200);
    let keys = json!([key("hot"), key("cold")]);
    let batch = json!({ "RequestItems": { "Things": { "Keys": keys, "ConsistentRead": true } } });
    let (status, answer) = two.call("BatchGetItem", batch).await;
    assert_eq!(status, 200);
    assert_eq!(answer["UnprocessedKeys"]["Things"]["Keys"], json!([key("hot")]));
    assert_eq!(answer["UnprocessedKeys"]["Things"]["ConsistentRead"], true);
    let batch = json!({ "RequestItems": { "Things": { "Keys": [key("hot")] } } });
    assert_eq!(kind(&two.call("BatchGetItem", batch).await.1), "ThrottlingException");
}

/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html#GSI.ThroughputConsiderations.Writes>:
/// an index that cannot take a write throttles its table.
#[tokio::test(start_paused = true)]
async fn a_crowded_index_key_throttles_writes_of_its_table() {
    let service = service(Limits { partitions: 64, ..instant() });
    let put = |number: usize| {
        let mut item = item(&number.to_string(), 1);
        item["kind"] = json!({ "S": "popular" });
        service.call("PutItem", json!({ "Item": item }))
    };
    let mut number = 0;
    let refusal = loop {
        let (status, answer) = put(number).await;
        if status != 200 {
            break answer;
        }
        number += 1;
    };
    assert_eq!(number, 1_000);
    let reason = &refusal["throttlingReasons"][0];
    assert_eq!(reason["reason"], "IndexWriteKeyRangeThroughputExceeded");
    assert!(reason["resource"].as_str().unwrap().ends_with(":table/Things/index/Kinds"));
}

/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html#transaction-conflict-handling>:
/// a transaction refuses others, and writes that stand alone, that touch its
/// items while it runs. Reads are not refused.
#[tokio::test(start_paused = true)]
async fn items_of_a_running_transaction_refuse_other_writes() {
    let service = service(Limits { transaction: Span::of_ms(10, 10), ..instant() });
    let ours = service.transact(json!([put_action("a"), put_action("b")]));
    let meanwhile = async {
        tokio::time::sleep(Duration::from_millis(5)).await;
        let theirs = service.transact(json!([put_action("c"), put_action("b")])).await;
        let alone = service.put("a", 1).await;
        let elsewhere = service.put("c", 1).await;
        let read = service.call("GetItem", json!({ "Key": key("a") })).await;
        (theirs, alone, elsewhere.0, read.0)
    };
    let (ours, (theirs, alone, elsewhere, read)) =
        futures_util::future::join(ours, meanwhile).await;
    assert_eq!((ours.0, elsewhere, read), (200, 200, 200));
    assert_eq!((theirs.0, kind(&theirs.1)), (400, "TransactionCanceledException"));
    let codes = theirs.1["CancellationReasons"].as_array().unwrap().iter();
    let codes: Vec<_> = codes.map(|reason| reason["Code"].as_str().unwrap()).collect();
    assert_eq!(codes, ["None", "TransactionConflict"]);
    assert_eq!((alone.0, kind(&alone.1)), (400, "TransactionConflictException"));
    assert_eq!(service.put("a", 1).await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn a_transaction_that_nobody_waits_for_holds_nothing_any_more() {
    let service = service(Limits { transaction: Span::of_ms(10, 10), ..instant() });
    let transaction = service.transact(json!([put_action("a")]));
    let given_up = tokio::time::timeout(Duration::from_millis(5), transaction).await;
    assert!(given_up.is_err());
    assert_eq!(service.put("a", 1).await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn a_call_takes_its_time_and_a_slow_one_longer() {
    let service = service(Limits { latency: Span::of_ms(4, 4), slow: 0.5, ..instant() });
    let mut took = Vec::new();
    for _ in 0..20 {
        let started = Instant::now();
        service.put("a", 1).await;
        took.push(started.elapsed().as_millis());
    }
    took.sort_unstable();
    assert_eq!((took[0], took[19]), (4, 2_004));
}

/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html>:
/// after a 500 a write may have been done or not.
#[tokio::test(start_paused = true)]
async fn a_lost_answer_was_applied_and_an_error_may_have_been() {
    let lossy = service(Limits { lost: 1.0, ..instant() });
    let put = json!({ "TableName": "Things", "Item": item("a", 1) });
    assert!(lossy.send("PutItem", put).await.is_err());
    assert_eq!(lossy.units("write"), (1.0, 0.0));
    let failing = service(Limits { errors: 1.0, ..instant() });
    for number in 0..40 {
        let (status, error) = failing.put(&number.to_string(), 1).await;
        assert_eq!((status, kind(&error)), (500, "InternalServerError"));
    }
    let (applied, _) = failing.units("write");
    assert!((5.0..35.0).contains(&applied), "{applied}");
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_turns_the_same_dice() {
    let run = async || {
        let limits = Limits { lost: 0.1, errors: 0.1, slow: 0.1, ..Limits::default() };
        let service = service(limits);
        let started = Instant::now();
        let calls = (0..200).map(|number| {
            let item = item(&(number % 7).to_string(), 1);
            service.send("PutItem", json!({ "TableName": "Things", "Item": item }))
        });
        let answers = join_all(calls).await.into_iter().map(|a| a.map(|a| a.status));
        (answers.collect::<Vec<_>>(), started.elapsed(), service.0.to_json())
    };
    assert_eq!(run().await, run().await);
}

#[tokio::test]
async fn who_asked_for_no_costs_or_only_for_their_sum_gets_just_that() {
    let service = service(instant());
    let put = |mode: &str| {
        let put = json!({ "Item": item("a", 1), "ReturnConsumedCapacity": mode });
        service.call("PutItem", put)
    };
    assert_eq!(put("NONE").await.1.get("ConsumedCapacity"), None);
    let total = json!({ "TableName": "Things", "CapacityUnits": 1.0 });
    assert_eq!(put("TOTAL").await.1["ConsumedCapacity"], total);
    assert_eq!(put("INDEXES").await.1["ConsumedCapacity"]["Table"]["CapacityUnits"], 1.0);
}

#[tokio::test]
async fn the_keys_that_took_most_are_named_with_what_they_took() {
    let service = service(instant());
    service.put("a", 100).await;
    service.put("b", 2_500).await;
    service.transact(json!([put_action("a"), put_action("c")])).await;
    service.call("GetItem", json!({ "Key": key("b"), "ConsistentRead": true })).await;
    let key = |key, units| json!({ "resource": "Things", "key": key, "units": units });
    let expected = json!({
        "one_call_in": 1,
        "read": [key("b", 1.0)],
        "write": [key("a", 3.0), key("b", 3.0), key("c", 2.0)],
    });
    assert_eq!(service.0.hottest_keys(), expected);
}

#[tokio::test]
async fn without_limits_calls_are_looked_at_and_left_as_they_are() {
    let (database, table) = database();
    let sampled = Sampled::one_in(1, Arc::clone(&database), &[table]);
    let put = |pk: &str, condition: &str| {
        let mut put = json!({
            "TableName": "Things", "Item": item(pk, 1_500), "ReturnConsumedCapacity": "TOTAL",
        });
        if !condition.is_empty() {
            put["ConditionExpression"] = condition.into();
        }
        Call { operation: "PutItem".to_owned(), body: put.to_string().into() }
    };
    let through = sampled.call(put("a", "")).await.unwrap();
    assert_eq!(through, database.call(put("a", "")).await.unwrap());
    let refused = sampled.call(put("a", "attribute_not_exists(pk)")).await.unwrap();
    let error: Value = serde_json::from_slice(&refused.body).unwrap();
    assert_eq!((refused.status, kind(&error)), (400, "ConditionalCheckFailedException"));
    let actions = json!({
        "TransactItems": [put_action("b"), put_action("c")], "ReturnConsumedCapacity": "TOTAL",
    });
    let operation = "TransactWriteItems".to_owned();
    sampled.call(Call { operation, body: actions.to_string().into() }).await.unwrap();
    let key = |key, units| json!({ "resource": "Things", "key": key, "units": units });
    let writes = json!([key("a", 4.0), key("b", 2.0), key("c", 2.0)]);
    assert_eq!(sampled.hottest_keys()["write"], writes);
    assert_eq!(sampled.hottest_keys()["read"], json!([]));
}

/// A queue that is always there.
#[derive(Debug)]
struct Ready;

impl Link for Ready {
    fn call(&self, _: Call) -> futures_util::future::BoxFuture<'_, Result<Answer, Lost>> {
        Box::pin(async { Ok(Answer { status: 200, body: "{}".into() }) })
    }
}

/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/CommonErrors.html>
#[tokio::test(start_paused = true)]
async fn calls_to_queues_are_throttled_lost_and_failed_too() {
    let send = async |limits: Limits| {
        let random = fastrand::Rng::with_seed(1);
        let queue = LimitedQueue::new(Arc::new(Ready), limits, random);
        let call = Call { operation: "SendMessage".to_owned(), body: "{}".into() };
        queue.call(call).await
    };
    assert_eq!(send(instant()).await.unwrap().status, 200);
    let throttled = send(Limits { queue_throttles: 1.0, ..instant() }).await.unwrap();
    assert_eq!(throttled.status, 403);
    assert!(String::from_utf8_lossy(&throttled.body).contains("RequestThrottled"));
    assert!(send(Limits { lost: 1.0, ..instant() }).await.is_err());
    assert_eq!(send(Limits { errors: 1.0, ..instant() }).await.unwrap().status, 500);
}

#[test]
fn limits_are_written_as_they_are_read() {
    let text = "latency=2..4,transaction=10..15,partitions=40,conflicts=off,lost=0.01,again=0.5";
    let limits: Limits = text.parse().unwrap();
    assert_eq!((limits.partitions, limits.conflicts, limits.lost), (40, false, 0.01));
    assert_eq!(limits.to_string(), text);
    assert_eq!("".parse::<Limits>().unwrap(), Limits::default());
    assert_eq!("latency=0".parse::<Limits>().unwrap().latency, Span::of_ms(0, 0));
}

#[test]
fn what_is_no_limit_is_refused_with_what_there_is() {
    for (bad, remedy) in [
        ("speed=1", "queue-throttles"),
        ("lost", "name=value"),
        ("lost=2", "from 0 to 1"),
        ("latency=4..2", "milliseconds"),
        ("partitions=-1", "a number"),
        ("conflicts=maybe", "on or off"),
    ] {
        let error = bad.parse::<Limits>().unwrap_err();
        assert!(error.contains(remedy), "{bad}: {error}");
    }
}
