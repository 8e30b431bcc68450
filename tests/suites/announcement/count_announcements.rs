//! Stream → counts: what records lead to, whenever and however often they come.

use announcement::{TABLE, keys};
use local::faults::Fault;
use platform::table::{Key, n};
use serde_json::json;
use suites::World;
use suites::gate::Gate;

use crate::announcements::{
    announced, body, count, favor, get, hand_over, id, meta, put, run, unfavor,
};

/// Adds to a stripe, past the functions.
async fn add(world: &World, key: &Key, attributes: &[(&str, i64)]) {
    let names: Vec<String> =
        attributes.iter().map(|(name, _)| format!("#{name} :{name}")).collect();
    let mut add = world.cloud.client().update_item().table_name(TABLE.default);
    for (name, by) in attributes {
        add = add.expression_attribute_names(format!("#{name}"), *name);
        add = add.expression_attribute_values(format!(":{name}"), n(by));
    }
    let add = add.set_key(Some(key.clone().into_item()));
    add.update_expression(format!("ADD {}", names.join(", "))).send().await.expect("a write");
}

fn favorites(name: &str, stripe: u32) -> Key {
    keys::favorites(&id(name), stripe)
}

fn views(name: &str, stripe: u32) -> Key {
    keys::views(&id(name), stripe)
}

#[tokio::test]
async fn the_same_window_may_come_twice_late_or_in_part() {
    let world = World::start().await;
    announced(&world, "r").await;
    let mut windows = Vec::new();
    for (stripe, by) in [(3, 1), (5, 1), (3, -1), (9, 1)] {
        add(&world, &favorites("r", stripe), &[("held", by), ("changes", 1)]).await;
        add(&world, &views("r", 0), &[("views", 4)]).await;
        windows.push(vec![favorites("r", stripe), views("r", 0), favorites("r", stripe)]);
    }
    for window in [3, 0, 0, 1, 2, 3, 1] {
        assert!(hand_over(&world, &windows[window][..1]).await.is_empty());
        assert!(hand_over(&world, &windows[window]).await.is_empty());
        let meta = meta(&world, "r").await;
        assert_eq!((meta.favorites, meta.views, meta.version), (2, 16, 1));
    }
}

#[tokio::test]
async fn favorites_that_go_and_come_are_those_that_are_there_last() {
    let world = World::start().await;
    announced(&world, "r").await;
    let me = world.as_member("m1");
    for round in 0..4 {
        favor(&me, "r").await.expect(204);
        count(&world).await;
        assert_eq!(meta(&world, "r").await.favorites, 1, "{round}");
        unfavor(&me, "r").await.expect(204);
        count(&world).await;
        assert_eq!(meta(&world, "r").await.favorites, 0, "{round}");
    }
    assert_eq!(meta(&world, "r").await.favorite_changes, 8);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn instances_at_once_end_with_what_is_there_last() {
    let world = World::start().await;
    announced(&world, "r").await;
    let mut held = 0;
    for round in 0..30_u32 {
        let by = if round % 3 == 2 { -1 } else { 1 };
        held += by;
        let keys = [favorites("r", round % 7), views("r", 0)];
        let by_one = [("held", by), ("changes", 1)];
        let change = add(&world, &keys[0], &by_one);
        let (_, one, other) =
            tokio::join!(change, hand_over(&world, &keys), hand_over(&world, &keys[..1]));
        assert!(one.is_empty() && other.is_empty());
        let (one, other) = tokio::join!(hand_over(&world, &keys), hand_over(&world, &keys));
        assert!(one.is_empty() && other.is_empty());
        let meta = meta(&world, "r").await;
        assert_eq!(i64::try_from(meta.favorites).unwrap(), held, "round {round}");
    }
}

#[tokio::test(start_paused = true)]
async fn counts_that_come_late_turn_nothing_back() {
    for (key, attributes) in [
        (favorites("r", 0), &[("held", 1), ("changes", 1)][..]),
        (views("r", 0), &[("views", 1)][..]),
    ] {
        let gate = Gate::default();
        let world = World::behind(&gate).await;
        announced(&world, "r").await;
        let add_up = async || add(&world, &key, attributes).await;
        let window = std::slice::from_ref(&key);
        add_up().await;
        let overtake = async {
            add_up().await;
            assert!(hand_over(&world, window).await.is_empty());
        };
        let late = gate.overtaken(("UpdateItem", 1), hand_over(&world, window), overtake).await;
        assert!(late.is_empty(), "it has nothing more to do");
        let meta = meta(&world, "r").await;
        assert_eq!(meta.favorites + meta.views, 2, "{key:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_failed_is_named_and_comes_again() {
    let world = World::start().await;
    let mut records = Vec::new();
    for n in 0..10 {
        let name = format!("a-{n}");
        announced(&world, &name).await;
        add(&world, &favorites(&name, 0), &[("held", 1), ("changes", 1)]).await;
        records.push(favorites(&name, 0));
    }
    world.faults.next("UpdateItem", &Fault::Rejected, 3);
    let failures = hand_over(&world, &records).await;
    assert_eq!(failures.len(), 3);
    for (n, _) in records.iter().enumerate() {
        let favorites = meta(&world, &format!("a-{n}")).await.favorites;
        let named = failures.contains(&(1_000 + n).to_string());
        assert_eq!(favorites, u64::from(!named));
    }
    for fault in [Fault::Throttled, Fault::ServerError, Fault::LostRequest, Fault::LostAnswer] {
        for operation in ["UpdateItem", "BatchGetItem"] {
            add(&world, &favorites("a-0", 1), &[("held", 1), ("changes", 1)]).await;
            world.faults.next(operation, &fault, 2);
            assert!(hand_over(&world, &records).await.is_empty(), "{fault:?}");
        }
    }
    let sum = meta(&world, "a-0").await.favorites;
    assert_eq!((sum, meta(&world, "a-9").await.favorites), (9, 1));
}

#[tokio::test]
async fn records_of_nothing_that_counts_are_passed_over() {
    let world = World::start().await;
    announced(&world, "r").await;
    add(&world, &views("r", 0), &[("views", 1)]).await;
    let odd = [
        Key::new("ANNOUNCEMENT#r", "META"),
        Key::new("ANNOUNCEMENT##VIEWS#0", "VIEWS"),
        Key::new("MEMBER#m1", "FAVORITES"),
        views("none", 0),
        views("r", 0),
    ];
    assert!(hand_over(&world, &odd).await.is_empty());
    assert_eq!(meta(&world, "r").await.views, 1);
}

#[tokio::test]
async fn only_stripes_reach_it_by_the_template() {
    let world = World::start().await;
    announced(&world, "r").await;
    put(&world, "r", body("Flats")).await.expect(200);
    run(&world, "refresh-home").await;
    count(&world).await;
    let status = world.cloud.status();
    assert_eq!(status["functions"]["count-announcements"]["requests"], 0);
    favor(&world.as_member("m1"), "r").await.expect(204);
    get(&world.as_nobody(), "r").await.expect(200);
    count(&world).await;
    let function = world.cloud.status()["functions"]["count-announcements"].clone();
    assert_eq!(function["requests"], 1, "both in one window, and its own writes tell nothing");
    assert_eq!(function["actions"]["Announcement UpdateItem"], json!(2));
    let meta = meta(&world, "r").await;
    assert_eq!((meta.favorites, meta.views), (1, 1));
}

#[tokio::test]
async fn one_that_everybody_reads_gets_more_stripes() {
    let world = World::with_environments(1).await;
    announced(&world, "r").await;
    add(&world, &views("r", 0), &[("views", 10)]).await;
    hand_over(&world, &[views("r", 0)]).await;
    world.clock.advance(1_000);
    add(&world, &views("r", 0), &[("views", 600)]).await;
    hand_over(&world, &[views("r", 0)]).await;
    assert_eq!(meta(&world, "r").await.view_stripes, 8);
    for _ in 0..100 {
        get(&world.as_nobody(), "r").await.expect(200);
    }
    count(&world).await;
    assert_eq!(meta(&world, "r").await.views, 710);
}
