//! `GET /home`, and the part of it that refresh-home builds.

use announcement::keys;
use serde_json::{Value, json};
use suites::World;
use suites::gate::Gate;

use crate::announcements::{
    DAY_MS, HOUR_MS, MINUTE_MS, announced, body, check, closing_in, count, favor, fill, get, ids,
    item, items, meta, put, run, with,
};

async fn home(world: &World) -> Value {
    world.as_nobody().get("/home").await.expect(200).json
}

/// Home as everybody sees it by now, after a refresh.
async fn refreshed(world: &World) -> Value {
    run(world, "refresh-home").await;
    world.clock.advance(5_000);
    home(world).await
}

#[tokio::test]
async fn before_the_first_refresh_home_is_empty_and_says_so() {
    let world = World::start().await;
    announced(&world, "r").await;
    let empty = json!({ "closingSoon": [], "newest": [], "mostFavorited": [], "builtAt": null });
    assert_eq!(home(&world).await, empty);
    favor(&world.as_member("m1"), "r").await.expect(204);
    let mine = world.as_member("m1").get("/home").await.expect(200).json;
    assert_eq!((&mine["builtAt"], ids(&mine["favorites"])), (&Value::Null, vec!["r"]));
}

#[tokio::test]
async fn everybody_sees_what_closes_soon_what_is_new_and_what_most_people_marked() {
    let world = World::start().await;
    for (name, days) in [("a", 3), ("b", 1), ("c", 2), ("over", 0), ("d", 30)] {
        let body = with(closing_in(&world, days * DAY_MS + 1), "title", name);
        put(&world, name, body).await.expect(201);
        world.clock.advance(1);
    }
    let later = with(closing_in(&world, DAY_MS), "opensAt", "2030-01-01T12:00:00Z");
    put(&world, "later", later).await.expect(201);
    for (name, members) in [("a", 1), ("c", 3), ("d", 2)] {
        for member in 0..members {
            favor(&world.as_member(&format!("m{member}")), name).await.expect(204);
        }
    }
    count(&world).await;
    let home = refreshed(&world).await;
    assert_eq!(ids(&home["closingSoon"]), ["b", "c", "a", "d"]);
    assert_eq!(ids(&home["newest"]), ["later", "d", "c", "b", "a"]);
    assert_eq!(ids(&home["mostFavorited"]), ["c", "d", "a"]);
    let first = &home["mostFavorited"][0];
    assert_eq!((&first["favorites"], &first["title"]), (&json!(3), &json!("c")));
    assert_eq!((&first["open"], &first["daysLeft"]), (&json!(true), &json!(1)));
    assert!(first.get("body").is_none());
    assert!(home.get("favorites").is_none() && home.get("checklists").is_none());
}

#[tokio::test]
async fn members_see_their_favorites_by_closing_and_their_checklists_with_progress() {
    let world = World::start().await;
    let me = world.as_member("m1");
    for (name, days) in [("a", 3), ("b", 1), ("c", 40)] {
        put(&world, name, closing_in(&world, days * DAY_MS)).await.expect(201);
        favor(&me, name).await.expect(204);
    }
    check(&me, "c", &["a"]).await.expect(201);
    world.clock.advance(HOUR_MS / 6);
    announced(&world, "d").await;
    check(&me, "d", &["a", "c"]).await.expect(201);
    let mine = me.get("/home").await.expect(200).json;
    assert_eq!(ids(&mine["favorites"]), ["b", "a", "c"]);
    let days = mine["favorites"].as_array().unwrap().iter().map(|it| it["daysLeft"].clone());
    assert_eq!(days.collect::<Vec<_>>(), [0, 2, 39]);
    assert_eq!(ids(&mine["checklists"]), ["d", "c"], "the last one changed first");
    let first = &mine["checklists"][0];
    assert_eq!((&first["checked"], &first["total"]), (&json!(["a", "c"]), &json!(3)));
    assert_eq!((&first["required"], &first["version"]), (&json!(2), &json!(1)));
    world.clock.advance(DAY_MS);
    let tomorrow = world.as_member("m1").get("/home").await.expect(200).json;
    assert_eq!(ids(&tomorrow["favorites"]), ["a", "c", "b"], "what has closed comes last");
    assert!(tomorrow["favorites"][2].get("daysLeft").is_none());
    let other = world.as_member("m2").get("/home").await.expect(200).json;
    assert_eq!((&other["favorites"], &other["checklists"]), (&json!([]), &json!([])));
}

#[tokio::test]
async fn a_bad_token_is_refused_and_none_is_a_guest() {
    let world = World::start().await;
    world.as_nobody().get("/home").await.expect(200);
    for bad in ["Bearer x", "Basic abc", ""] {
        let caller = world.as_nobody().with("authorization", bad);
        let refused = caller.get("/home").await.refused(401, "UNAUTHENTICATED");
        assert_eq!(refused.usage.total_calls(), 0);
    }
    let me = world.as_member("m1");
    world.clock.advance(15 * MINUTE_MS);
    me.get("/home").await.refused(401, "UNAUTHENTICATED");
}

#[tokio::test]
async fn home_goes_on_when_nobody_refreshes_it_and_says_how_old_it_is() {
    let world = World::with_environments(1).await;
    fill(&world, 0, 15).await;
    let first = refreshed(&world).await;
    assert_eq!(first["builtAt"], "2030-01-01T00:00:00Z");
    announced(&world, "new").await;
    for _ in 0..10 {
        world.clock.advance(MINUTE_MS);
        let old = home(&world).await;
        assert_eq!(old["builtAt"], "2030-01-01T00:00:00Z");
        assert_eq!(ids(&old["newest"]), ids(&first["newest"]));
    }
    assert_eq!(ids(&refreshed(&world).await["newest"])[0], "new");
}

#[tokio::test]
async fn home_is_refreshed_every_minute_by_the_template() {
    let world = World::with_environments(1).await;
    announced(&world, "r").await;
    for minute in 1..=3 {
        world.clock.advance(MINUTE_MS);
        world.settle().await;
        let built_at = format!("2030-01-01T00:0{minute}:00Z");
        assert_eq!(home(&world).await["builtAt"], built_at);
    }
}

#[tokio::test]
async fn what_closes_between_two_refreshes_is_left_out_at_the_millisecond() {
    let world = World::with_environments(1).await;
    for n in 1..=15 {
        put(&world, &format!("a-{n:02}"), closing_in(&world, 6_000 + n)).await.expect(201);
        favor(&world.as_member("m1"), &format!("a-{n:02}")).await.expect(204);
    }
    count(&world).await; // three seconds
    assert_eq!(refreshed(&world).await["closingSoon"], json!([]), "eight seconds later");
    let world = World::with_environments(1).await;
    for n in 1..=15 {
        put(&world, &format!("a-{n:02}"), closing_in(&world, 6_000 + n)).await.expect(201);
    }
    refreshed(&world).await;
    world.clock.advance(1_000);
    for n in 1..=15_usize {
        let home = home(&world).await;
        for list in ["closingSoon", "newest"] {
            assert_eq!(home[list].as_array().unwrap().len(), (16 - n).min(10), "{list}");
        }
        assert_eq!(ids(&home["closingSoon"])[0], format!("a-{n:02}"));
        world.clock.advance(1);
    }
    assert_eq!(home(&world).await["closingSoon"], json!([]));
}

#[tokio::test]
async fn what_opens_between_two_refreshes_is_shown_at_the_millisecond() {
    let world = World::with_environments(1).await;
    let soon = with(closing_in(&world, DAY_MS), "opensAt", "2030-01-01T00:00:09Z");
    put(&world, "r", soon).await.expect(201);
    refreshed(&world).await;
    world.clock.advance(3_999);
    assert_eq!(home(&world).await["closingSoon"], json!([]));
    world.clock.advance(1);
    assert_eq!(ids(&home(&world).await["closingSoon"]), ["r"]);
}

#[tokio::test]
async fn closed_announcements_leave_the_ranking_and_come_back_when_they_are_given_more_time() {
    let world = World::start().await;
    for n in 0..200 {
        let name = format!("old-{n}");
        put(&world, &name, closing_in(&world, HOUR_MS)).await.expect(201);
    }
    for (name, members) in [("old-0", 3), ("old-1", 2), ("r", 1)] {
        if name == "r" {
            announced(&world, "r").await;
        }
        for member in 0..members {
            favor(&world.as_member(&format!("m{member}")), name).await.expect(204);
        }
    }
    count(&world).await;
    assert_eq!(ids(&refreshed(&world).await["mostFavorited"]), ["old-0", "old-1", "r"]);
    world.clock.advance(HOUR_MS);
    for _ in 0..5 {
        assert_eq!(ids(&refreshed(&world).await["mostFavorited"]), ["r"]);
    }
    let ranked = items(&world).await;
    let ranked = ranked.iter().filter(|item| item.contains_key("index1_pk")).count();
    assert_eq!(ranked, 1, "all that closed are out of it");
    // Favorites that go meanwhile count where it comes back.
    crate::announcements::unfavor(&world.as_member("m0"), "old-0").await.expect(204);
    count(&world).await;
    put(&world, "old-0", closing_in(&world, DAY_MS)).await.expect(200);
    let home = refreshed(&world).await;
    assert_eq!(ids(&home["mostFavorited"]), ["old-0", "r"]);
    assert_eq!(home["mostFavorited"][0]["favorites"], 2);
}

#[tokio::test(start_paused = true)]
async fn one_that_is_given_more_time_while_it_leaves_the_ranking_stays_in_it() {
    let gate = Gate::default();
    let world = World::behind(&gate).await;
    put(&world, "r", closing_in(&world, HOUR_MS)).await.expect(201);
    favor(&world.as_member("m1"), "r").await.expect(204);
    count(&world).await;
    world.clock.advance(HOUR_MS);
    let more_time = async {
        put(&world, "r", closing_in(&world, DAY_MS)).await.expect(200);
    };
    gate.overtaken(("UpdateItem", 1), run(&world, "refresh-home"), more_time).await;
    world.clock.advance(MINUTE_MS);
    assert_eq!(ids(&refreshed(&world).await["mostFavorited"]), ["r"]);
}

#[tokio::test]
async fn an_older_run_that_ends_later_does_not_undo_a_newer_one() {
    let world = World::start().await;
    announced(&world, "r").await;
    world.clock.advance(MINUTE_MS);
    run(&world, "refresh-home").await;
    let built_at = async || {
        let item = item(&world, keys::snapshot()).await.expect("it is there");
        item["built_at_ms"].as_n().unwrap().parse::<i64>().unwrap()
    };
    let newer = built_at().await;
    world.clock.advance(-1_000);
    put(&world, "r", body("Flats")).await.expect(200);
    run(&world, "refresh-home").await;
    assert_eq!(built_at().await, newer);
}

#[tokio::test]
async fn a_snapshot_of_the_longest_texts_fits_an_item() {
    let world = World::start().await;
    let longest = "🎟".repeat(200);
    for n in 0..45_i64 {
        let mut body = closing_in(&world, DAY_MS * if n < 20 { 60 } else { 1 } + n);
        for field in ["title", "organisation", "category", "region"] {
            body[field] = json!(longest);
        }
        let name = format!("{n:064}");
        put(&world, &name, body).await.expect(201);
        if n % 3 == 0 {
            favor(&world.as_member("m1"), &name).await.expect(204);
        }
        world.clock.advance(1);
    }
    count(&world).await;
    let home = refreshed(&world).await;
    assert_eq!(home["closingSoon"].as_array().unwrap().len(), 10);
    assert_eq!(meta(&world, &format!("{:064}", 3)).await.favorites, 1);
    get(&world.as_nobody(), &format!("{:064}", 3)).await.expect(200);
}
