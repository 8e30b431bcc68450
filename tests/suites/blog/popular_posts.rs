//! `GET /posts/popular`.

use suites::World;

use crate::posts::{add, count, hand_over, ids_of, popular, published, view, viewed};

#[tokio::test]
async fn those_with_more_views_come_first_and_of_equals_the_older_ones() {
    let world = World::start().await;
    let mut ids = Vec::new();
    for n in 0..6 {
        ids.push(published(&world, &format!("Post {n}")).await);
        world.clock.advance(1);
    }
    for (place, views) in [(1, 2), (3, 5), (4, 2), (5, 1)] {
        view(&world, &ids[place], views).await;
    }
    count(&world).await;
    let expected = [(3, 5), (1, 2), (4, 2), (5, 1), (0, 0), (2, 0)];
    let expected = expected.map(|(place, views)| (ids[place].clone(), views));
    assert_eq!(popular(&world).await, expected);
    assert_eq!(popular(&world).await, expected, "again");
}

#[tokio::test]
async fn there_are_at_most_twenty_and_as_many_as_are_asked_for() {
    let world = World::start().await;
    for n in 0..25 {
        published(&world, &format!("Post {n}")).await;
    }
    let anyone = world.as_nobody();
    let all = anyone.get("/posts/popular").await.expect(200).json;
    let all = ids_of(all["items"].as_array().unwrap());
    assert_eq!(all.len(), 20);
    for limit in [1, 7, 20] {
        let some = anyone.get(&format!("/posts/popular?limit={limit}")).await.expect(200).json;
        assert_eq!(ids_of(some["items"].as_array().unwrap()), all[..limit]);
    }
    for bad in ["0", "21", "-1", "x", "", "1.5"] {
        let refused = anyone.get(&format!("/posts/popular?limit={bad}")).await;
        refused.refused(400, "INVALID_REQUEST");
    }
}

#[tokio::test]
async fn an_item_says_all_that_a_list_shows() {
    let world = World::start().await;
    let id = published(&world, "Hello").await;
    let answer = world.as_nobody().get("/posts/popular").await.expect(200);
    assert_eq!(
        answer.json["items"][0],
        serde_json::json!({
            "id": id,
            "authorId": "m1",
            "title": "Hello",
            "excerpt": "This is Hello.",
            "tags": [],
            "status": "PUBLISHED",
            "publishedAt": "2030-01-01T00:00:00Z",
            "views": 0,
            "version": 1,
        })
    );
}

#[tokio::test]
async fn an_environment_asks_eight_partitions_once_a_second() {
    let world = World::with_environments(1).await;
    for n in 0..30 {
        published(&world, &format!("Post {n}")).await;
    }
    let anyone = world.as_nobody();
    let mut queries = 0;
    for _ in 0..3 {
        for limit in 1..=20 {
            let path = format!("/posts/popular?limit={limit}");
            queries += anyone.get(&path).await.expect(200).usage.calls_of("Query");
            queries += world.as_member("m1").get(&path).await.expect(200).usage.calls_of("Query");
        }
        world.clock.advance(1_000);
    }
    assert_eq!(queries, 3 * 8);
}

#[tokio::test]
async fn a_great_many_views_still_sort_as_numbers() {
    let world = World::start().await;
    let [few, many] = [published(&world, "Few").await, published(&world, "Many").await];
    add(&world, &few, 0, 9_999_999).await;
    add(&world, &many, 0, 100_000_000).await;
    let records = [viewed(0, &few, 0, 0), viewed(1, &many, 0, 0)];
    assert!(hand_over(&world, &records).await.is_empty());
    assert_eq!(popular(&world).await, [(many, 100_000_000), (few, 9_999_999)]);
}
