//! `GET /posts/{id}`, and `HEAD`.

use serde_json::Value;
use suites::World;

use crate::posts::{count, created, delete, get, meta, post, published, set_status, update, with};

const NOBODYS: &str = "01941f29-7c00-7000-8000-000000000001";

#[tokio::test]
async fn a_published_post_is_there_for_everybody_token_or_not() {
    let world = World::start().await;
    let id = published(&world, "Hello").await;
    for caller in [
        world.as_nobody(),
        world.as_member("m1"),
        world.as_member("m2"),
        world.as_staff(),
        world.as_nobody().with("authorization", "Bearer x"),
    ] {
        let answer = get(&caller, &id).await.expect(200);
        assert_eq!(
            (&answer.json["title"], &answer.json["body"]),
            (&"Hello".into(), &"This is Hello.".into())
        );
        assert_eq!(answer.headers["etag"], "\"1\"");
    }
    get(&world.as_nobody(), &id.to_uppercase()).await.expect(200);
}

#[tokio::test]
async fn a_draft_is_there_for_its_author_and_staff_alone() {
    let world = World::start().await;
    let author = world.as_member("m1");
    let id = created(&author, with(post("Hello"), "status", "DRAFT")).await;
    for _ in 0..2 {
        for caller in [world.as_nobody(), world.as_member("m2")] {
            get(&caller, &id).await.refused(404, "POST_NOT_FOUND");
        }
        for caller in [author.clone(), world.as_staff()] {
            assert_eq!(get(&caller, &id).await.expect(200).json["status"], "DRAFT");
        }
    }
    count(&world).await;
    assert_eq!(meta(&world, &id).await.unwrap().views, 0, "reads of a draft count nothing");
}

#[tokio::test]
async fn what_is_not_there_is_a_404_and_no_id_is_a_400() {
    let world = World::start().await;
    for caller in [world.as_nobody(), world.as_member("m1"), world.as_staff()] {
        get(&caller, NOBODYS).await.refused(404, "POST_NOT_FOUND");
        for bad in ["1", "Popular", "%00", "a%23b", &NOBODYS.replace('-', "")] {
            get(&caller, bad).await.refused(400, "INVALID_REQUEST");
        }
    }
}

#[tokio::test]
async fn who_has_an_expired_token_is_told_so_and_not_that_a_draft_is_gone() {
    let world = World::start().await;
    let author = world.as_member("m1");
    let draft = created(&author, with(post("Hello"), "status", "DRAFT")).await;
    let open = published(&world, "Open").await;
    world.clock.advance(15 * 60 * 1000);
    get(&author, &draft).await.refused(401, "UNAUTHENTICATED");
    get(&author, &open).await.expect(200);
}

#[tokio::test]
async fn what_authors_and_staff_changed_is_in_their_next_read() {
    let world = World::with_environments(1).await;
    let author = world.as_member("m1");
    let id = published(&world, "Hello").await;
    for n in 0..4 {
        get(&world.as_nobody(), &id).await.expect(200); // remembered
        let title = format!("Title {n}");
        let changer = if n % 2 == 0 { &author } else { &world.as_staff() };
        update(changer, &id, serde_json::json!({ "title": title })).await.expect(200);
        for caller in [&author, &world.as_staff()] {
            assert_eq!(get(caller, &id).await.expect(200).json["title"], title);
        }
    }
    set_status(&author, &id, "DRAFT").await.expect(200);
    assert_eq!(get(&author, &id).await.expect(200).json["status"], "DRAFT");
    set_status(&author, &id, "PUBLISHED").await.expect(200);
    assert_eq!(get(&author, &id).await.expect(200).json["status"], "PUBLISHED");
    delete(&author, &id).await.expect(204);
    get(&author, &id).await.refused(404, "POST_NOT_FOUND");
}

#[tokio::test]
async fn others_see_a_change_after_five_seconds_at_the_latest() {
    let world = World::with_environments(1).await;
    let author = world.as_member("m1");
    let id = published(&world, "Hello").await;
    for caller in [world.as_nobody(), world.as_member("m2")] {
        world.clock.advance(5_000);
        get(&caller, &id).await.expect(200);
        set_status(&author, &id, "DRAFT").await.expect(200);
        world.clock.advance(4_999);
        get(&caller, &id).await.expect(200);
        world.clock.advance(1);
        get(&caller, &id).await.refused(404, "POST_NOT_FOUND");
        set_status(&author, &id, "PUBLISHED").await.expect(200);
        world.clock.advance(5_000);
        get(&caller, &id).await.expect(200);
    }
    get(&world.as_nobody(), &id).await.expect(200);
    delete(&author, &id).await.expect(204);
    world.clock.advance(5_000);
    get(&world.as_nobody(), &id).await.refused(404, "POST_NOT_FOUND");
}

#[tokio::test]
async fn what_its_author_read_anew_everybody_sees_anew() {
    let world = World::with_environments(1).await;
    let author = world.as_member("m1");
    let id = published(&world, "Hello").await;
    get(&world.as_nobody(), &id).await.expect(200);
    set_status(&author, &id, "DRAFT").await.expect(200);
    get(&author, &id).await.expect(200);
    get(&world.as_nobody(), &id).await.refused(404, "POST_NOT_FOUND");
    get(&world.as_member("m2"), &id).await.refused(404, "POST_NOT_FOUND");
}

#[tokio::test]
async fn a_get_that_is_answered_200_is_a_view_whoever_sends_it() {
    let world = World::start().await;
    let id = published(&world, "Hello").await;
    get(&world.as_nobody(), &id).await.expect(200);
    get(&world.as_member("m1"), &id).await.expect(200);
    get(&world.as_member("m2"), &id).await.expect(200);
    get(&world.as_staff(), &id).await.expect(200);
    count(&world).await;
    assert_eq!(meta(&world, &id).await.unwrap().views, 4);
    world.clock.advance(5_000);
    assert_eq!(get(&world.as_nobody(), &id).await.expect(200).json["views"], 4);
}

#[tokio::test]
async fn what_nobody_reads_is_no_view() {
    let world = World::start().await;
    let id = published(&world, "Hello").await;
    let path = format!("/posts/{id}");
    let head = world.as_nobody().send("HEAD", &path, Value::Null).await.expect(200);
    assert_eq!((&head.json, head.headers["etag"].to_str().unwrap()), (&Value::Null, "\"1\""));
    assert_eq!(head.headers["content-type"], "application/json");
    let missing = format!("/posts/{NOBODYS}");
    let missing = world.as_nobody().send("HEAD", &missing, Value::Null).await.expect(404);
    assert_eq!(missing.json, Value::Null);
    for (name, value) in [
        ("purpose", "prefetch"),
        ("sec-purpose", "prefetch"),
        ("sec-purpose", "prefetch;prerender"),
        ("user-agent", "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"),
        ("user-agent", "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)"),
    ] {
        let answer = get(&world.as_nobody().with(name, value), &id).await.expect(200);
        assert_eq!(answer.json["title"], "Hello");
    }
    count(&world).await;
    assert_eq!(meta(&world, &id).await.unwrap().views, 0);
    assert!(crate::posts::stripes(&world, &id).await.is_empty());
}
