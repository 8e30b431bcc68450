//! `GET /posts`.

use blog::keys;
use serde_json::Value;
use suites::World;

use crate::posts::{
    create, created, delete, fill, ids_of, post, published, set_status, view, with,
};

#[tokio::test]
async fn published_posts_are_listed_newest_first_and_without_their_bodies() {
    let world = World::start().await;
    let mut ids = Vec::new();
    for n in 0..7 {
        ids.push(published(&world, &format!("Post {n}")).await);
        world.clock.advance((n + 1) % 2); // some at the same time
    }
    created(&world.as_member("m1"), with(post("Draft"), "status", "DRAFT")).await;
    let items = world.as_nobody().list("/posts", 3).await;
    ids.sort_unstable();
    ids.reverse();
    assert_eq!(ids_of(&items), ids);
    let item = items.last().unwrap();
    assert!(item.get("body").is_none());
    assert_eq!((&item["title"], &item["excerpt"]), (&"Post 0".into(), &"This is Post 0.".into()));
    assert_eq!(item["publishedAt"], "2030-01-01T00:00:00Z");
    let pages = world.as_member("m2").list("/posts", 100).await;
    assert_eq!(pages, items);
}

#[tokio::test]
async fn a_long_title_is_cut_between_characters() {
    let world = World::start().await;
    let titles = ["🎟".repeat(200), "e\u{301}".repeat(101), "漢".repeat(100), "short".to_owned()];
    for title in &titles {
        create(&world.as_member("m1"), with(post("Hello"), "title", title.as_str()))
            .await
            .expect(201);
        world.clock.advance(1);
    }
    let items = world.as_nobody().list("/posts", 10).await;
    let listed: Vec<&str> =
        items.iter().rev().map(|item| item["title"].as_str().unwrap()).collect();
    let cut = [format!("{}…", "🎟".repeat(100)), format!("{}…", "é".repeat(100))];
    assert_eq!(listed, [cut[0].as_str(), cut[1].as_str(), titles[2].as_str(), "short"]);
}

#[tokio::test]
async fn the_last_page_has_no_cursor() {
    let world = World::start().await;
    let page = |limit: usize| {
        let anyone = world.as_member("m2");
        async move { anyone.get(&format!("/posts?limit={limit}")).await.expect(200).json }
    };
    assert_eq!(page(5).await, serde_json::json!({ "items": [] }));
    fill(&world, 0, 5).await;
    assert!(page(5).await.get("nextCursor").is_none());
    assert!(page(4).await["nextCursor"].is_string());
    let cursor = page(4).await["nextCursor"].as_str().unwrap().to_owned();
    let last = world.as_nobody().get(&format!("/posts?limit=4&cursor={cursor}")).await.expect(200);
    assert_eq!(last.json["items"].as_array().unwrap().len(), 1);
    assert!(last.json.get("nextCursor").is_none());
}

#[tokio::test]
async fn a_cursor_that_was_changed_or_made_up_is_refused() {
    let world = World::start().await;
    fill(&world, 0, 10).await;
    let anyone = world.as_nobody();
    let page = anyone.get("/posts?limit=3").await.expect(200);
    let cursor = page.json["nextCursor"].as_str().unwrap();
    for place in 0..cursor.len() {
        let mut changed: Vec<char> = cursor.chars().collect();
        changed[place] = if changed[place] == 'A' { 'B' } else { 'A' };
        let changed: String = changed.into_iter().collect();
        let refused = anyone.get(&format!("/posts?limit=3&cursor={changed}")).await;
        refused.refused(400, "INVALID_REQUEST");
    }
    // Made with the right checksum, and still no position.
    for position in ["", "~", "x#y", "001893456000000"] {
        let made_up = platform::cursor::encode("posts", &position).unwrap();
        let refused = anyone.get(&format!("/posts?cursor={made_up}")).await;
        refused.refused(400, "INVALID_REQUEST");
    }
    for bad in ["limit=0", "limit=101", "limit=x", "cursor=", "cursor=x"] {
        anyone.get(&format!("/posts?{bad}")).await.refused(400, "INVALID_REQUEST");
    }
}

#[tokio::test]
async fn what_authors_published_or_took_back_is_in_their_next_list() {
    let world = World::with_environments(1).await;
    let author = world.as_member("m1");
    let count = |answer: suites::Answer| answer.json["items"].as_array().unwrap().len();
    assert_eq!(count(world.as_nobody().get("/posts").await), 0);
    let id = published(&world, "Hello").await;
    assert_eq!(count(world.as_nobody().get("/posts").await), 0, "others may be a second behind");
    assert_eq!(count(author.get("/posts").await), 1);
    set_status(&author, &id, "DRAFT").await.expect(200);
    assert_eq!(count(author.get("/posts").await), 0);
    set_status(&author, &id, "PUBLISHED").await.expect(200);
    world.clock.advance(1_000);
    assert_eq!(count(world.as_nobody().get("/posts").await), 1);
    delete(&author, &id).await.expect(204);
    assert_eq!(count(author.get("/posts").await), 0);
    world.clock.advance(1_000);
    assert_eq!(count(world.as_nobody().get("/posts").await), 0);
}

/// Posts come and go while somebody turns the pages: at every step some are
/// published, taken back, deleted and viewed, before and after the reader.
#[tokio::test]
async fn nothing_is_seen_twice_and_nothing_that_stayed_is_missed() {
    for seed in 0..4 {
        let world = World::start().await;
        let author = world.as_member("m1");
        fill(&world, 0, 60).await;
        let all = author.list("/posts", 100).await;
        let mut stayed: Vec<String> = ids_of(&all).into_iter().map(str::to_owned).collect();
        let mut random = fastrand::Rng::with_seed(seed);
        let mut seen: Vec<String> = Vec::new();
        let mut next = "/posts?limit=5".to_owned();
        loop {
            let page = world.as_nobody().get(&next).await.expect(200).json;
            seen.extend(ids_of(page["items"].as_array().unwrap()).into_iter().map(str::to_owned));
            let Some(cursor) = page["nextCursor"].as_str() else { break };
            next = format!("/posts?limit=5&cursor={cursor}");
            for _ in 0..3 {
                let id = stayed.swap_remove(random.usize(..stayed.len()));
                match random.u8(0..3) {
                    0 => {
                        set_status(&author, &id, "DRAFT").await.expect(200);
                    }
                    1 => {
                        delete(&author, &id).await.expect(204);
                    }
                    _ => {
                        set_status(&author, &id, "DRAFT").await.expect(200);
                        set_status(&author, &id, "PUBLISHED").await.expect(200);
                        view(&world, &id, 1).await;
                    }
                }
            }
            published(&world, "New").await;
            world.clock.advance(random.i64(0..1_500));
        }
        let mut once = seen.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), seen.len(), "seen twice, seed {seed}");
        let missed: Vec<_> = stayed.iter().filter(|id| !seen.contains(id)).collect();
        assert!(missed.is_empty(), "missed {missed:?}, seed {seed}");
        let mut positions = Vec::new();
        for id in &seen {
            if let Some(meta) = crate::posts::meta(&world, id).await {
                let at = meta.published_at_ms.unwrap();
                positions.push(keys::list_position(at, meta.post_id));
            }
        }
        assert!(positions.is_sorted_by(|one, other| one > other), "seed {seed}");
    }
}

#[tokio::test]
async fn a_page_is_remembered_for_a_second_for_those_without_a_token() {
    let world = World::with_environments(1).await;
    fill(&world, 0, 50).await;
    let queries = |answer: suites::Answer| answer.expect(200).usage.calls_of("Query");
    let first = world.as_nobody().get("/posts").await;
    let cursor = first.json["nextCursor"].as_str().unwrap().to_owned();
    assert_eq!(queries(first), 4);
    assert_eq!(queries(world.as_nobody().get("/posts").await), 0);
    assert_eq!(queries(world.as_nobody().get("/posts?limit=19").await), 4);
    let second = format!("/posts?cursor={cursor}");
    assert_eq!(queries(world.as_nobody().get(&second).await), 4);
    assert_eq!(queries(world.as_nobody().get(&second).await), 0);
    assert_eq!(queries(world.as_member("m2").get("/posts").await), 4);
    world.clock.advance(1_000);
    let again = world.as_nobody().get("/posts").await;
    assert_ne!(again.json["items"], Value::Null);
    assert_eq!(queries(again), 4);
}
