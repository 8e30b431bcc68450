//! Dead letters, and their way back.

use MessageSystemAttributeName as Name;

use super::*;

/// Lets a message be received as often as it may be.
async fn wear_out(bench: &Bench, queue: &str) {
    for _ in 0..2 {
        assert!(!bench.receive(queue).await.is_empty());
        bench.pass_s(30);
    }
}

#[tokio::test]
async fn what_was_received_too_often_goes_to_the_dead_letters() {
    let bench = bench();
    bench.send("Work", "1").await;
    wear_out(&bench, "Work").await;
    bench.send("Work", "2").await;
    assert_eq!(bench.bodies("Work").await, ["2"]);
    let dead = bench.receive("WorkDeadLetter").await;
    assert_eq!(bodies(&dead), ["1"]);
    assert_eq!(attribute(&dead[0], &Name::ApproximateReceiveCount), "3", "of all queues");
    let source = attribute(&dead[0], &Name::DeadLetterQueueSourceArn);
    assert_eq!(source, "arn:aws:sqs:us-east-1:000000000000:Work");
}

#[tokio::test]
async fn a_dead_letter_of_a_standard_queue_keeps_its_age() {
    let bench = bench();
    bench.send("Work", "1").await;
    let sent_ms = bench.clock.now().as_millis().to_string();
    wear_out(&bench, "Work").await;
    bench.receive("Work").await;
    let dead = bench.receive("WorkDeadLetter").await;
    assert_eq!(attribute(&dead[0], &Name::SentTimestamp), sent_ms);
    bench.pass_s(7200 - 60);
    assert_eq!(bench.depth("WorkDeadLetter"), (0, 0, 0));
}

#[tokio::test]
async fn a_dead_letter_of_a_fifo_queue_is_sent_anew_and_keeps_its_group() {
    let bench = bench();
    bench.send_to_group("g", "1").await;
    wear_out(&bench, "Events.fifo").await;
    bench.send_to_group("g", "2").await;
    bench.send_to_group("h", "3").await;
    let received = bench.receive("Events.fifo").await;
    assert_eq!(bodies(&received), ["2", "3"], "what comes behind is free");
    let dead = bench.receive("EventsDeadLetter.fifo").await;
    assert_eq!(bodies(&dead), ["1"]);
    let moved_ms = bench.clock.now().as_millis().to_string();
    assert_eq!(attribute(&dead[0], &Name::SentTimestamp), moved_ms);
    assert_eq!(attribute(&dead[0], &Name::MessageGroupId), "g");
    let id = attribute(&dead[0], &Name::MessageDeduplicationId);
    assert_eq!(Some(id.as_str()), dead[0].message_id(), "so that none is taken for another");
}

#[tokio::test]
async fn a_long_line_of_worn_out_messages_does_not_hide_the_next() {
    let bench = bench();
    for n in 0..15 {
        bench.send("Work", &format!("{n}")).await;
        bench.send_to_group("g", &format!("{n}")).await;
    }
    for _ in 0..2 {
        for queue in ["Work", "Events.fifo"] {
            assert_eq!(bench.queues.receive(queue, 15).unwrap().len(), 15);
        }
        bench.pass_s(30);
    }
    bench.send("Work", "next").await;
    bench.send_to_group("g", "next").await;
    assert_eq!(bench.bodies("Work").await, ["next"]);
    assert_eq!(bench.bodies("Events.fifo").await, ["next"]);
    assert_eq!(bench.depth("WorkDeadLetter"), (15, 0, 0));
    let dead = bench.queues.receive("EventsDeadLetter.fifo", 15).unwrap();
    let dead: Vec<u32> = dead.iter().map(|message| message.body.parse().unwrap()).collect();
    assert_eq!(dead, (0..15).collect::<Vec<u32>>());
}

#[tokio::test]
async fn dead_letters_go_back_where_they_came_from_as_new_messages() {
    let bench = bench();
    bench.send_to_group("g", "1").await;
    bench.send_to_group("g", "2").await;
    let first = bench.receive("Events.fifo").await;
    bench.pass_s(30);
    assert_eq!(bench.bodies("Events.fifo").await, ["1", "2"]);
    bench.pass_s(30);
    assert!(bench.bodies("Events.fifo").await.is_empty());
    assert_eq!(bench.depth("EventsDeadLetter.fifo"), (2, 0, 0));
    let source = "arn:aws:sqs:us-east-1:000000000000:EventsDeadLetter.fifo";
    let task = bench.client.start_message_move_task().source_arn(source);
    task.send().await.unwrap();
    assert_eq!(bench.depth("EventsDeadLetter.fifo"), (0, 0, 0));
    let back = bench.receive("Events.fifo").await;
    assert_eq!(bodies(&back), ["1", "2"]);
    assert_ne!(back[0].message_id(), first[0].message_id());
    assert_eq!(attribute(&back[0], &Name::ApproximateReceiveCount), "1");
    assert!(!back[0].attributes().unwrap().contains_key(&Name::DeadLetterQueueSourceArn));
}

#[tokio::test]
async fn dead_letters_can_go_elsewhere_and_what_is_in_flight_stays() {
    let bench = bench();
    bench.send("WorkDeadLetter", "by hand").await;
    bench.send("WorkDeadLetter", "2").await;
    let receive = bench.client.receive_message().queue_url("WorkDeadLetter");
    receive.send().await.unwrap();
    let start = async |destination: Option<&str>| {
        let arn = |name: &str| format!("arn:aws:sqs:us-east-1:000000000000:{name}");
        let task = bench.client.start_message_move_task().source_arn(arn("WorkDeadLetter"));
        task.set_destination_arn(destination.map(arn)).send().await
    };
    start(None).await.unwrap();
    assert_eq!(bench.depth("WorkDeadLetter"), (1, 1, 0), "2 came from nowhere");
    start(Some("Slow")).await.unwrap();
    assert_eq!(bench.depth("WorkDeadLetter"), (0, 1, 0));
    assert_eq!(bench.bodies("Slow").await, ["2"]);
    let missing = start(Some("None")).await.unwrap_err().into_service_error();
    assert!(missing.is_resource_not_found_exception(), "{missing:?}");
}
