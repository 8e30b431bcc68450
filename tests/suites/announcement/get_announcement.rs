//! `GET /announcements/{id}`.

use serde_json::Value;
use suites::World;

use crate::announcements::{announced, body, count, get, items, meta, put};

#[tokio::test]
async fn every_read_is_a_view_and_what_nobody_reads_is_none() {
    let world = World::start().await;
    announced(&world, "r").await;
    for caller in [world.as_nobody(), world.as_member("m1"), world.as_staff()] {
        get(&caller, "r").await.expect(200);
    }
    let head = world.as_nobody().send("HEAD", "/announcements/r", Value::Null).await.expect(200);
    assert_eq!((&head.json, head.headers["etag"].to_str().unwrap()), (&Value::Null, "\"1\""));
    for (name, value) in [
        ("purpose", "prefetch"),
        ("sec-purpose", "prefetch;prerender"),
        ("user-agent", "Mozilla/5.0 (compatible; Googlebot/2.1)"),
    ] {
        get(&world.as_nobody().with(name, value), "r").await.expect(200);
    }
    count(&world).await;
    assert_eq!(meta(&world, "r").await.views, 3);
    world.clock.advance(5_000);
    assert_eq!(get(&world.as_nobody(), "r").await.json["views"], 3);
}

#[tokio::test]
async fn a_read_of_nothing_counts_nothing() {
    let world = World::start().await;
    for _ in 0..3 {
        get(&world.as_nobody(), "r").await.refused(404, "ANNOUNCEMENT_NOT_FOUND");
    }
    get(&world.as_nobody(), "a%20b").await.refused(400, "INVALID_REQUEST");
    assert!(items(&world).await.is_empty());
}

#[tokio::test]
async fn staff_see_their_change_at_once_and_others_within_five_seconds() {
    let world = World::with_environments(1).await;
    announced(&world, "r").await;
    get(&world.as_nobody(), "r").await.expect(200);
    put(&world, "r", body("Flats")).await.expect(200);
    world.clock.advance(4_999);
    assert_eq!(get(&world.as_nobody(), "r").await.json["title"], "Rooms r");
    assert_eq!(get(&world.as_staff(), "r").await.json["title"], "Flats");
    assert_eq!(get(&world.as_nobody(), "r").await.json["title"], "Flats");
    put(&world, "r", body("Houses")).await.expect(200);
    world.clock.advance(5_000);
    assert_eq!(get(&world.as_nobody(), "r").await.json["title"], "Houses");
}

#[tokio::test]
async fn a_remembered_one_opens_and_closes_at_the_millisecond() {
    let world = World::with_environments(1).await;
    let mut soon = body("Rooms");
    soon["opensAt"] = "2030-01-01T00:00:01Z".into();
    soon["closesAt"] = "2030-01-01T00:00:02Z".into();
    put(&world, "r", soon).await.expect(201);
    for (ms, open) in [(999, false), (1, true), (999, true), (1, false)] {
        world.clock.advance(ms);
        assert_eq!(get(&world.as_nobody(), "r").await.json["open"], open, "{ms}");
    }
}
