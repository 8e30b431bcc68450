//! Stripes grow for a hot post and never for a cold one.

use suites::World;

use crate::posts::{
    add, count, fill, get, hand_over, items, meta, published, stripes, view, viewed,
};

#[tokio::test]
async fn posts_that_nobody_reads_have_no_counters() {
    let world = World::start().await;
    fill(&world, 0, 300).await;
    let listed = world.as_nobody().list("/posts", 100).await;
    world.as_nobody().get("/posts/popular").await.expect(200);
    assert_eq!(items(&world).await.len(), 600, "a post is two items");
    for item in listed.iter().step_by(30) {
        get(&world.as_nobody(), item["id"].as_str().unwrap()).await.expect(200);
    }
    count(&world).await;
    assert_eq!(items(&world).await.len(), 610, "a counter for each that was read");
    for item in &listed {
        let post = meta(&world, item["id"].as_str().unwrap()).await.unwrap();
        assert_eq!(post.view_stripes, 1);
    }
}

#[tokio::test]
async fn a_post_that_is_read_now_and_then_keeps_one_stripe() {
    let world = World::with_environments(1).await;
    let id = published(&world, "Hello").await;
    for _ in 0..10 {
        view(&world, &id, 100).await;
        world.clock.advance(1_000);
        world.settle().await;
    }
    count(&world).await;
    let post = meta(&world, &id).await.unwrap();
    assert_eq!((post.views, post.view_stripes), (1_000, 1));
}

#[tokio::test]
async fn a_post_that_everybody_reads_gets_more_and_its_readers_use_them() {
    let world = World::with_environments(1).await;
    let id = published(&world, "Hello").await;
    view(&world, &id, 10).await;
    hand_over(&world, &[viewed(0, &id, 0, 0)]).await;
    world.clock.advance(1_000);
    view(&world, &id, 600).await; // within a second
    hand_over(&world, &[viewed(1, &id, 0, 0)]).await;
    let post = meta(&world, &id).await.unwrap();
    assert_eq!((post.views, post.view_stripes, post.version), (610, 8, 1));
    assert_eq!(stripes(&world, &id).await.len(), 1);
    count(&world).await; // lets the cached post go
    view(&world, &id, 200).await;
    assert_eq!(stripes(&world, &id).await.len(), 8);
    count(&world).await;
    assert_eq!(meta(&world, &id).await.unwrap().views, 810);
}

/// A post that was counted now, with one view.
async fn counted(world: &World) -> String {
    let id = published(world, "Hello").await;
    view(world, &id, 1).await;
    hand_over(world, &[viewed(0, &id, 0, 0)]).await;
    id
}

#[tokio::test]
async fn several_hot_posts_grow_though_each_batch_holds_few_views_of_each() {
    let world = World::start().await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(counted(&world).await);
    }
    for _ in 0..8 {
        world.clock.advance(250); // a batch of a thousand at 4,000 a second
        for id in &ids {
            add(&world, id, 0, 160).await;
        }
        let records: Vec<_> = ids.iter().enumerate().map(|(n, id)| viewed(n, id, 0, 0)).collect();
        hand_over(&world, &records).await;
    }
    for id in &ids {
        let post = meta(&world, id).await.unwrap();
        assert_eq!((post.views, post.view_stripes), (8 * 160 + 1, 8), "640 a second");
    }
}

#[tokio::test]
async fn the_same_window_again_makes_nothing_grow_again() {
    let world = World::start().await;
    let id = counted(&world).await;
    let window: Vec<_> = (0..900).map(|n| viewed(n, &id, 0, 0)).collect();
    world.clock.advance(1_000);
    add(&world, &id, 0, 900).await;
    for _ in 0..3 {
        assert!(hand_over(&world, &window).await.is_empty());
        assert_eq!(meta(&world, &id).await.unwrap().view_stripes, 16);
        world.clock.advance(1);
    }
    for wanted in [64, 64] {
        world.clock.advance(1_000);
        add(&world, &id, 7, 64 * 260).await;
        hand_over(&world, &[viewed(0, &id, 7, 0)]).await;
        assert_eq!(meta(&world, &id).await.unwrap().view_stripes, wanted, "and no more than that");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn instances_that_want_more_at_once_make_it_grow_once() {
    let world = World::start().await;
    let id = counted(&world).await;
    world.clock.advance(1_000);
    add(&world, &id, 0, 300).await;
    let window: Vec<_> = (0..300).map(|n| viewed(n, &id, 0, 0)).collect();
    futures_util::future::join_all((0..8).map(|_| hand_over(&world, &window))).await;
    let post = meta(&world, &id).await.unwrap();
    assert_eq!((post.views, post.view_stripes), (301, 4));
}
