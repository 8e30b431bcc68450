//! What a folder keeps.

use super::*;

#[tokio::test]
async fn messages_outlive_the_queues_that_took_them() {
    let folder = tempfile::tempdir().unwrap();
    let bench = bench_in(Some(folder.path()));
    for body in ["1", "2"] {
        bench.send_to_group("g", body).await;
    }
    bench.send_to_group("h", "3").await;
    bench.send("Work", "4").await;
    let receive = bench.client.receive_message().queue_url("Events.fifo");
    let received = receive.send().await.unwrap();
    // As after a crash: nobody closes the file.
    let copy = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let from = entry.unwrap().path();
        std::fs::copy(&from, copy.path().join(from.file_name().unwrap())).unwrap();
    }
    let bench = bench_in(Some(copy.path()));
    assert_eq!(bench.bodies("Work").await, ["4"]);
    assert_eq!(bench.bodies("Events.fifo").await, ["3"], "g is in flight");
    bench.delete("Events.fifo", &received.messages()[0]).await;
    bench.send_to_group("g", "2").await;
    assert_eq!(bench.bodies("Events.fifo").await, ["2"], "and known as a duplicate");
    assert_eq!(bench.depth("Events.fifo"), (0, 2, 0));
}

#[test]
fn a_file_that_is_no_database_is_named() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("sqs.sqlite"), [b'x'; 4096]).unwrap();
    let error = Queues::open(&[], Clock::System, Some(folder.path())).unwrap_err().to_string();
    assert!(error.contains("sqs.sqlite is no database"), "{error}");
}
