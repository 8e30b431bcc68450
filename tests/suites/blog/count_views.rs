//! Stream → ranking: what records lead to, whenever and however often they come.

use blog::keys;
use local::faults::Fault;
use serde_json::json;
use suites::World;

use crate::posts::{
    add, count, hand_over, indexed, item, items, meta, popular, published, record, set_status,
    stripes, view, viewed,
};

async fn views(world: &World, id: &str) -> u64 {
    meta(world, id).await.expect("the post is there").views
}

#[tokio::test]
async fn the_views_of_a_post_are_the_sum_of_its_stripes() {
    let world = World::start().await;
    let id = published(&world, "Hello").await;
    view(&world, &id, 25).await;
    assert_eq!(views(&world, &id).await, 0);
    count(&world).await;
    assert_eq!(views(&world, &id).await, 25);
    assert_eq!(stripes(&world, &id).await.into_values().collect::<Vec<_>>(), [25]);
    assert_eq!(meta(&world, &id).await.unwrap().version, 1, "a view is no change");
}

#[tokio::test]
async fn a_window_waits_for_two_seconds_and_writes_a_post_once() {
    let world = World::start().await;
    let id = published(&world, "Hello").await;
    view(&world, &id, 50).await;
    world.settle().await;
    world.clock.advance(1_999);
    world.settle().await;
    assert_eq!(views(&world, &id).await, 0);
    world.clock.advance(1);
    world.settle().await;
    assert_eq!(views(&world, &id).await, 50);
    let status = world.cloud.status();
    let function = &status["functions"]["count-views"];
    assert_eq!(
        (&function["requests"], &function["actions"]["Blog UpdateItem"]),
        (&json!(1), &json!(1))
    );
}

#[tokio::test]
async fn the_same_window_may_come_twice_late_or_in_part() {
    let world = World::start().await;
    let id = published(&world, "Hello").await;
    let other = published(&world, "Other").await;
    let mut windows = Vec::new();
    for window in 0..3_usize {
        add(&world, &id, 0, 4).await;
        add(&world, &other, 0, 1).await;
        let records = (0..5).map(|n| {
            let post = if n == 4 { &other } else { &id };
            viewed(window * 5 + n, post, 0, 1_893_456_000)
        });
        windows.push(records.collect::<Vec<_>>());
    }
    for window in [2, 0, 0, 1, 2, 1] {
        let part = &windows[window][..3];
        assert!(hand_over(&world, part).await.is_empty());
        assert!(hand_over(&world, &windows[window]).await.is_empty());
        assert_eq!((views(&world, &id).await, views(&world, &other).await), (12, 3));
    }
    assert_eq!(popular(&world).await, [(id, 12), (other, 3)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_instances_at_once_agree() {
    let world = World::start().await;
    let mut ids = Vec::new();
    for n in 0..5 {
        ids.push(published(&world, &format!("Post {n}")).await);
    }
    for round in 1..=10 {
        for id in &ids {
            add(&world, id, 0, 1).await;
        }
        let records: Vec<_> = ids.iter().enumerate().map(|(n, id)| viewed(n, id, 0, 0)).collect();
        let reversed: Vec<_> = records.iter().rev().cloned().collect();
        let (one, other, third) = tokio::join!(
            hand_over(&world, &records),
            hand_over(&world, &reversed),
            hand_over(&world, &records[2..]),
        );
        assert!(one.is_empty() && other.is_empty() && third.is_empty());
        for id in &ids {
            assert_eq!(views(&world, id).await, round);
        }
    }
    assert_eq!(indexed(&world).await, (5, 5));
}

#[tokio::test]
async fn a_draft_keeps_count_and_no_place_in_the_ranking() {
    let world = World::start().await;
    let author = world.as_member("m1");
    let id = published(&world, "Hello").await;
    view(&world, &id, 3).await;
    set_status(&author, &id, "DRAFT").await.expect(200);
    count(&world).await;
    assert_eq!((views(&world, &id).await, indexed(&world).await), (3, (0, 0)));
    let attributes = item(&world, keys::meta(id.parse().unwrap())).await.unwrap();
    assert!(!attributes.keys().any(|name| name.starts_with("index")), "{attributes:?}");
    set_status(&author, &id, "PUBLISHED").await.expect(200);
    assert_eq!(popular(&world).await, [(id, 3)]);
}

#[tokio::test(start_paused = true)]
async fn a_window_that_is_cut_off_in_the_middle_names_what_must_come_again() {
    let world = World::start().await;
    let mut ids = Vec::new();
    for n in 0..30 {
        ids.push(published(&world, &format!("Post {n}")).await);
    }
    for id in &ids {
        add(&world, id, 0, 2).await;
    }
    let records = ids
        .iter()
        .enumerate()
        .flat_map(|(n, id)| [viewed(2 * n, id, 0, 0), viewed(2 * n + 1, id, 0, 0)]);
    let records: Vec<_> = records.collect();
    // Some of the writes do not arrive, as often as they are sent again.
    world.faults.next("UpdateItem", &Fault::Rejected, 7);
    let failures = hand_over(&world, &records).await;
    assert_eq!(failures.len(), 7);
    let mut right = 0;
    for (n, id) in ids.iter().enumerate() {
        let named = failures.contains(&(1_000 + 2 * n).to_string());
        assert_eq!(views(&world, id).await, if named { 0 } else { 2 });
        right += u32::from(!named);
    }
    assert_eq!(right, 23);
    assert!(hand_over(&world, &records).await.is_empty());
    for id in &ids {
        assert_eq!(views(&world, id).await, 2);
    }
}

#[tokio::test(start_paused = true)]
async fn through_failures_of_every_call_all_is_counted_in_the_end() {
    let world = World::start().await;
    let id = published(&world, "Hello").await;
    let mut sum = 0;
    for operation in ["BatchGetItem", "UpdateItem"] {
        for fault in [Fault::Throttled, Fault::ServerError, Fault::LostRequest, Fault::LostAnswer] {
            add(&world, &id, 0, 3).await;
            sum += 3;
            world.faults.next(operation, &fault, 3);
            assert!(hand_over(&world, &[viewed(0, &id, 0, 0)]).await.is_empty(), "{fault:?}");
            assert_eq!(views(&world, &id).await, sum, "{operation} {fault:?}");
        }
    }
    world.faults.always("UpdateItem", Fault::Throttled);
    world.faults.stop();
    add(&world, &id, 0, 1).await;
    world.faults.always("UpdateItem", Fault::Throttled);
    assert_eq!(hand_over(&world, &[viewed(0, &id, 0, 0)]).await, ["1000"]);
    world.faults.stop();
    assert!(hand_over(&world, &[viewed(0, &id, 0, 0)]).await.is_empty());
    assert_eq!(views(&world, &id).await, sum + 1);
}

#[tokio::test(start_paused = true)]
async fn when_nothing_can_be_read_the_whole_window_comes_again() {
    let world = World::start().await;
    let id = published(&world, "Hello").await;
    view(&world, &id, 2).await;
    world.faults.always("BatchGetItem", Fault::Throttled);
    count(&world).await;
    assert_eq!(views(&world, &id).await, 0);
    world.faults.stop();
    world.clock.advance(60_000);
    world.settle().await;
    assert_eq!(views(&world, &id).await, 2);
}

#[tokio::test]
async fn records_of_nothing_that_counts_are_passed_over() {
    let world = World::start().await;
    let id = published(&world, "Hello").await;
    add(&world, &id, 0, 1).await;
    let odd = platform::table::Key::new("POST#x#VIEWS#y", "VIEWS");
    let body = keys::body(id.parse().unwrap());
    let records = [
        record(0, "INSERT", &odd, 0),
        record(1, "MODIFY", &body, 0),
        viewed(2, &id, 0, 0),
        viewed(3, "01941f29-7c00-7000-8000-000000000001", 5, 0),
    ];
    let before = items(&world).await.len();
    assert!(hand_over(&world, &records).await.is_empty());
    assert_eq!((views(&world, &id).await, items(&world).await.len()), (1, before));
}

#[tokio::test]
async fn changes_of_posts_are_kept_from_count_views_by_the_template() {
    let world = World::start().await;
    let id = published(&world, "Hello").await;
    crate::posts::update(&world.as_member("m1"), &id, json!({ "title": "Bye" })).await.expect(200);
    count(&world).await;
    assert_eq!(world.cloud.status()["functions"]["count-views"]["requests"], 0);
    view(&world, &id, 1).await;
    count(&world).await; // and its own write tells it nothing
    assert_eq!(world.cloud.status()["functions"]["count-views"]["requests"], 1);
}
