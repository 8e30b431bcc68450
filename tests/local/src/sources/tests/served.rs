//! Sources of a cloud that is served: they run by themselves.

use super::*;

const STREAM: &str = "{ Type: DynamoDB, Properties: { Stream: !GetAtt ThingsTable.StreamArn, \
    StartingPosition: TRIM_HORIZON } }";
const QUEUE: &str = "{ Type: SQS, Properties: { Queue: !GetAtt PlainQueue.Arn } }";

#[tokio::test]
async fn what_is_written_or_sent_reaches_the_function_by_itself() {
    let bench = Bench::new(&[STREAM, QUEUE]);
    let served = bench.cloud.serve(0).await.unwrap();
    bench.put("a", 1).await;
    bench.handed(1).await;
    bench.send("Plain", None, "1").await;
    bench.handed(2).await;
    bench.put("a", 2).await;
    bench.handed(3).await;
    served.stop().await;
    assert_eq!(bench.batches("/eventSource"), [["aws:dynamodb"], ["aws:sqs"], ["aws:dynamodb"]]);
    assert_eq!(bench.lag()["records"], 0);
    assert_eq!(bench.depth("Plain"), (0, 0));
}

#[tokio::test]
async fn a_retry_is_made_once_the_clock_allows_it() {
    let bench = Bench::new(&[STREAM]);
    bench.fails();
    let served = bench.cloud.serve(0).await.unwrap();
    bench.put("a", 1).await;
    bench.handed(1).await;
    bench.succeeds();
    bench.clock.advance(1_000);
    bench.handed(2).await;
    served.stop().await;
    assert_eq!(bench.lag()["records"], 0);
}

#[tokio::test]
async fn once_stopped_nothing_is_handed_over_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::in_folder(folder.path(), &[STREAM]);
    let served = bench.cloud.serve(0).await.unwrap();
    bench.put("a", 1).await;
    bench.handed(1).await;
    served.stop().await;
    bench.put("a", 2).await;
    drop(bench);
    let bench = Bench::in_folder(folder.path(), &[STREAM]);
    bench.cloud.settle().await;
    assert_eq!(bench.batches("/dynamodb/NewImage/n/N"), [["2"]], "what ran was saved");
}

#[tokio::test]
async fn paused_sources_wait_until_they_are_asked() {
    let bench = Bench::with(&[STREAM], Options { events: false, ..Options::default() });
    let served = bench.cloud.serve(0).await.unwrap();
    bench.put("a", 1).await;
    served.stop().await;
    assert_eq!(bench.events(), [] as [Value; 0]);
    assert_eq!(bench.lag()["records"], 1);
    assert_eq!(bench.cloud.settle().await.batches, 1);
}
