//! Stripes grow for a hot post and never for a cold one.

use suites::World;

use crate::posts::{count, fill, get, hand_over, items, meta, published, stripes, view, viewed};

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
    view(&world, &id, 600).await; // within a second
    count(&world).await;
    let post = meta(&world, &id).await.unwrap();
    assert_eq!((post.views, post.view_stripes, post.version), (600, 8, 1));
    assert_eq!(stripes(&world, &id).await.len(), 1);
    view(&world, &id, 200).await; // count() let the cached post go
    assert_eq!(stripes(&world, &id).await.len(), 8);
    count(&world).await;
    assert_eq!(meta(&world, &id).await.unwrap().views, 800);
}

#[tokio::test]
async fn the_same_window_again_makes_nothing_grow_again() {
    let world = World::start().await;
    let id = published(&world, "Hello").await;
    let at_s = world.clock.now().as_seconds();
    let window: Vec<_> = (0..900).map(|n| viewed(n, &id, 0, at_s)).collect();
    for _ in 0..3 {
        assert!(hand_over(&world, &window).await.is_empty());
        assert_eq!(meta(&world, &id).await.unwrap().view_stripes, 16);
        world.clock.advance(10_000);
    }
    let later = world.clock.now().as_seconds();
    let window: Vec<_> =
        (0..16 * 300).map(|n| viewed(n, &id, u32::try_from(n).unwrap() % 16, later)).collect();
    hand_over(&world, &window).await;
    assert_eq!(meta(&world, &id).await.unwrap().view_stripes, 64);
    world.clock.advance(10_000);
    let later = world.clock.now().as_seconds();
    let window: Vec<_> =
        (0..64 * 300).map(|n| viewed(n, &id, u32::try_from(n).unwrap() % 64, later)).collect();
    hand_over(&world, &window).await;
    assert_eq!(meta(&world, &id).await.unwrap().view_stripes, 64, "and no more than that");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn instances_that_want_more_at_once_make_it_grow_once() {
    let world = World::start().await;
    let id = published(&world, "Hello").await;
    let at_s = world.clock.now().as_seconds();
    let window: Vec<_> = (0..300).map(|n| viewed(n, &id, 0, at_s)).collect();
    futures_util::future::join_all((0..8).map(|_| hand_over(&world, &window))).await;
    assert_eq!(meta(&world, &id).await.unwrap().view_stripes, 4);
}
