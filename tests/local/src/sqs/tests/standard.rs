//! Standard queues: visibility, delays, retention, waiting, attributes.

use std::time::Duration;

use aws_sdk_sqs::primitives::Blob;
use aws_sdk_sqs::types::{
    DeleteMessageBatchRequestEntry, MessageAttributeValue, QueueAttributeName,
    SendMessageBatchRequestEntry,
};

use super::*;

#[tokio::test]
async fn a_message_is_hidden_until_it_is_deleted_or_its_time_is_over() {
    let bench = bench();
    bench.send("Work", "1").await;
    bench.send("Work", "2").await;
    let first = bench.receive("Work").await;
    assert_eq!(bodies(&first), ["1", "2"]);
    assert_eq!(bench.depth("Work"), (0, 2, 0));
    bench.delete("Work", &first[0]).await;
    bench.pass_s(29);
    assert!(bench.bodies("Work").await.is_empty());
    bench.pass_s(1);
    assert_eq!(bench.bodies("Work").await, ["2"]);
    bench.delete("Work", &first[1]).await;
    assert_eq!(bench.depth("Work"), (0, 1, 0), "an old receipt deletes nothing");
}

#[tokio::test]
async fn the_last_receipt_deletes_even_when_its_time_is_over() {
    let bench = bench();
    bench.send("Work", "1").await;
    let received = bench.receive("Work").await;
    bench.pass_s(60);
    bench.delete("Work", &received[0]).await;
    assert_eq!(bench.depth("Work"), (0, 0, 0));
}

#[tokio::test]
async fn a_receiver_may_hide_a_message_longer_or_give_it_back() {
    let bench = bench();
    bench.send("Work", "1").await;
    let received = bench.receive("Work").await;
    bench.hide("Work", &received[0], 100).await;
    bench.pass_s(99);
    assert!(bench.bodies("Work").await.is_empty());
    bench.hide("Work", &received[0], 0).await;
    assert_eq!(bench.bodies("Work").await, ["1"]);
}

#[tokio::test]
async fn a_message_waits_for_its_delay() {
    let bench = bench();
    bench.send("Slow", "1").await;
    let sooner = bench.client.send_message().queue_url("Slow").message_body("2");
    sooner.delay_seconds(5).send().await.unwrap();
    assert_eq!(bench.depth("Slow"), (0, 0, 2));
    bench.pass_s(5);
    assert_eq!(bench.bodies("Slow").await, ["2"]);
    assert_eq!(bench.depth("Slow"), (0, 1, 1));
    bench.pass_s(5);
    assert_eq!(bench.bodies("Slow").await, ["1"]);
}

#[tokio::test]
async fn a_message_is_kept_for_its_retention_even_in_flight() {
    let bench = bench();
    bench.send("Work", "1").await;
    bench.send_to_group("g", "1").await;
    bench.pass_s(3599);
    assert_eq!(bench.depth("Work").0 + bench.depth("Events.fifo").0, 2);
    assert_eq!(bench.receive("Events.fifo").await.len(), 1);
    assert_eq!(
        bench.queues.depth("Work").oldest_sent_at,
        Some("2030-01-01T00:00:00Z".parse().unwrap())
    );
    bench.pass_s(1);
    assert_eq!(bench.depth("Work"), (0, 0, 0));
    assert_eq!(bench.depth("Events.fifo"), (0, 0, 0));
    assert_eq!(bench.queues.depth("Work").oldest_sent_at, None);
    bench.send_to_group("g", "2").await;
    assert_eq!(bench.bodies("Events.fifo").await, ["2"]);
}

#[tokio::test]
async fn attributes_come_back_to_those_who_ask_for_them() {
    let bench = bench();
    let text = MessageAttributeValue::builder().data_type("String").string_value("x").build();
    let bytes = MessageAttributeValue::builder().data_type("Binary").binary_value(Blob::new([1]));
    let send = bench.client.send_message().queue_url("Work").message_body("hello");
    let send = send.message_attributes("app.text", text.unwrap());
    let sent = send.message_attributes("bytes", bytes.build().unwrap()).send().await.unwrap();
    assert_eq!(sent.md5_of_message_body(), Some("5d41402abc4b2a76b9719d911017c592"));
    let ask = async |name: &str| {
        let receive = bench.client.receive_message().queue_url("Work").visibility_timeout(0);
        let received = receive.message_attribute_names(name).send().await.unwrap();
        let message = received.messages()[0].clone();
        let names = message.message_attributes.unwrap_or_default().into_keys();
        let mut names: Vec<_> = names.collect();
        names.sort();
        (names, message.md5_of_message_attributes)
    };
    let (names, md5) = ask("All").await;
    assert_eq!(names, ["app.text", "bytes"]);
    assert!(md5.is_some() && md5 == sent.md5_of_message_attributes);
    assert_eq!(ask("app.*").await.0, ["app.text"]);
    bench.pass_s(1);
    bench.queues.receive("WorkDeadLetter", 1).unwrap();
    let received = bench.client.receive_message().queue_url("WorkDeadLetter").send().await;
    assert!(received.unwrap().messages().is_empty(), "it was received three times, not four");
}

#[tokio::test]
async fn a_batch_reports_each_entry_and_sends_the_others() {
    let bench = bench();
    let entry = |id: &str, body: &str| {
        let entry = SendMessageBatchRequestEntry::builder().id(id).message_body(body);
        entry.build().unwrap()
    };
    let batch = bench.client.send_message_batch().queue_url("Slow");
    let entries = vec![entry("a", "1"), entry("b", "\u{1}"), entry("c", &"x".repeat(1025))];
    let sent = batch.set_entries(Some(entries)).send().await.unwrap();
    assert_eq!(sent.successful().len(), 1);
    assert_eq!(sent.successful()[0].id(), "a");
    let failed: Vec<_> =
        sent.failed().iter().map(|f| (f.id(), f.code(), f.sender_fault())).collect();
    assert_eq!(
        failed,
        [("b", "InvalidMessageContents", true), ("c", "InvalidParameterValue", true)]
    );
    bench.pass_s(10);
    let received = bench.receive("Slow").await;
    let delete = |id: &str, handle: &str| {
        let entry = DeleteMessageBatchRequestEntry::builder().id(id).receipt_handle(handle);
        entry.build().unwrap()
    };
    let entries = vec![delete("a", received[0].receipt_handle().unwrap()), delete("b", "none")];
    let batch = bench.client.delete_message_batch().queue_url("Slow");
    let deleted = batch.set_entries(Some(entries)).send().await.unwrap();
    assert_eq!(deleted.successful()[0].id(), "a");
    assert_eq!(deleted.failed()[0].code(), "ReceiptHandleIsInvalid");
    assert_eq!(bench.depth("Slow"), (0, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_long_poll_waits_for_a_message() {
    let bench = bench();
    let started = tokio::time::Instant::now();
    let poll = async || {
        let request = json!({ "QueueUrl": "Work", "WaitTimeSeconds": 20 });
        let (status, response) = bench.call("ReceiveMessage", request).await;
        assert_eq!(status, 200, "{response}");
        (response["Messages"][0]["Body"].clone(), started.elapsed().as_secs())
    };
    let later = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        bench.send("Work", "1").await;
    };
    let (received, ()) = futures_util::future::join(poll(), later).await;
    assert_eq!(received, (json!("1"), 5));
    assert_eq!(poll().await, (Value::Null, 25));
}

#[tokio::test]
async fn every_change_is_told() {
    let bench = bench();
    let mut changes = bench.queues.changes();
    let mut is_told = || {
        let told = changes.has_changed().unwrap();
        changes.mark_unchanged();
        told
    };
    bench.send_to_group("g", "1").await;
    assert!(is_told());
    let received = bench.queues.receive("Events.fifo", 10).unwrap();
    assert!(!is_told(), "to take is no change");
    let handle = &received[0].receipt_handle;
    let hide =
        json!({ "QueueUrl": "Events.fifo", "ReceiptHandle": handle, "VisibilityTimeout": 0 });
    assert_eq!(bench.call("ChangeMessageVisibility", hide).await.0, 200);
    assert!(is_told());
    let received = bench.queues.receive("Events.fifo", 10).unwrap();
    bench.queues.delete("Events.fifo", &received[0].receipt_handle).unwrap();
    assert!(is_told());
    assert!(!is_told());
}

#[tokio::test]
async fn a_queue_tells_its_settings_and_how_much_there_is_in_it() {
    let bench = bench();
    bench.send_to_group("g", "1").await;
    bench.send_to_group("h", "2").await;
    let receive = bench.client.receive_message().queue_url("Events.fifo");
    receive.send().await.unwrap();
    let read = bench.client.get_queue_attributes().queue_url("Events.fifo");
    let read = read.attribute_names(QueueAttributeName::All).send().await.unwrap();
    use QueueAttributeName as Name;
    let of = |name: Name| read.attributes().unwrap()[&name].as_str();
    assert_eq!(of(Name::ApproximateNumberOfMessages), "1");
    assert_eq!(of(Name::ApproximateNumberOfMessagesNotVisible), "1");
    assert_eq!(of(Name::ApproximateNumberOfMessagesDelayed), "0");
    assert_eq!(of(Name::FifoQueue), "true");
    assert_eq!(of(Name::DeduplicationScope), "messageGroup");
    assert_eq!(of(Name::VisibilityTimeout), "30");
    assert_eq!(of(Name::QueueArn), "arn:aws:sqs:us-east-1:000000000000:Events.fifo");
    let redrive: Value = serde_json::from_str(of(Name::RedrivePolicy)).unwrap();
    let target = "arn:aws:sqs:us-east-1:000000000000:EventsDeadLetter.fifo";
    assert_eq!(redrive, json!({ "deadLetterTargetArn": target, "maxReceiveCount": 2 }));
    let read = bench.client.get_queue_attributes().queue_url("Work");
    let read = read.attribute_names(Name::FifoQueue).send().await.unwrap();
    assert!(read.attributes().is_none_or(std::collections::HashMap::is_empty));
    assert_eq!(
        bench.queues.status()["Events.fifo"],
        json!({ "visible": 1, "in_flight": 1, "delayed": 0, "oldest_age_s": 0 })
    );
}

#[tokio::test]
async fn queues_are_found_by_name_and_a_url_is_its_last_segment() {
    let bench = bench();
    let url = bench.client.get_queue_url().queue_name("Work").send().await.unwrap();
    assert_eq!(url.queue_url(), Some("http://sqs.local/000000000000/Work"));
    bench.send("http://127.0.0.1:1/000000000000/Work", "1").await;
    assert_eq!(bench.depth("Work").0, 1);
    let list = bench.client.list_queues().queue_name_prefix("Work").send().await.unwrap();
    let names = |urls: &[String]| {
        urls.iter().map(|url| url.rsplit('/').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(list.queue_urls()), ["Work", "WorkDeadLetter"]);
    let mut pages = bench.client.list_queues().max_results(4).into_paginator().send();
    let mut all = Vec::new();
    while let Some(page) = pages.next().await {
        all.extend(names(page.unwrap().queue_urls()));
    }
    assert_eq!(all, bench.queues.names());
    let sources = bench.client.list_dead_letter_source_queues().queue_url("WorkDeadLetter");
    assert_eq!(names(sources.send().await.unwrap().queue_urls()), ["Work"]);
}

#[tokio::test]
async fn a_purge_takes_all_also_what_is_in_flight() {
    let bench = bench();
    bench.send_to_group("g", "1").await;
    bench.send_to_group("h", "2").await;
    let receive = bench.client.receive_message().queue_url("Events.fifo");
    receive.send().await.unwrap();
    bench.client.purge_queue().queue_url("Events.fifo").send().await.unwrap();
    assert_eq!(bench.depth("Events.fifo"), (0, 0, 0));
    bench.send_to_group("g", "3").await;
    assert_eq!(bench.bodies("Events.fifo").await, ["3"]);
}
