//! FIFO queues: order, groups, deduplication, receipts.

use super::*;

#[tokio::test]
async fn a_group_keeps_its_order_and_waits_for_what_is_in_flight() {
    let bench = bench();
    for (group, body) in [("a", "a1"), ("b", "b1"), ("a", "a2")] {
        bench.send_to_group(group, body).await;
    }
    let first = bench.receive("Events.fifo").await;
    assert_eq!(bodies(&first), ["a1", "a2", "b1"]);
    bench.send_to_group("a", "a3").await;
    bench.send_to_group("c", "c1").await;
    assert_eq!(bench.bodies("Events.fifo").await, ["c1"]);
    bench.delete("Events.fifo", &first[0]).await;
    assert!(bench.bodies("Events.fifo").await.is_empty(), "a2 is in flight");
    bench.delete("Events.fifo", &first[1]).await;
    assert_eq!(bench.bodies("Events.fifo").await, ["a3"]);
    bench.pass_s(30);
    assert_eq!(bench.bodies("Events.fifo").await, ["b1", "a3", "c1"]);
}

#[tokio::test]
async fn a_failed_message_comes_again_before_what_was_sent_after_it() {
    let bench = bench();
    for body in ["1", "2", "3"] {
        bench.send_to_group("g", body).await;
    }
    let received = bench.receive("Events.fifo").await;
    bench.delete("Events.fifo", &received[0]).await;
    bench.hide("Events.fifo", &received[1], 0).await;
    assert!(bench.bodies("Events.fifo").await.is_empty(), "3 is in flight");
    bench.hide("Events.fifo", &received[2], 5).await;
    bench.pass_s(4);
    assert!(bench.bodies("Events.fifo").await.is_empty());
    let next = bench.queues.next_visible_at("Events.fifo").unwrap();
    assert_eq!(next, bench.clock.now().plus_millis(1000));
    bench.pass_s(1);
    assert_eq!(bench.bodies("Events.fifo").await, ["2", "3"]);
    assert_eq!(bench.queues.next_visible_at("Events.fifo"), Some(next.plus_millis(30_000)));
}

#[tokio::test]
async fn a_message_says_its_group_its_number_and_how_often_it_was_received() {
    let bench = bench();
    bench.send_to_group("g", "1").await;
    bench.send_to_group("h", "2").await;
    let start_ms = bench.clock.now().as_millis().to_string();
    bench.pass_s(1);
    let first_ms = bench.clock.now().as_millis().to_string();
    bench.receive("Events.fifo").await;
    bench.pass_s(30);
    let messages = bench.receive("Events.fifo").await;
    use MessageSystemAttributeName as Name;
    let of = |name| attribute(&messages[0], &name);
    assert_eq!(of(Name::MessageGroupId), "g");
    assert_eq!(of(Name::MessageDeduplicationId), "1");
    assert_eq!(of(Name::SentTimestamp), start_ms);
    assert_eq!(of(Name::ApproximateFirstReceiveTimestamp), first_ms);
    assert_eq!(of(Name::ApproximateReceiveCount), "2");
    assert!(of(Name::SequenceNumber) < attribute(&messages[1], &Name::SequenceNumber));
}

#[tokio::test]
async fn a_duplicate_is_accepted_for_five_minutes_and_not_delivered() {
    let bench = bench();
    let first = bench.send_content("hello").await;
    bench.pass_s(10);
    let received = bench.receive("Content.fifo").await;
    bench.delete("Content.fifo", &received[0]).await;
    bench.pass_s(289);
    assert_eq!(bench.send_content("hello").await, first);
    assert_eq!(bench.depth("Content.fifo"), (0, 0, 0));
    assert_ne!(bench.send_content("other").await, first);
    bench.pass_s(1);
    assert_ne!(bench.send_content("hello").await, first);
    assert_eq!(bench.depth("Content.fifo"), (0, 0, 2));
}

#[tokio::test]
async fn the_scope_of_a_duplicate_is_the_queue_or_the_group() {
    let bench = bench();
    let send = async |queue: &str, group: &str| {
        let send = bench.client.send_message().queue_url(queue).message_body(group);
        let send = send.message_group_id(group).message_deduplication_id("same");
        send.send().await.unwrap()
    };
    let (first, second) = (send("Events.fifo", "a").await, send("Events.fifo", "b").await);
    assert_ne!(first.message_id, second.message_id);
    assert_eq!(bench.depth("Events.fifo").0, 2);
    let (first, second) = (send("Content.fifo", "a").await, send("Content.fifo", "b").await);
    assert_eq!(first.message_id, second.message_id);
    assert_eq!(first.sequence_number, second.sequence_number);
    assert_eq!(bench.depth("Content.fifo"), (0, 0, 1));
}

#[tokio::test]
async fn a_receipt_is_refused_once_its_time_is_over() {
    let bench = bench();
    bench.send_to_group("g", "1").await;
    let old = bench.receive("Events.fifo").await.remove(0);
    bench.pass_s(30);
    let refused = async |message: &Message| {
        let handle = message.receipt_handle().unwrap();
        let request = json!({ "QueueUrl": "Events.fifo", "ReceiptHandle": handle });
        let mut hide = request.clone();
        hide["VisibilityTimeout"] = json!(10);
        [
            bench.refusal("DeleteMessage", request).await,
            bench.refusal("ChangeMessageVisibility", hide).await,
        ]
    };
    assert_eq!(refused(&old).await, ["InvalidParameterValue"; 2]);
    let new = bench.receive("Events.fifo").await.remove(0);
    assert_eq!(refused(&old).await, ["InvalidParameterValue"; 2], "somebody else holds it");
    bench.delete("Events.fifo", &new).await;
    bench.delete("Events.fifo", &new).await;
    assert_eq!(bench.depth("Events.fifo"), (0, 0, 0));
}

#[tokio::test]
async fn a_queue_that_delays_delays_every_message_and_keeps_the_order() {
    let bench = bench();
    bench.send_content("1").await;
    bench.pass_s(5);
    bench.send_content("2").await;
    assert_eq!(bench.depth("Content.fifo"), (0, 0, 2));
    bench.pass_s(5);
    let first = bench.receive("Content.fifo").await;
    assert_eq!(bodies(&first), ["1"]);
    bench.pass_s(5);
    assert!(bench.bodies("Content.fifo").await.is_empty(), "1 is in flight");
    bench.delete("Content.fifo", &first[0]).await;
    assert_eq!(bench.bodies("Content.fifo").await, ["2"]);
}

#[tokio::test]
async fn an_attempt_with_an_id_gets_the_same_messages_again() {
    let bench = bench();
    bench.send_to_group("g", "1").await;
    let attempt = async |id: &str| {
        let receive = bench.client.receive_message().queue_url("Events.fifo");
        let received = receive.receive_request_attempt_id(id).send().await.unwrap();
        received.messages.unwrap_or_default()
    };
    let first = attempt("a").await;
    bench.pass_s(20);
    assert_eq!(attempt("b").await, []);
    assert_eq!(attempt("a").await, first);
    bench.pass_s(20);
    assert_eq!(bench.depth("Events.fifo"), (0, 1, 0), "hidden anew");
    bench.delete("Events.fifo", &first[0]).await;
    bench.send_to_group("g", "2").await;
    assert_eq!(bodies(&attempt("a").await), ["2"]);
}

#[tokio::test]
async fn a_batch_of_groups_gives_each_message_once_to_many_receivers() {
    let bench = bench();
    for n in 0..40 {
        bench.send_to_group(&format!("g{}", n % 8), &format!("{n:02}")).await;
    }
    let mut seen = Vec::new();
    while bench.depth("Events.fifo") != (0, 0, 0) {
        let batches = (0..4).map(|_| bench.receive("Events.fifo"));
        for batch in futures_util::future::join_all(batches).await {
            for message in batch {
                let group = attribute(&message, &MessageSystemAttributeName::MessageGroupId);
                seen.push((group, message.body().unwrap().to_owned()));
                bench.delete("Events.fifo", &message).await;
            }
        }
    }
    assert_eq!(seen.len(), 40);
    let mut in_order = seen.clone();
    in_order.sort();
    seen.sort_by_key(|(group, _)| group.clone());
    assert_eq!(seen, in_order, "each group in its order");
}

#[tokio::test]
async fn what_is_hidden_for_no_time_is_visible_at_once() {
    let bench = bench();
    bench.send_to_group("g", "1").await;
    for _ in 0..2 {
        let receive = bench.client.receive_message().queue_url("Events.fifo");
        let received = receive.visibility_timeout(0).send().await.unwrap();
        assert_eq!(bodies(received.messages()), ["1"]);
    }
}
