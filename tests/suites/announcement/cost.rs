//! What requests cost, by the meter: the same among few announcements and among
//! many, and the same for somebody with few favorites and checklists and with
//! many.

use announcement::keys;
use futures_util::future::join_all;
use platform::meter::Usage;
use serde_json::{Value, json};
use suites::World;

use crate::announcements::{body, check, favor, fill, get, put, run, unfavor, with};

/// Calls, read units, write units.
fn cost(usage: &Usage) -> (u64, f64, f64) {
    (usage.total_calls(), usage.read_units, usage.write_units)
}

/// What each operation costs among so many announcements.
async fn costs(announcements: i64) -> Vec<(&'static str, (u64, f64, f64))> {
    let world = World::with_environments(1).await;
    fill(&world, 0, announcements).await;
    let me = world.as_member("m1");
    run(&world, "refresh-home").await;
    let list = world.as_nobody().get("/announcements?limit=10").await.expect(200);
    let open = world.as_nobody().get("/announcements?limit=10&open=true").await.expect(200);
    let filtered =
        world.as_nobody().get("/announcements?limit=10&category=housing&region=north").await;
    let page = format!(
        "/announcements?limit=10&open=true&cursor={}",
        open.json["nextCursor"].as_str().unwrap()
    );
    let next = world.as_nobody().get(&page).await.expect(200);
    let create = put(&world, "r", body("Rooms")).await.expect(201);
    let change = put(&world, "r", body("Flats")).await.expect(200);
    let move_ = with(body("Flats"), "closesAt", "2030-05-01T00:00:00Z");
    let move_ = put(&world, "r", move_).await.expect(200);
    let read = get(&world.as_nobody(), "n-7").await.expect(200);
    let again = get(&world.as_nobody(), "n-7").await.expect(200);
    let favor_first = favor(&me, "n-7").await.expect(204);
    let favor = favor(&me, "n-7").await.expect(204);
    let list_mine = me.get("/favorites").await.expect(200);
    let unfavor = unfavor(&me, "n-7").await.expect(204);
    let check_first = check(&me, "n-7", &["a"]).await.expect(201);
    let check = check(&me, "n-7", &["b"]).await.expect(200);
    let checklist = me.get("/announcements/n-7/checklist").await.expect(200);
    let guest = world.as_nobody().get("/home").await.expect(200);
    let guest_again = world.as_nobody().get("/home").await.expect(200);
    let mine = me.get("/home").await.expect(200);
    let all = [
        ("list", &list),
        ("list of what is open", &open),
        ("list of a category and region", &filtered),
        ("the next page", &next),
        ("create", &create),
        ("change", &change),
        ("move", &move_),
        ("read", &read),
        ("read again", &again),
        ("favor", &favor_first),
        ("favor again", &favor),
        ("favorites", &list_mine),
        ("take back", &unfavor),
        ("check", &check_first),
        ("check again", &check),
        ("checklist", &checklist),
        ("home of a guest", &guest),
        ("home of a guest again", &guest_again),
        ("home", &mine),
    ];
    all.map(|(name, answer)| (name, cost(&answer.usage))).into()
}

#[tokio::test]
async fn every_operation_costs_the_same_among_30_and_400_announcements() {
    let few = costs(30).await;
    let many = costs(400).await;
    for ((name, (calls, read, write)), many) in few.into_iter().zip(many) {
        // Longer ids may make what is read a block longer.
        let more = (many.1.1 - read).abs();
        assert!((name, calls, write) == (many.0, many.1.0, many.1.2) && more <= 0.5, "{many:?}");
        let most = match name {
            "list" | "list of what is open" | "list of a category and region" | "the next page" => {
                (2, 8.0, 0.0)
            }
            "create" => (2, 2.0, 24.0),
            "change" => (2, 2.0, 8.0),
            "move" => (2, 2.0, 24.0),
            "read" => (2, 2.0, 1.0),
            "read again" => (1, 0.0, 1.0),
            "favor" | "take back" => (2, 2.0, 10.0),
            "favor again" => (1, 0.0, 0.0),
            "favorites" => (2, 1.5, 0.0),
            "check" | "check again" => (2, 2.0, 6.0),
            "checklist" => (1, 2.0, 0.0),
            "home of a guest" => (1, 2.0, 0.0),
            "home of a guest again" => (0, 0.0, 0.0),
            _ => (3, 4.0, 0.0),
        };
        assert_eq!(calls, most.0, "{name}");
        assert!(read <= most.1 && write <= most.2, "{name}: {read} read, {write} written");
    }
}

#[tokio::test]
async fn home_takes_the_same_calls_with_few_and_with_many_favorites_and_checklists() {
    let world = World::with_environments(1).await;
    fill(&world, 0, 130).await;
    run(&world, "refresh-home").await;
    let mut costs = Vec::new();
    for (member, favorites, checklists) in [("few", 1, 1), ("many", 100, 130)] {
        let me = world.as_member(member);
        let me = &me;
        join_all(
            (0..favorites).map(|n| async move { favor(me, &format!("n-{n}")).await.expect(204) }),
        )
        .await;
        let lists = (0..checklists)
            .map(|n| async move { check(me, &format!("n-{n}"), &["a", "b"]).await.expect(201) });
        join_all(lists).await;
        world.clock.advance(5_000);
        let home = me.get("/home").await.expect(200);
        let length = |list: &str| home.json[list].as_array().unwrap().len();
        assert_eq!((length("favorites"), length("checklists")), (favorites, checklists.min(20)));
        costs.push(cost(&home.usage));
    }
    assert_eq!((costs[0].0, costs[1].0), (5, 5), "the snapshot, two queries, two reads");
    assert!(costs[1].1 < 100.0, "{} read units", costs[1].1);
}

#[tokio::test]
async fn a_refresh_costs_the_same_among_60_and_400_announcements() {
    let mut costs = Vec::new();
    for announcements in [120, 400] {
        let world = World::start().await;
        fill(&world, 0, announcements).await;
        run(&world, "refresh-home").await;
        let usage = run(&world, "refresh-home").await;
        costs.push(usage.total_calls());
        assert!(usage.read_units < 260.0, "{usage:?}");
    }
    assert_eq!(costs[0], costs[1]);
}

#[tokio::test]
async fn a_window_costs_by_what_it_counts_and_not_by_how_often() {
    let world = World::with_environments(1).await;
    put(&world, "r", body("Rooms")).await.expect(201);
    let mut costs = Vec::new();
    for (members, records) in [(0..1, 1), (1..40, 200)] {
        for member in members {
            favor(&world.as_member(&format!("m{member}")), "r").await.expect(204);
        }
        let key = keys::favorites(&crate::announcements::id("r"), 0);
        let record = json!({
            "eventID": "e",
            "dynamodb": { "Keys": { "pk": { "S": key.pk }, "sk": { "S": key.sk } } },
        });
        let event = json!({ "Records": vec![record; records] });
        let counted = world.cloud.invoke_event("count-announcements", event).await.unwrap();
        let usage = counted.usage;
        costs.push((usage.total_calls(), usage.write_units));
        assert!(usage.read_units <= 98.0, "{usage:?}");
    }
    assert_eq!(costs[0], costs[1]);
    assert_eq!(costs[0].0, 3);
}

#[tokio::test]
async fn what_is_refused_by_its_form_calls_nothing() {
    let world = World::start().await;
    let me = world.as_member("m1");
    for (method, path, body, status, code) in [
        ("PUT", "/announcements/r", body("A"), 403, "FORBIDDEN"),
        ("PUT", "/announcements/r", json!({}), 400, "INVALID_REQUEST"),
        ("PUT", "/announcements/r%20/favorite", Value::Null, 400, "INVALID_REQUEST"),
        ("PUT", "/announcements/r/checklist", json!({ "checked": [1] }), 400, "INVALID_REQUEST"),
        ("GET", "/announcements?limit=0", Value::Null, 400, "INVALID_REQUEST"),
        ("GET", "/favorites?cursor=x", Value::Null, 400, "INVALID_REQUEST"),
    ] {
        let refused = me.send(method, path, body).await.refused(status, code);
        assert_eq!(refused.usage.total_calls(), 0, "{method} {path}");
    }
}
