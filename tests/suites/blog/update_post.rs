//! `PATCH /posts/{id}`.

use blog::keys;
use serde_json::{Value, json};
use suites::World;

use crate::posts::{
    count, create, created, get, indexed, item, meta, popular, post, published, set_status, update,
    view, with,
};

#[tokio::test]
async fn what_is_left_out_stays() {
    let world = World::start().await;
    let author = world.as_member("m1");
    let before = create(&author, with(post("Hello"), "tags", json!(["a"]))).await.expect(201);
    let id = crate::posts::id_of(&before);
    let mut expected = before.json;
    for (field, value) in [
        ("title", json!("Bye")),
        ("body", json!("Other words.")),
        ("tags", json!(["b", "c"])),
        ("status", json!("DRAFT")),
        ("tags", json!([])),
        ("body", json!("")),
    ] {
        expected[field] = value.clone();
        expected["version"] = json!(expected["version"].as_u64().unwrap() + 1);
        let answer = update(&author, &id, json!({ field: value })).await.expect(200);
        assert_eq!(answer.json, expected);
        assert_eq!(answer.headers["etag"], format!("\"{}\"", expected["version"]));
        assert_eq!(get(&author, &id).await.expect(200).json, expected);
    }
}

#[tokio::test]
async fn a_change_that_changes_nothing_writes_nothing() {
    let world = World::start().await;
    let author = world.as_member("m1");
    let id = published(&world, "Hello").await;
    for same in [json!({}), post("Hello"), json!({ "title": "Hello", "tags": null })] {
        let answer = update(&author, &id, same).await.expect(200);
        assert_eq!((&answer.json["version"], answer.usage.write_units), (&json!(1), 0.0));
    }
}

#[tokio::test]
async fn only_its_author_and_staff_change_a_post() {
    let world = World::start().await;
    let id = published(&world, "Hello").await;
    let draft = created(&world.as_member("m1"), with(post("Draft"), "status", "DRAFT")).await;
    let other = world.as_member("m2");
    update(&other, &id, json!({ "title": "Mine" })).await.refused(403, "FORBIDDEN");
    update(&other, &draft, json!({ "title": "Mine" })).await.refused(404, "POST_NOT_FOUND");
    let seeing = other.with("if-match", "\"9\"");
    update(&seeing, &id, json!({ "title": "Mine" })).await.refused(403, "FORBIDDEN");
    update(&world.as_staff(), &id, json!({ "title": "Ours" })).await.expect(200);
    let answer = update(&world.as_staff(), &draft, json!({ "title": "Ours" })).await.expect(200);
    assert_eq!(answer.json["authorId"], "m1");
}

#[tokio::test]
async fn the_refusal_that_wins_is_the_same_for_all() {
    let world = World::start().await;
    let caller = world.as_member("m1");
    let nobodys = "01941f29-7c00-7000-8000-000000000001";
    update(&caller, nobodys, json!({ "title": "" })).await.refused(400, "INVALID_REQUEST");
    update(&caller, nobodys, json!({ "title": "a" })).await.refused(404, "POST_NOT_FOUND");
    update(&caller, "1", json!({ "title": "a" })).await.refused(400, "INVALID_REQUEST");
    let id = published(&world, "Hello").await;
    let large = json!({ "body": "a".repeat(300_001) });
    update(&caller, &id, large).await.refused(413, "BODY_TOO_LARGE");
    for bad in [Value::Null, json!({ "status": "GONE" }), json!({ "tags": [7] })] {
        update(&caller, &id, bad).await.refused(400, "INVALID_REQUEST");
    }
    let odd = caller.with("if-match", "3");
    update(&odd, &id, json!({ "title": "a" })).await.refused(400, "INVALID_REQUEST");
    assert_eq!(meta(&world, &id).await.unwrap().version, 1);
}

#[tokio::test]
async fn a_version_that_has_passed_is_refused_and_told() {
    let world = World::start().await;
    let id = published(&world, "Hello").await;
    let seeing = |version: u64| world.as_member("m1").with("if-match", &format!("\"{version}\""));
    update(&seeing(1), &id, json!({ "title": "Two" })).await.expect(200);
    let refused = update(&seeing(1), &id, json!({ "title": "Three" })).await;
    assert_eq!(refused.refused(412, "VERSION_MISMATCH").json["version"], 2);
    update(&world.as_member("m1").with("if-match", "*"), &id, json!({ "title": "Three" }))
        .await
        .expect(200);
}

#[tokio::test]
async fn the_body_is_written_only_if_it_is_another() {
    let world = World::start().await;
    let author = world.as_member("m1");
    let large = with(post("Hello"), "body", "a".repeat(300_000));
    let id = created(&author, large).await;
    let renamed = update(&author, &id, json!({ "title": "Bye" })).await.expect(200);
    assert!(renamed.usage.write_units <= 6.0, "{:?}", renamed.usage);
    let body = item(&world, keys::body(id.parse().unwrap())).await.unwrap();
    assert_eq!(body["version"].as_n().unwrap(), "1");
    let rewritten = update(&author, &id, json!({ "body": "b" })).await.expect(200);
    assert_eq!(rewritten.json["body"], "b");
    let post = meta(&world, &id).await.unwrap();
    assert_eq!((post.version, post.body_version, post.excerpt.as_str()), (3, 3, "b"));
}

#[tokio::test]
async fn unpublishing_takes_a_post_out_of_list_and_ranking_and_its_views_stay() {
    let world = World::start().await;
    let author = world.as_member("m1");
    let id = published(&world, "Hello").await;
    view(&world, &id, 3).await;
    count(&world).await;
    assert_eq!(popular(&world).await, [(id.clone(), 3)]);
    let draft = set_status(&author, &id, "DRAFT").await.expect(200);
    assert_eq!(draft.json["publishedAt"], "2030-01-01T00:00:00Z");
    assert_eq!(indexed(&world).await, (0, 0));
    assert_eq!(popular(&world).await, []);
    assert!(world.as_nobody().list("/posts", 10).await.is_empty());
    set_status(&author, &id, "PUBLISHED").await.expect(200);
    assert_eq!(popular(&world).await, [(id.clone(), 3)]);
    world.clock.advance(5_000);
    view(&world, &id, 1).await;
    count(&world).await;
    assert_eq!(popular(&world).await, [(id, 4)]);
}

#[tokio::test]
async fn a_post_that_is_published_again_goes_back_to_its_place() {
    let world = World::start().await;
    let author = world.as_member("m1");
    let draft = created(&author, with(post("Draft"), "status", "DRAFT")).await;
    world.clock.advance(1_000);
    let old = published(&world, "Old").await;
    world.clock.advance(1_000);
    let first = set_status(&author, &draft, "PUBLISHED").await.expect(200);
    assert_eq!(first.json["publishedAt"], "2030-01-01T00:00:02Z");
    world.clock.advance(1_000);
    let new = published(&world, "New").await;
    let listed = || async {
        let items = author.list("/posts", 10).await;
        items.iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(listed().await, [new.clone(), draft.clone(), old.clone()]);
    set_status(&author, &draft, "DRAFT").await.expect(200);
    assert_eq!(listed().await, [new.clone(), old.clone()]);
    world.clock.advance(60_000);
    let again = set_status(&author, &draft, "PUBLISHED").await.expect(200);
    assert_eq!(again.json["publishedAt"], "2030-01-01T00:00:02Z");
    assert_eq!(listed().await, [new, draft, old]);
}
