//! `DELETE /posts/{id}`.

use blog::keys;
use suites::World;

use crate::posts::{
    add, count, created, delete, get, hand_over, indexed, items, popular, post, published, record,
    stripes, update, view, viewed, with,
};

#[tokio::test]
async fn a_deleted_post_leaves_nothing_once_the_stream_has_told() {
    let world = World::start().await;
    let id = published(&world, "Hello").await;
    view(&world, &id, 3).await;
    count(&world).await;
    delete(&world.as_member("m1"), &id).await.expect(204);
    assert_eq!(indexed(&world).await, (0, 0));
    get(&world.as_member("m1"), &id).await.refused(404, "POST_NOT_FOUND");
    count(&world).await;
    assert!(items(&world).await.is_empty());
    assert!(popular(&world).await.is_empty());
    delete(&world.as_member("m1"), &id).await.refused(404, "POST_NOT_FOUND");
}

#[tokio::test]
async fn only_its_author_and_staff_delete_a_post() {
    let world = World::start().await;
    let id = published(&world, "Hello").await;
    let draft = created(&world.as_member("m1"), with(post("Draft"), "status", "DRAFT")).await;
    delete(&world.as_member("m2"), &id).await.refused(403, "FORBIDDEN");
    delete(&world.as_member("m2"), &draft).await.refused(404, "POST_NOT_FOUND");
    delete(&world.as_member("m1"), "1").await.refused(400, "INVALID_REQUEST");
    delete(&world.as_staff(), &id).await.expect(204);
    delete(&world.as_member("m1"), &draft).await.expect(204);
}

#[tokio::test]
async fn a_version_that_has_passed_is_not_deleted() {
    let world = World::start().await;
    let id = published(&world, "Hello").await;
    let author = world.as_member("m1");
    update(&author, &id, serde_json::json!({ "title": "Bye" })).await.expect(200);
    let seeing = |version: &str| author.clone().with("if-match", version);
    let refused = delete(&seeing("\"1\""), &id).await.refused(412, "VERSION_MISMATCH");
    assert_eq!(refused.json["version"], 2);
    delete(&seeing("\"2\""), &id).await.expect(204);
}

#[tokio::test]
async fn views_of_a_post_that_is_gone_are_taken_away_and_bring_nothing_back() {
    let world = World::with_environments(1).await;
    let id = published(&world, "Hello").await;
    view(&world, &id, 1).await; // remembered
    delete(&world.as_member("m1"), &id).await.expect(204);
    world.settle().await;
    world.clock.advance(2_000);
    world.settle().await;
    assert!(items(&world).await.is_empty());
    view(&world, &id, 2).await;
    assert_eq!(stripes(&world, &id).await.into_values().sum::<u64>(), 2);
    count(&world).await;
    assert!(items(&world).await.is_empty());
}

#[tokio::test]
async fn however_many_stripes_a_post_had_none_is_left() {
    let world = World::start().await;
    let id = published(&world, "Hello").await;
    for stripe in [0, 1, 17, 63] {
        add(&world, &id, stripe, 5).await;
    }
    delete(&world.as_member("m1"), &id).await.expect(204);
    let gone = record(0, "REMOVE", &keys::meta(id.parse().unwrap()), 0);
    assert!(hand_over(&world, std::slice::from_ref(&gone)).await.is_empty());
    assert!(items(&world).await.is_empty());
    // What comes again, or too late, changes nothing.
    add(&world, &id, 2, 1).await;
    assert!(hand_over(&world, &[viewed(1, &id, 2, 0), gone]).await.is_empty());
    assert!(items(&world).await.is_empty());
}
