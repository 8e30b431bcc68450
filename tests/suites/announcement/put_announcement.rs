//! `PUT /announcements/{id}`.

use announcement::keys;
use serde_json::{Value, json};
use suites::World;

use crate::announcements::{
    announced, body, checklist, count, favor, get, hand_over, id, items, listed, meta, put, with,
};

#[tokio::test]
async fn what_was_put_is_read_by_everybody() {
    let world = World::start().await;
    let created = put(&world, "rooms-1", body("Rooms")).await.expect(201);
    assert_eq!(created.headers["location"], "/announcements/rooms-1");
    assert_eq!(created.headers["etag"], "\"1\"");
    let expected = json!({
        "id": "rooms-1",
        "title": "Rooms",
        "organisation": "City",
        "category": "housing",
        "region": "north",
        "body": "Apply now.",
        "opensAt": "2030-01-01T00:00:00Z",
        "closesAt": "2030-02-01T00:00:00Z",
        "documents": [
            { "id": "a", "name": "Document a", "required": true },
            { "id": "b", "name": "Document b", "required": true },
            { "id": "c", "name": "Document c", "required": false },
        ],
        "open": true,
        "daysLeft": 31,
        "favorites": 0,
        "views": 0,
        "version": 1,
    });
    assert_eq!(created.json, expected);
    let read = get(&world.as_nobody(), "rooms-1").await.expect(200);
    assert_eq!((read.json, read.headers["etag"].to_str().unwrap()), (expected, "\"1\""));
    get(&world.as_nobody(), "rooms-2").await.refused(404, "ANNOUNCEMENT_NOT_FOUND");
}

#[tokio::test]
async fn a_change_replaces_everything_and_keeps_the_counts() {
    let world = World::start().await;
    announced(&world, "r").await;
    for member in ["m1", "m2"] {
        favor(&world.as_member(member), "r").await.expect(204);
        get(&world.as_member(member), "r").await.expect(200);
    }
    count(&world).await;
    let other = json!({
        "title": "Flats",
        "organisation": "State",
        "category": "jobs",
        "region": "south",
        "body": "",
        "opensAt": "2030-01-02T09:00:00+09:00",
        "closesAt": "2030-03-01T00:00:00.5Z",
        "documents": [],
    });
    let changed = put(&world, "r", other).await.expect(200);
    assert_eq!((&changed.json["version"], &changed.json["title"]), (&json!(2), &json!("Flats")));
    assert_eq!(changed.json["opensAt"], "2030-01-02T00:00:00Z");
    assert_eq!(changed.json["closesAt"], "2030-03-01T00:00:00.5Z");
    assert_eq!((&changed.json["open"], &changed.json["documents"]), (&json!(false), &json!([])));
    assert_eq!((&changed.json["favorites"], &changed.json["views"]), (&json!(2), &json!(2)));
    assert_eq!(get(&world.as_staff(), "r").await.expect(200).json["body"], "");
}

#[tokio::test]
async fn a_change_of_nothing_writes_nothing() {
    let world = World::start().await;
    announced(&world, "r").await;
    let before = meta(&world, "r").await;
    world.clock.advance(1_000);
    let again = put(&world, "r", body("Rooms r")).await.expect(200);
    assert_eq!((&again.json["version"], again.usage.write_units), (&json!(1), 0.0));
    assert_eq!(meta(&world, "r").await, before);
}

#[tokio::test]
async fn it_stands_in_the_lists_of_its_category_and_region_alone() {
    let world = World::start().await;
    announced(&world, "r").await;
    let moved = with(with(body("Rooms"), "category", "jobs"), "closesAt", "2030-03-01T00:00:00Z");
    let first = keys::position(suites::instant("2030-02-01T00:00:00Z").as_millis(), &id("r"));
    let second = keys::position(suites::instant("2030-03-01T00:00:00Z").as_millis(), &id("r"));
    let everywhere = [None, Some("housing"), Some("jobs")]
        .into_iter()
        .flat_map(|category| [(category, None), (category, Some("north"))]);
    for (category, region) in everywhere.clone() {
        let expected = if category == Some("jobs") { vec![] } else { vec![first.clone()] };
        assert_eq!(listed(&world, category, region).await, expected);
    }
    put(&world, "r", moved).await.expect(200);
    for (category, region) in everywhere {
        let expected = if category == Some("housing") { vec![] } else { vec![second.clone()] };
        assert_eq!(listed(&world, category, region).await, expected, "{category:?} {region:?}");
    }
}

#[tokio::test]
async fn a_version_that_is_asked_for_is_honoured() {
    let world = World::start().await;
    let asking = |etag: &str| world.as_staff().with("if-match", etag);
    let path = "/announcements/r";
    for etag in ["\"1\"", "\"x\"", "\"0\""] {
        let refused = asking(etag).put(path, body("A")).await.refused(412, "VERSION_MISMATCH");
        assert_eq!(refused.json["version"], 0);
    }
    asking("*").put(path, body("A")).await.expect(201);
    asking("\"1\"").put(path, body("B")).await.expect(200);
    let refused = asking("\"1\"").put(path, body("C")).await.refused(412, "VERSION_MISMATCH");
    assert_eq!(refused.json["version"], 2);
    assert_eq!(get(&world.as_staff(), "r").await.json["title"], "B");
}

#[tokio::test]
async fn only_staff_may_put_and_only_what_is_valid() {
    let world = World::start().await;
    let member = world.as_member("m1");
    member.put("/announcements/r", body("A")).await.refused(403, "FORBIDDEN");
    member.put("/announcements/r", json!({})).await.refused(400, "INVALID_REQUEST");
    let long = "a".repeat(201);
    let document = |id: &str| json!({ "id": id, "name": "A", "required": true });
    let many: Vec<Value> = (0..51).map(|n| document(&n.to_string())).collect();
    for (field, value, named) in [
        ("title", json!(""), "title"),
        ("title", json!(long), "title"),
        ("title", json!("a\0"), "title"),
        ("organisation", json!(null), "organisation"),
        ("category", json!(""), "category"),
        ("region", json!(long), "region"),
        ("body", json!("a".repeat(10_001)), "body"),
        ("opensAt", json!("soon"), "opensAt"),
        ("closesAt", json!("2030-01-01T00:00:00Z"), "closesAt"),
        ("closesAt", json!("2029-01-01T00:00:00Z"), "closesAt"),
        ("documents", json!([document("a"), document("a")]), "documents[1].id"),
        ("documents", json!([document("a b")]), "documents[0].id"),
        ("documents", json!([{ "id": "a", "name": "", "required": true }]), "documents[0].name"),
        ("documents", json!([{ "id": "a", "name": "A" }]), "documents[0].required"),
        ("documents", json!(many), "documents"),
    ] {
        let refused = put(&world, "r", with(body("A"), field, value)).await;
        let refused = refused.refused(400, "INVALID_REQUEST");
        assert_eq!(refused.json["errors"][0]["field"], named);
    }
    for bad in ["a%23b", "a%20b", &long, "%C3%A9"] {
        put(&world, bad, body("A")).await.refused(400, "INVALID_REQUEST");
    }
    assert!(items(&world).await.is_empty());
}

#[tokio::test]
async fn lengths_are_those_of_the_contract() {
    let world = World::start().await;
    let longest = "🎟".repeat(200);
    let documents: Vec<Value> = (0..50)
        .map(|n| json!({ "id": format!("{n:064}"), "name": longest, "required": n % 2 == 0 }))
        .collect();
    let mut wanted = with(body(&longest), "body", "🎟".repeat(10_000));
    for field in ["organisation", "category", "region"] {
        wanted[field] = json!(longest);
    }
    wanted["documents"] = json!(documents);
    let id = "a".repeat(64);
    put(&world, &id, wanted).await.expect(201);
    assert_eq!(checklist(&world.as_member("m1"), &id).await["total"], 50);
    assert!(hand_over(&world, &[keys::views(&crate::announcements::id(&id), 0)]).await.is_empty());
}
