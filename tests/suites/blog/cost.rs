//! What requests cost, by the meter: the same among ten posts and among
//! thousands, and the same for a long post and a short one.

use platform::meter::Usage;
use serde_json::{Value, json};
use suites::{Answer, World};

use crate::posts::{
    count, created, delete, fill, get, hand_over, post, update, view, viewed, with,
};

/// Calls, read units, write units.
fn cost(usage: &Usage) -> (u64, f64, f64) {
    (usage.total_calls(), usage.read_units, usage.write_units)
}

async fn page(world: &World, path: &str) -> Answer {
    let page = world.as_member("m2").get(path).await.expect(200);
    assert_eq!(page.json["items"].as_array().unwrap().len(), 10);
    page
}

/// The page so many pages after `first`.
async fn turn(world: &World, first: &Answer, pages: usize) -> Answer {
    let mut last = first.clone();
    for _ in 0..pages {
        let cursor = last.json["nextCursor"].as_str().unwrap();
        last = page(world, &format!("/posts?limit=10&cursor={cursor}")).await;
    }
    last
}

/// What each operation costs among so many posts.
async fn costs(posts: i64) -> Vec<(&'static str, (u64, f64, f64))> {
    let world = World::with_environments(1).await;
    fill(&world, 0, posts).await;
    let author = world.as_member("m1");
    let list = page(&world, "/posts?limit=10").await;
    let far = turn(&world, &list, usize::try_from(posts / 10 - 15).unwrap()).await;
    let popular = world.as_nobody().get("/posts/popular").await.expect(200);
    let create = author.post("/posts", post("Hello")).await.expect(201);
    let id = create.json["id"].as_str().unwrap();
    let first = get(&world.as_nobody(), id).await.expect(200);
    let again = get(&world.as_nobody(), id).await.expect(200);
    let own = get(&author, id).await.expect(200);
    let records = [viewed(0, id, 0, 0)];
    let event = json!({ "Records": records });
    let counted = world.cloud.invoke_event("count-views", event).await.unwrap();
    let rename = update(&author, id, json!({ "title": "Other" })).await.expect(200);
    let delete = delete(&author, id).await.expect(204);
    vec![
        ("list", cost(&list.usage)),
        ("a page far behind", cost(&far.usage)),
        ("popular", cost(&popular.usage)),
        ("create", cost(&create.usage)),
        ("read", cost(&first.usage)),
        ("read again", cost(&again.usage)),
        ("read by its author", cost(&own.usage)),
        ("count", cost(&counted.usage)),
        ("rename", cost(&rename.usage)),
        ("delete", cost(&delete.usage)),
    ]
}

#[tokio::test]
async fn every_operation_costs_the_same_among_200_and_2_000_posts() {
    let few = costs(200).await;
    assert_eq!(few, costs(2_000).await);
    for (name, (calls, read, write)) in few {
        let most = match name {
            "list" | "a page far behind" => (4, 10.0, 0.0),
            "popular" => (8, 24.0, 0.0),
            "create" => (1, 0.0, 8.0),
            "read" => (2, 2.0, 1.0),
            "read again" => (1, 0.0, 1.0),
            "read by its author" => (2, 1.0, 1.0),
            "count" => (3, 2.0, 4.0),
            "rename" => (2, 2.0, 6.0),
            _ => (2, 1.0, 8.0),
        };
        assert_eq!(calls, most.0, "{name}");
        assert!(read <= most.1 && write <= most.2, "{name}: {read} read, {write} written");
    }
}

#[tokio::test]
async fn a_read_of_a_hot_post_is_one_write_unit_however_long_the_post() {
    for body in [0, 1_000, 300_000] {
        let world = World::with_environments(1).await;
        let body = "a".repeat(body);
        let id = created(&world.as_member("m1"), with(post("Hello"), "body", body)).await;
        view(&world, &id, 1).await;
        for _ in 0..20 {
            let usage = get(&world.as_nobody(), &id).await.expect(200).usage;
            assert_eq!(cost(&usage), (1, 0.0, 1.0));
        }
        let event = json!({ "Records": [viewed(0, &id, 0, 0)] });
        let counted = world.cloud.invoke_event("count-views", event).await.unwrap();
        assert!(counted.usage.write_units <= 4.0, "{:?}", counted.usage);
        count(&world).await;
    }
}

#[tokio::test]
async fn a_window_costs_by_its_posts_and_not_by_its_views() {
    let world = World::with_environments(1).await;
    let id = created(&world.as_member("m1"), post("Hello")).await;
    crate::posts::add(&world, &id, 0, 100).await;
    let mut costs = Vec::new();
    for views in [1, 200] {
        crate::posts::add(&world, &id, 0, 1).await;
        let records: Vec<Value> = (0..views).map(|n| viewed(n, &id, 0, 0)).collect();
        let event = json!({ "Records": records });
        let counted = world.cloud.invoke_event("count-views", event).await.unwrap();
        costs.push(cost(&counted.usage));
    }
    assert_eq!(costs[0], costs[1]);
    assert!(hand_over(&world, &[viewed(0, &id, 0, 0)]).await.is_empty());
    let event = json!({ "Records": [viewed(0, &id, 0, 0)] });
    let nothing_new = world.cloud.invoke_event("count-views", event).await.unwrap();
    assert_eq!(nothing_new.usage.write_units, 0.0);
}

#[tokio::test]
async fn what_is_refused_by_its_form_calls_nothing() {
    let world = World::start().await;
    let nobody = world.as_nobody();
    for (method, path, body) in [
        ("POST", "/posts", post("Hello")),
        ("PATCH", "/posts/01941f29-7c00-7000-8000-000000000001", json!({ "title": "a" })),
        ("DELETE", "/posts/01941f29-7c00-7000-8000-000000000001", Value::Null),
    ] {
        let refused = nobody.send(method, path, body).await.refused(401, "UNAUTHENTICATED");
        assert_eq!(refused.usage.total_calls(), 0);
    }
    for path in ["/posts/x", "/posts?limit=0", "/posts?cursor=x", "/posts/popular?limit=21"] {
        let refused = nobody.get(path).await.refused(400, "INVALID_REQUEST");
        assert_eq!(refused.usage.total_calls(), 0);
    }
}

#[tokio::test]
async fn somebody_who_asks_for_what_is_not_there_again_and_again_costs_nothing() {
    let world = World::with_environments(1).await;
    let missing = "01941f29-7c00-7000-8000-000000000001";
    let first = get(&world.as_nobody(), missing).await.refused(404, "POST_NOT_FOUND");
    let again = get(&world.as_nobody(), missing).await.refused(404, "POST_NOT_FOUND");
    assert_eq!((first.usage.total_calls(), again.usage.total_calls()), (1, 0));
}
