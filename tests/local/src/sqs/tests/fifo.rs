//! FIFO queues: order, groups, deduplication.

use super::*;

#[tokio::test]
async fn a_group_keeps_its_order_and_waits_for_what_is_in_flight() {
    let bench = bench();
    for body in ["a1", "b1", "a2"] {
        bench.send_to_group(body.get(..1).unwrap(), body).await;
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
