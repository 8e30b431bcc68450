//! `PUT` and `DELETE /announcements/{id}/favorite`, `GET /favorites`.

use serde_json::{Value, json};
use suites::World;

use crate::announcements::{
    DAY_MS, announced, body, closing_in, count, favor, get, held, id, ids, item, meta, put,
    unfavor, with,
};

#[tokio::test]
async fn a_favorite_counts_once_and_is_taken_back_once() {
    let world = World::start().await;
    announced(&world, "r").await;
    let me = world.as_member("m1");
    for _ in 0..3 {
        let added = favor(&me, "r").await.expect(204);
        assert_eq!(added.json, Value::Null);
    }
    favor(&world.as_member("m2"), "r").await.expect(204);
    count(&world).await;
    assert_eq!((held(&world, "r").await, meta(&world, "r").await.favorites), (2, 2));
    for _ in 0..3 {
        unfavor(&me, "r").await.expect(204);
    }
    count(&world).await;
    assert_eq!((held(&world, "r").await, meta(&world, "r").await.favorites), (1, 1));
    assert_eq!(get(&world.as_staff(), "r").await.json["favorites"], 1);
}

#[tokio::test]
async fn what_a_member_did_is_in_the_next_list() {
    let world = World::start().await;
    let me = world.as_member("m1");
    for name in ["a", "b", "c"] {
        announced(&world, name).await;
        favor(&me, name).await.expect(204);
        world.clock.advance(1);
    }
    let list = me.get("/favorites").await.expect(200).json;
    assert_eq!(ids(&list["items"]), ["c", "b", "a"]);
    let first = &list["items"][0];
    assert_eq!((&first["title"], &first["open"]), (&json!("Rooms c"), &json!(true)));
    assert_eq!(
        (&first["daysLeft"], &first["favoriteSince"]),
        (&json!(30), &json!("2030-01-01T00:00:00.002Z"))
    );
    unfavor(&me, "b").await.expect(204);
    assert_eq!(ids(&me.get("/favorites").await.json["items"]), ["c", "a"]);
    favor(&me, "a").await.expect(204);
    assert_eq!(me.list("/favorites", 1).await.len(), 2, "page by page");
    assert_eq!(world.as_member("m2").get("/favorites").await.json, json!({ "items": [] }));
    let page = me.get("/favorites?limit=1").await.json;
    let foreign = format!("/favorites?cursor={}", page["nextCursor"].as_str().unwrap());
    world.as_member("m2").get(&foreign).await.refused(400, "INVALID_REQUEST");
}

#[tokio::test]
async fn what_is_unknown_or_malformed_is_no_favorite() {
    let world = World::start().await;
    let me = world.as_member("m1");
    favor(&me, "r").await.refused(404, "ANNOUNCEMENT_NOT_FOUND");
    unfavor(&me, "r").await.refused(404, "ANNOUNCEMENT_NOT_FOUND");
    favor(&me, "a%23b").await.refused(400, "INVALID_REQUEST");
    unfavor(&me, "a%20b").await.refused(400, "INVALID_REQUEST");
    assert!(crate::announcements::items(&world).await.is_empty());
    announced(&world, "r").await;
    unfavor(&me, "r").await.expect(204);
    assert_eq!(held(&world, "r").await, 0);
}

#[tokio::test]
async fn one_that_has_closed_becomes_no_favorite_and_stays_one() {
    let world = World::start().await;
    put(&world, "r", closing_in(&world, 1_000)).await.expect(201);
    favor(&world.as_member("m1"), "r").await.expect(204);
    world.clock.advance(999);
    favor(&world.as_member("m2"), "r").await.expect(204);
    world.clock.advance(1);
    let refused = favor(&world.as_member("m3"), "r").await.refused(409, "ANNOUNCEMENT_CLOSED");
    assert_eq!(refused.json["closesAt"], "2030-01-01T00:00:01Z");
    assert_eq!(refused.usage.write_units, 0.0);
    favor(&world.as_member("m1"), "r").await.expect(204);
    assert_eq!(held(&world, "r").await, 2);
    unfavor(&world.as_member("m1"), "r").await.expect(204);
    unfavor(&world.as_member("m1"), "r").await.expect(204);
    favor(&world.as_member("m1"), "r").await.refused(409, "ANNOUNCEMENT_CLOSED");
    assert_eq!(held(&world, "r").await, 1);
}

#[tokio::test]
async fn one_that_has_not_opened_yet_may_be_marked() {
    let world = World::start().await;
    put(&world, "r", with(body("Rooms"), "opensAt", "2030-01-20T00:00:00Z")).await.expect(201);
    favor(&world.as_member("m1"), "r").await.expect(204);
    let list = world.as_member("m1").get("/favorites").await.json;
    assert_eq!(list["items"][0]["open"], false);
}

#[tokio::test]
async fn a_member_has_a_hundred_favorites_and_no_more() {
    let world = World::start().await;
    let me = world.as_member("m1");
    for n in 0..101 {
        let days = DAY_MS * (n + 1);
        put(&world, &format!("a-{n}"), closing_in(&world, days)).await.expect(201);
    }
    for n in 0..100 {
        favor(&me, &format!("a-{n}")).await.expect(204);
    }
    let refused = favor(&me, "a-100").await.refused(409, "TOO_MANY_FAVORITES");
    assert_eq!(refused.json["most"], 100);
    favor(&me, "a-7").await.expect(204);
    assert_eq!(me.list("/favorites", 30).await.len(), 100);
    assert_eq!((held(&world, "a-100").await, held(&world, "a-7").await), (0, 1));
    unfavor(&me, "a-7").await.expect(204);
    favor(&me, "a-100").await.expect(204);
    favor(&me, "a-7").await.refused(409, "TOO_MANY_FAVORITES");
    assert_eq!(held(&world, "a-100").await, 1);
}

#[tokio::test]
async fn favorites_of_a_hot_announcement_are_written_by_no_two_members_in_one_place() {
    let world = World::start().await;
    announced(&world, "r").await;
    for n in 0..200 {
        favor(&world.as_member(&format!("m{n}")), "r").await.expect(204);
    }
    let mut stripes = Vec::new();
    for stripe in 0..announcement::keys::FAVORITE_STRIPES {
        let key = announcement::keys::favorites(&id("r"), stripe);
        if let Some(item) = item(&world, key).await {
            stripes.push(item["held"].as_n().unwrap().parse::<u32>().unwrap());
        }
    }
    assert_eq!(stripes.iter().sum::<u32>(), 200);
    assert!(stripes.len() > 60 && stripes.iter().all(|held| *held < 15), "{stripes:?}");
    assert_eq!(meta(&world, "r").await.favorites, 0, "nobody wrote the announcement");
}
