//! What is refused, and under which name.

use super::*;

#[tokio::test]
async fn the_client_knows_the_errors() {
    let bench = bench();
    let error = bench.client.send_message().queue_url("None").message_body("x").send().await;
    let error = error.unwrap_err().into_service_error();
    assert!(error.is_queue_does_not_exist(), "{error:?}");
    let error = bench.client.delete_message().queue_url("Work").receipt_handle("x").send().await;
    let error = error.unwrap_err().into_service_error();
    assert!(error.is_receipt_handle_is_invalid(), "{error:?}");
    let error = bench.client.send_message().queue_url("Work").message_body("\u{1}").send().await;
    let error = error.unwrap_err().into_service_error();
    assert!(error.is_invalid_message_contents(), "{error:?}");
    let error = bench.client.create_queue().queue_name("New").send().await;
    let error = error.unwrap_err().into_service_error();
    assert!(error.is_unsupported_operation(), "{error:?}");
    bench.send("Work", "1").await;
    let received = bench.receive("Work").await.remove(0);
    bench.pass_s(30);
    let hide = bench.client.change_message_visibility().queue_url("Work").visibility_timeout(1);
    let hide = hide.receipt_handle(received.receipt_handle().unwrap());
    let error = hide.send().await.unwrap_err().into_service_error();
    assert!(error.is_message_not_inflight(), "{error:?}");
    bench.delete("Work", &received).await;
    let hide = bench.client.change_message_visibility().queue_url("Work").visibility_timeout(1);
    let hide = hide.receipt_handle(received.receipt_handle().unwrap());
    let error = hide.send().await.unwrap_err().into_service_error();
    assert_eq!(error.meta().code(), Some("InvalidParameterValue"));
    let empty = bench.client.send_message_batch().queue_url("Work").set_entries(Some(vec![]));
    let error = empty.send().await.unwrap_err().into_service_error();
    assert!(error.is_empty_batch_request(), "{error:?}");
}

#[tokio::test]
async fn a_message_that_cannot_be_sent_is_refused() {
    let bench = bench();
    let refused = async |queue: &str, changes: Value| {
        let mut request = json!({ "QueueUrl": queue, "MessageBody": "x" });
        if queue.ends_with(".fifo") {
            request["MessageGroupId"] = json!("g");
            request["MessageDeduplicationId"] = json!("d");
        }
        for (name, value) in changes.as_object().unwrap() {
            request[name] = value.clone();
        }
        bench.refusal("SendMessage", request).await
    };
    let missing = "MissingParameter";
    assert_eq!(refused("Work", json!({ "QueueUrl": null })).await, missing);
    assert_eq!(refused("Work", json!({ "MessageBody": "" })).await, missing);
    assert_eq!(refused("Events.fifo", json!({ "MessageGroupId": null })).await, missing);
    let invalid = "InvalidParameterValue";
    let no_id = json!({ "MessageDeduplicationId": null });
    assert_eq!(refused("Events.fifo", no_id).await, invalid);
    let long = json!({ "MessageGroupId": "g".repeat(129) });
    assert_eq!(refused("Events.fifo", long).await, invalid);
    assert_eq!(refused("Events.fifo", json!({ "DelaySeconds": 1 })).await, invalid);
    assert_eq!(refused("Work", json!({ "DelaySeconds": 901 })).await, invalid);
    assert_eq!(refused("Work", json!({ "DelaySeconds": -1 })).await, invalid);
    assert_eq!(refused("Work", json!({ "MessageDeduplicationId": "d" })).await, invalid);
    let attribute = json!({ "a": { "DataType": "Text", "StringValue": "x" } });
    assert_eq!(refused("Work", json!({ "MessageAttributes": attribute })).await, invalid);
    assert_eq!(refused("Work", json!({ "MessageSystemAttributes": attribute })).await, invalid);
    assert_eq!(refused("Work", json!({ "MessageBody": 1 })).await, "SerializationException");
    for queue in bench.queues.names() {
        assert_eq!(bench.depth(&queue), (0, 0, 0), "{queue}");
    }
}

#[tokio::test]
async fn a_message_may_be_as_large_as_its_queue_says() {
    let bench = bench();
    let most = 1024 * 1024;
    for (queue, most) in [("Work", most), ("Slow", 1024)] {
        let send = async |bytes: usize| {
            let body = "x".repeat(bytes);
            bench.call("SendMessage", json!({ "QueueUrl": queue, "MessageBody": body })).await.0
        };
        assert_eq!((send(most).await, send(most + 1).await), (200, 400), "{queue}");
    }
}

#[tokio::test]
async fn a_batch_that_cannot_be_told_apart_or_is_too_large_is_refused() {
    let bench = bench();
    let refused = async |entries: Vec<Value>| {
        let request = json!({ "QueueUrl": "Work", "Entries": entries });
        bench.refusal("SendMessageBatch", request).await
    };
    let entry = |id: &str, bytes: usize| json!({ "Id": id, "MessageBody": "x".repeat(bytes) });
    let name = |error: &str| format!("AWS.SimpleQueueService.{error}");
    assert_eq!(refused(vec![]).await, name("EmptyBatchRequest"));
    let eleven = (0..11).map(|n| entry(&n.to_string(), 1)).collect();
    assert_eq!(refused(eleven).await, name("TooManyEntriesInBatchRequest"));
    let twice = vec![entry("a", 1), entry("a", 1)];
    assert_eq!(refused(twice).await, name("BatchEntryIdsNotDistinct"));
    for id in ["", "a.b", &"a".repeat(81)] {
        assert_eq!(refused(vec![entry(id, 1)]).await, name("InvalidBatchEntryId"), "{id}");
    }
    let half = 512 * 1024;
    let large = vec![entry("a", half), entry("b", half), entry("c", 1)];
    assert_eq!(refused(large).await, name("BatchRequestTooLong"));
    assert_eq!(bench.depth("Work"), (0, 0, 0));
    let fits = json!({ "QueueUrl": "Work", "Entries": [entry("a", half), entry("b", half)] });
    assert_eq!(bench.call("SendMessageBatch", fits).await.0, 200);
}

#[tokio::test]
async fn numbers_out_of_their_range_are_refused() {
    let bench = bench();
    bench.send("Work", "1").await;
    let handle = bench.receive("Work").await[0].receipt_handle().unwrap().to_owned();
    for (operation, name, value) in [
        ("ReceiveMessage", "MaxNumberOfMessages", 0),
        ("ReceiveMessage", "MaxNumberOfMessages", 11),
        ("ReceiveMessage", "VisibilityTimeout", 43_201),
        ("ReceiveMessage", "WaitTimeSeconds", 21),
        ("ChangeMessageVisibility", "VisibilityTimeout", -1),
        ("ChangeMessageVisibility", "VisibilityTimeout", 43_201),
    ] {
        let request = json!({ "QueueUrl": "Work", "ReceiptHandle": handle, name: value });
        let error = bench.refusal(operation, request).await;
        assert_eq!(error, "InvalidParameterValue", "{operation} {name} {value}");
    }
    let attempt = json!({ "QueueUrl": "Work", "ReceiveRequestAttemptId": "a" });
    assert_eq!(bench.refusal("ReceiveMessage", attempt).await, "InvalidParameterValue");
}

#[tokio::test]
async fn what_is_no_request_is_refused() {
    let bench = bench();
    let call = async |operation: &str, body: &'static str| {
        let call = Call { operation: operation.to_owned(), body: body.into() };
        let answer = bench.queues.call(call).await.unwrap();
        (answer.status, query_error(&answer).unwrap())
    };
    let refused = |name: &str| (400, format!("{name};Sender"));
    assert_eq!(call("SendMessage", "{").await, refused("SerializationException"));
    assert_eq!(call("SendMessage", "[]").await, refused("SerializationException"));
    assert_eq!(call("SendMessage", "").await, refused("MissingParameter"));
    let unsupported = refused("AWS.SimpleQueueService.UnsupportedOperation");
    assert_eq!(call("Fly", "{}").await, unsupported);
    let name = json!({ "QueueUrl": "Work", "AttributeNames": ["Colour"] });
    assert_eq!(bench.refusal("GetQueueAttributes", name).await, "InvalidAttributeName");
    let other = bench.receive("Work").await;
    assert!(other.is_empty());
    bench.send("Work", "1").await;
    let handle = bench.receive("Work").await[0].receipt_handle().unwrap().to_owned();
    let elsewhere = json!({ "QueueUrl": "Slow", "ReceiptHandle": handle });
    assert_eq!(bench.refusal("DeleteMessage", elsewhere).await, "ReceiptHandleIsInvalid");
    let source = json!({ "SourceArn": "arn:aws:sqs:us-east-1:000000000000:Work" });
    assert_eq!(bench.refusal("StartMessageMoveTask", source).await, "InvalidParameterValue");
}
