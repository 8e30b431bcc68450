//! `POST /posts`.

use serde_json::{Value, json};
use suites::World;

use crate::posts::{create, created, get, id_of, indexed, items, meta, post, with};

#[tokio::test]
async fn a_post_is_what_was_sent_and_says_where_it_lies() {
    let world = World::start().await;
    let body = json!({
        "title": "Hello",
        "body": "One\n\ntwo.",
        "tags": ["b", "a", "b"],
        "status": "PUBLISHED",
        "authorId": "somebody else",
        "views": 7,
    });
    let answer = create(&world.as_member("m1"), body).await.expect(201);
    let id = id_of(&answer);
    assert_eq!(
        answer.json,
        json!({
            "id": id,
            "authorId": "m1",
            "title": "Hello",
            "body": "One\n\ntwo.",
            "tags": ["b", "a"],
            "status": "PUBLISHED",
            "publishedAt": "2030-01-01T00:00:00Z",
            "views": 0,
            "version": 1,
        })
    );
    assert_eq!(answer.headers["location"], format!("/posts/{id}"));
    assert_eq!(answer.headers["etag"], "\"1\"");
    assert_eq!(get(&world.as_nobody(), &id).await.expect(200).json, answer.json);
    assert_eq!(indexed(&world).await, (1, 1));
}

#[tokio::test]
async fn a_post_is_a_draft_unless_it_says_otherwise() {
    let world = World::start().await;
    let draft = json!({ "title": "Hello", "body": "" });
    let answer = create(&world.as_member("m1"), draft).await.expect(201);
    assert_eq!(answer.json["status"], "DRAFT");
    assert_eq!(answer.json["tags"], json!([]));
    assert!(answer.json.get("publishedAt").is_none());
    assert_eq!(indexed(&world).await, (0, 0));
}

#[tokio::test]
async fn what_breaks_a_rule_is_refused_with_its_field_and_changes_nothing() {
    let world = World::start().await;
    let caller = world.as_member("m1");
    for (field, value) in [
        ("title", json!("")),
        ("title", json!("🎟".repeat(201))),
        ("title", json!("a\u{0}b")),
        ("title", json!(7)),
        ("title", json!(null)),
        ("body", json!(null)),
        ("body", json!("a\u{0}b")),
        ("body", json!("a\rb")),
        ("tags", json!((0..11).map(|n| n.to_string()).collect::<Vec<_>>())),
        ("tags", json!([""])),
        ("tags", json!(["🎟".repeat(51)])),
        ("tags", json!("a")),
        ("status", json!("published")),
        ("status", json!({ "PUBLISHED": null })),
    ] {
        let refused = create(&caller, with(post("Hello"), field, value.clone())).await;
        let refused = refused.refused(400, "INVALID_REQUEST");
        let named = refused.json["errors"][0]["field"].as_str().unwrap_or_default();
        assert!(named.starts_with(field), "{field} {value}: {}", refused.json);
        assert_eq!(refused.usage.total_calls(), 0);
    }
    for missing in [json!({ "title": "Hello" }), json!({ "body": "" }), Value::Null] {
        create(&caller, missing).await.refused(400, "INVALID_REQUEST");
    }
    assert!(items(&world).await.is_empty());
}

#[tokio::test]
async fn texts_are_measured_in_characters_and_bodies_in_bytes() {
    let world = World::start().await;
    let caller = world.as_member("m1");
    let full = json!({
        "title": "e\u{301}".repeat(200),
        "body": "é".repeat(150_000),
        "tags": (0..30).map(|n| format!("{}", n % 10)).collect::<Vec<_>>(),
        "status": "PUBLISHED",
    });
    let answer = create(&caller, full.clone()).await.expect(201);
    assert_eq!(answer.json["title"], "é".repeat(200));
    assert_eq!(answer.json["tags"].as_array().unwrap().len(), 10);
    let read = get(&world.as_nobody(), &id_of(&answer)).await.expect(200);
    assert_eq!(read.json["body"].as_str().unwrap().len(), 300_000);
    for large in ["é".repeat(150_001), "a".repeat(300_001), "a".repeat(999_000)] {
        let refused = create(&caller, with(full.clone(), "body", large)).await;
        refused.refused(413, "BODY_TOO_LARGE");
    }
    let larger_than_any = with(full, "body", "a".repeat(1_000_000));
    create(&caller, larger_than_any).await.refused(413, "BODY_TOO_LARGE");
    assert_eq!(indexed(&world).await, (1, 1));
}

#[tokio::test]
async fn a_key_gets_the_first_answer_again_however_large_the_body() {
    let world = World::start().await;
    let caller = world.as_member("m1").with("idempotency-key", "k-1");
    // Escaped, it would not fit into an item.
    let body = with(post("Hello"), "body", "\"\n".repeat(150_000));
    let first = create(&caller, body.clone()).await.expect(201);
    world.clock.advance(60_000);
    let again = create(&caller, body.clone()).await.expect(201);
    assert_eq!(again.json, first.json);
    for header in ["location", "etag"] {
        assert_eq!(again.headers[header], first.headers[header]);
    }
    let other = with(body.clone(), "title", "Other");
    create(&caller, other).await.refused(409, "IDEMPOTENCY_KEY_REUSED");
    assert_eq!(indexed(&world).await, (1, 1));
    world.clock.advance(24 * 60 * 60 * 1000);
    let next_day = create(&world.as_member("m1").with("idempotency-key", "k-1"), body).await;
    assert_ne!(id_of(&next_day.expect(201)), id_of(&first));
}

#[tokio::test]
async fn an_excerpt_is_how_the_body_begins() {
    let world = World::start().await;
    let caller = world.as_member("m1");
    let id = created(&caller, with(post("Hello"), "body", "漢字 \n".repeat(100))).await;
    let excerpt = meta(&world, &id).await.unwrap().excerpt;
    assert_eq!(excerpt.chars().count(), 201);
    assert!(excerpt.starts_with("漢字 漢字") && excerpt.ends_with('…'), "{excerpt}");
}
