//! Schedules: when a function runs, and with what.

use super::*;

const RULE: &str = "{ Type: Schedule, Properties: { Schedule: rate(5 minutes) } }";

#[tokio::test]
async fn a_schedule_runs_each_time_that_its_rate_is_due() {
    let bench = Bench::new(&[RULE]);
    assert_eq!(bench.cloud.settle().await.batches, 0);
    bench.clock.advance(299_999);
    assert_eq!(bench.cloud.settle().await.batches, 0);
    bench.clock.advance(1);
    assert_eq!(bench.cloud.settle().await.batches, 1);
    assert_eq!(bench.cloud.settle().await.batches, 0);
    bench.clock.advance(300_000);
    assert_eq!(bench.cloud.settle().await.batches, 1);
    let events = bench.events();
    let times: Vec<_> = events.iter().map(|event| event["time"].as_str().unwrap()).collect();
    assert_eq!(times, ["2030-01-01T00:05:00Z", "2030-01-01T00:10:00Z"]);
}

#[tokio::test]
async fn a_run_that_is_late_is_run_once() {
    let bench = Bench::new(&[RULE]);
    bench.clock.advance(3 * 3_600_000 + 1);
    assert_eq!(bench.cloud.settle().await.batches, 1);
    bench.clock.advance(300_000 - 2);
    assert_eq!(bench.cloud.settle().await.batches, 0);
    bench.clock.advance(1);
    assert_eq!(bench.cloud.settle().await.batches, 1);
}

#[tokio::test]
async fn a_run_that_fails_is_made_up_for_by_the_next() {
    let bench = Bench::new(&[RULE]);
    bench.fails();
    bench.clock.advance(300_000);
    let settled = bench.cloud.settle().await;
    assert_eq!((settled.batches, settled.failures), (1, 1));
    bench.succeeds();
    bench.clock.advance(300_000);
    assert_eq!(bench.cloud.settle().await.failures, 0);
    assert_eq!(bench.counts("work Event0")["batches"], 2);
}

#[tokio::test]
async fn the_event_is_that_of_a_rule_of_the_scheduler_or_of_the_template() {
    let scheduler = "{ Type: ScheduleV2, Properties: { ScheduleExpression: rate(5 minutes) } }";
    let input = "{ Type: ScheduleV2, Properties: { ScheduleExpression: rate(5 minutes), \
                 Input: '{\"a\": 1}' } }";
    let bench = Bench::new(&[RULE, scheduler, input]);
    bench.clock.advance(300_000);
    bench.cloud.settle().await;
    let mut events = bench.events();
    events.sort_by_key(|event| event["source"].to_string());
    let [rule, scheduler, input] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!(*input, json!({ "a": 1 }));
    for (event, source, detail, resource) in [
        (rule, "aws.events", json!({}), "rule/hotseat-Event0"),
        (scheduler, "aws.scheduler", json!("{}"), "schedule/default/hotseat-Event1"),
    ] {
        assert_eq!((&event["source"], &event["detail"]), (&json!(source), &detail));
        assert_eq!(event["detail-type"], "Scheduled Event");
        assert!(event["resources"][0].as_str().unwrap().ends_with(resource), "{event}");
    }
}

#[tokio::test]
async fn a_schedule_that_was_due_while_the_cloud_was_down_runs_when_it_is_back() {
    let folder = tempfile::tempdir().unwrap();
    drop(Bench::in_folder(folder.path(), &[RULE]));
    let bench = Bench::in_folder(folder.path(), &[RULE]);
    bench.clock.advance(300_000);
    assert_eq!(bench.cloud.settle().await.batches, 1);
    drop(bench);
    let bench = Bench::in_folder(folder.path(), &[RULE]);
    bench.clock.advance(300_000);
    assert_eq!(bench.cloud.settle().await.batches, 1);
    bench.clock.advance(300_000);
    assert_eq!(bench.cloud.settle().await.batches, 1);
}
