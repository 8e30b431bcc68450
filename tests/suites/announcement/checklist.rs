//! `GET` and `PUT /announcements/{id}/checklist`.

use serde_json::{Value, json};
use suites::World;
use suites::gate::Gate;

use crate::announcements::{announced, body, check, checklist, items, put, with};

fn documents(ids: &[&str]) -> Value {
    let documents = ids.iter().map(|id| json!({ "id": id, "name": "A", "required": *id != "c" }));
    with(body("Rooms"), "documents", documents.collect::<Vec<_>>())
}

#[tokio::test]
async fn a_checklist_is_what_was_put_last() {
    let world = World::start().await;
    announced(&world, "r").await;
    let me = world.as_member("m1");
    let empty = me.get("/announcements/r/checklist").await.expect(200);
    let expected = json!({ "checked": [], "total": 3, "required": 2, "version": 0 });
    assert_eq!(empty.json, expected);
    assert!(!empty.headers.contains_key("etag"));
    let first = check(&me, "r", &["c", "a", "c"]).await.expect(201);
    let expected = json!({ "checked": ["a", "c"], "total": 3, "required": 2, "version": 1 });
    assert_eq!((&first.json, &first.headers["etag"]), (&expected, &"\"1\"".parse().unwrap()));
    assert_eq!(first.headers["location"], "/announcements/r/checklist");
    assert_eq!(checklist(&me, "r").await, expected);
    let second = check(&me, "r", &["b"]).await.expect(200);
    assert_eq!(second.json["version"], 2);
    assert_eq!(checklist(&me, "r").await["checked"], json!(["b"]));
    assert_eq!(check(&me, "r", &[]).await.expect(200).json["version"], 3);
    assert_eq!(checklist(&me, "r").await["checked"], json!([]));
    assert_eq!(checklist(&world.as_member("m2"), "r").await["version"], 0, "to each their own");
}

#[tokio::test]
async fn the_same_list_again_is_no_change() {
    let world = World::start().await;
    announced(&world, "r").await;
    let me = world.as_member("m1");
    check(&me, "r", &["a", "b"]).await.expect(201);
    let again = check(&me, "r", &["b", "a"]).await.expect(200);
    assert_eq!((&again.json["version"], again.usage.write_units), (&json!(1), 0.0));
}

#[tokio::test]
async fn only_documents_of_the_announcement_are_accepted() {
    let world = World::start().await;
    announced(&world, "r").await;
    let me = world.as_member("m1");
    let refused = check(&me, "r", &["a", "x", "y"]).await.refused(400, "INVALID_REQUEST");
    let fields = refused.json["errors"].as_array().unwrap().iter();
    let fields: Vec<&str> = fields.map(|error| error["field"].as_str().unwrap()).collect();
    assert_eq!(fields, ["checked[1]", "checked[2]"]);
    for bad in [json!({}), json!({ "checked": "a" }), json!({ "checked": ["a b"] }), json!([])] {
        me.put("/announcements/r/checklist", bad).await.refused(400, "INVALID_REQUEST");
    }
    let many: Vec<&str> = vec!["a"; 1_001];
    check(&me, "r", &many).await.refused(400, "INVALID_REQUEST");
    check(&me, "s", &[]).await.refused(404, "ANNOUNCEMENT_NOT_FOUND");
    me.get("/announcements/s/checklist").await.refused(404, "ANNOUNCEMENT_NOT_FOUND");
    assert_eq!(checklist(&me, "r").await["version"], 0);
    assert!(items(&world).await.iter().all(|it| !it["pk"].as_s().unwrap().starts_with("MEMBER")));
}

#[tokio::test]
async fn a_version_that_is_asked_for_is_honoured() {
    let world = World::start().await;
    announced(&world, "r").await;
    let asking = |etag: &str| world.as_member("m1").with("if-match", etag);
    for etag in ["\"1\"", "\"0\"", "\"x\"", "W/\"1\""] {
        let refused = check(&asking(etag), "r", &["a"]).await.refused(412, "VERSION_MISMATCH");
        assert_eq!(refused.json["version"], 0);
    }
    check(&asking("*"), "r", &["a"]).await.expect(201);
    let second = check(&asking("\"1\""), "r", &["b"]).await.expect(200);
    assert_eq!(second.headers["etag"], "\"2\"");
    let refused = check(&asking("\"1\""), "r", &["c"]).await.refused(412, "VERSION_MISMATCH");
    assert_eq!(refused.json["version"], 2);
    check(&asking("1"), "r", &["c"]).await.refused(400, "INVALID_REQUEST");
    assert_eq!(checklist(&world.as_member("m1"), "r").await["checked"], json!(["b"]));
}

#[tokio::test]
async fn checks_of_documents_that_staff_take_away_vanish_and_the_rest_stay() {
    let world = World::start().await;
    put(&world, "r", documents(&["a", "b", "c"])).await.expect(201);
    let me = world.as_member("m1");
    check(&me, "r", &["a", "c"]).await.expect(201);
    let seen = async || {
        let seen = checklist(&me, "r").await;
        let home = world.as_member("m1").get("/home").await.expect(200).json;
        for field in ["checked", "total", "required", "version"] {
            assert_eq!(home["checklists"][0][field], seen[field], "home says the same");
        }
        (seen["checked"].clone(), seen["total"].clone(), seen["required"].clone())
    };
    assert_eq!(seen().await, (json!(["a", "c"]), json!(3), json!(2)));
    put(&world, "r", documents(&["c", "b"])).await.expect(200);
    assert_eq!(seen().await, (json!(["c"]), json!(2), json!(1)));
    check(&me, "r", &["a"]).await.refused(400, "INVALID_REQUEST");
    // One that comes back is another one: nobody has it yet.
    put(&world, "r", documents(&["a", "b", "c", "d"])).await.expect(200);
    assert_eq!(seen().await, (json!(["c"]), json!(4), json!(3)));
    let changed = check(&me, "r", &["a", "c", "d"]).await.expect(200);
    assert_eq!(changed.json["version"], 2);
    assert_eq!(seen().await, (json!(["a", "c", "d"]), json!(4), json!(3)));
    put(&world, "r", documents(&[])).await.expect(200);
    assert_eq!(seen().await, (json!([]), json!(0), json!(0)));
}

#[tokio::test]
async fn what_is_as_it_should_be_after_documents_vanished_is_not_written() {
    let world = World::start().await;
    put(&world, "r", documents(&["a", "b"])).await.expect(201);
    let me = world.as_member("m1");
    check(&me, "r", &["a", "b"]).await.expect(201);
    put(&world, "r", documents(&["b"])).await.expect(200);
    put(&world, "r", documents(&["a", "b"])).await.expect(200);
    assert_eq!(check(&me, "r", &["b"]).await.expect(200).json["version"], 1);
    assert_eq!(check(&me, "r", &["a", "b"]).await.expect(200).json["version"], 2);
    assert_eq!(checklist(&me, "r").await["checked"], json!(["a", "b"]));
}

#[tokio::test]
async fn a_checklist_can_be_kept_after_the_closing() {
    let world = World::start().await;
    put(&world, "r", with(body("Rooms"), "closesAt", "2030-01-01T00:00:01Z")).await.expect(201);
    world.clock.advance(1_000);
    check(&world.as_member("m1"), "r", &["a"]).await.expect(201);
    assert_eq!(checklist(&world.as_member("m1"), "r").await["checked"], json!(["a"]));
}

#[tokio::test(start_paused = true)]
async fn one_that_was_begun_elsewhere_meanwhile_is_changed_and_not_begun_again() {
    let gate = Gate::default();
    let world = World::behind(&gate).await;
    announced(&world, "r").await;
    let me = world.as_member("m1");
    let begin = async {
        check(&me, "r", &["a"]).await.expect(201);
    };
    let late = gate.overtaken(("TransactWriteItems", 1), check(&me, "r", &["b"]), begin).await;
    let late = late.expect(200).json;
    assert_eq!((&late["checked"], &late["version"]), (&json!(["b"]), &json!(2)));
    assert_eq!(checklist(&me, "r").await, late);
}
