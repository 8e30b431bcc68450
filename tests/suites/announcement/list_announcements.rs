//! `GET /announcements`.

use serde_json::{Value, json};
use suites::World;

use crate::announcements::{DAY_MS, body, closing_in, count, favor, fill, get, ids, put, with};

async fn list(world: &World, query: &str) -> Vec<Value> {
    world.as_staff().list(&format!("/announcements{query}"), 3).await
}

fn names(items: &[Value]) -> Vec<&str> {
    items.iter().map(|item| item["id"].as_str().unwrap()).collect()
}

/// Four announcements of two categories and two regions, one after the other.
async fn four(world: &World) {
    for (n, (category, region)) in
        [("housing", "north"), ("housing", "south"), ("jobs", "north"), ("jobs", "south")]
            .into_iter()
            .enumerate()
    {
        let days = i64::try_from(n).unwrap() + 1;
        let body = with(closing_in(world, days * DAY_MS), "category", category);
        put(world, &format!("a-{n}"), with(body, "region", region)).await.expect(201);
    }
}

#[tokio::test]
async fn every_combination_of_filters_has_what_belongs_to_it() {
    let world = World::start().await;
    four(&world).await;
    for (query, expected) in [
        ("", vec!["a-3", "a-2", "a-1", "a-0"]),
        ("?category=housing", vec!["a-1", "a-0"]),
        ("?region=north", vec!["a-2", "a-0"]),
        ("?category=jobs&region=south", vec!["a-3"]),
        ("?category=other", vec![]),
        ("?category=housing&region=", vec![]),
        ("?open=true", vec!["a-0", "a-1", "a-2", "a-3"]),
        ("?open=true&region=south", vec!["a-1", "a-3"]),
        ("?open=false", vec![]),
    ] {
        if query.ends_with('=') {
            let path = format!("/announcements{query}");
            world.as_nobody().get(&path).await.refused(400, "INVALID_REQUEST");
            continue;
        }
        assert_eq!(names(&list(&world, query).await), expected, "{query}");
    }
}

#[tokio::test]
async fn a_filter_is_compared_in_its_normal_form_and_holds_any_text() {
    let world = World::start().await;
    for (id, category) in [("a", "caf\u{e9}"), ("b", "a#b"), ("c", "a%23b"), ("d", "*")] {
        put(&world, id, with(body("Rooms"), "category", category)).await.expect(201);
    }
    for (query, expected) in
        [("cafe%CC%81", "a"), ("a%23b", "b"), ("a%2523b", "c"), ("%2A", "d"), ("caf%C3%A9", "a")]
    {
        let found = list(&world, &format!("?category={query}")).await;
        assert_eq!(names(&found), [expected], "{query}");
    }
}

#[tokio::test]
async fn what_is_open_the_clock_says_to_the_millisecond() {
    let world = World::with_environments(1).await;
    let times = [
        ("soon", "2030-01-01T00:00:01Z", "2030-01-01T00:00:02Z"),
        ("now", "2029-01-01T00:00:00Z", "2030-01-01T00:00:01.5Z"),
        ("over", "2028-01-01T00:00:00Z", "2030-01-01T00:00:00Z"),
        ("later", "2040-01-01T00:00:00Z", "2050-01-01T00:00:00Z"),
    ];
    for (id, opens_at, closes_at) in times {
        let body = with(with(body("Rooms"), "opensAt", opens_at), "closesAt", closes_at);
        put(&world, id, body).await.expect(201);
    }
    let (mut open, mut closed) = (Vec::new(), Vec::new());
    for ms in [0, 999, 1, 499, 1, 499, 1] {
        world.clock.advance(ms);
        let now = world.clock.now();
        // Guests are shown pages from memory.
        let guest = world.as_nobody();
        let is = guest.get("/announcements?open=true").await.expect(200).json;
        let not = guest.get("/announcements?open=false").await.expect(200).json;
        for item in is["items"].as_array().unwrap() {
            assert_eq!(item["open"], true, "{now}");
        }
        for item in not["items"].as_array().unwrap() {
            assert_eq!(item["open"], false, "{now}");
        }
        open.push(ids(&is["items"]).join(" "));
        closed.push(ids(&not["items"]).join(" "));
    }
    assert_eq!(open, ["now", "now", "now soon", "now soon", "soon", "soon", ""]);
    assert_eq!(closed[0], "later soon over");
    assert_eq!(closed[6], "later soon now over");
}

#[tokio::test]
async fn pages_go_on_where_they_ended_and_none_is_short() {
    let world = World::start().await;
    fill(&world, 0, 25).await;
    // Some that are not open stand in between.
    for n in [3, 4, 5, 6, 20] {
        let closes_in = 10 * DAY_MS + n * 60_000 + 1;
        let body = with(closing_in(&world, closes_in), "opensAt", "2030-01-05T00:00:00Z");
        put(&world, &format!("later-{n}"), body).await.expect(201);
    }
    let expected: Vec<String> = (0..25).map(|n| format!("n-{n}")).collect();
    for (limit, pages) in [(1, 25), (4, 7), (25, 1), (100, 1)] {
        let path = format!("/announcements?open=true&limit={limit}");
        let (mut found, mut next, mut read) = (Vec::new(), path.clone(), 0);
        loop {
            let page = world.as_nobody().get(&next).await.expect(200).json;
            found.extend(ids(&page["items"]).into_iter().map(str::to_owned));
            read += 1;
            let Some(cursor) = page["nextCursor"].as_str() else { break };
            assert_eq!(page["items"].as_array().unwrap().len(), limit, "no short page");
            next = format!("{path}&cursor={cursor}");
        }
        assert_eq!((&found, read), (&expected, pages), "{limit}");
    }
    let all = world.as_nobody().list("/announcements", 7).await;
    assert_eq!(all.len(), 30);
    assert_eq!(all.last().unwrap()["id"], "n-0");
    assert_eq!(list(&world, "?open=false").await.len(), 5);
}

#[tokio::test]
async fn a_cursor_of_another_list_or_none_is_refused() {
    let world = World::start().await;
    four(&world).await;
    let page = world.as_nobody().get("/announcements?limit=1").await.expect(200).json;
    let cursor = page["nextCursor"].as_str().unwrap();
    for query in ["category=jobs&", "open=true&", "open=false&", "region=north&"] {
        let path = format!("/announcements?{query}cursor={cursor}");
        world.as_nobody().get(&path).await.refused(400, "INVALID_REQUEST");
    }
    for query in ["limit=0", "limit=101", "cursor=x", "open=1", "open=yes", "category=%00"] {
        let path = format!("/announcements?{query}");
        world.as_nobody().get(&path).await.refused(400, "INVALID_REQUEST");
    }
}

#[tokio::test]
async fn what_staff_put_is_in_their_next_list_and_in_others_after_a_second() {
    let world = World::with_environments(1).await;
    let path = "/announcements";
    assert_eq!(world.as_nobody().get(path).await.json["items"], json!([]));
    put(&world, "r", body("Rooms")).await.expect(201);
    assert_eq!(ids(&world.as_staff().get(path).await.json["items"]), ["r"]);
    put(&world, "s", body("Rooms")).await.expect(201);
    assert_eq!(ids(&world.as_nobody().get(path).await.json["items"]), ["r"]);
    world.clock.advance(1_000);
    assert_eq!(ids(&world.as_nobody().get(path).await.json["items"]), ["s", "r"]);
}

#[tokio::test]
async fn lists_show_the_counts() {
    let world = World::start().await;
    put(&world, "r", body("Rooms")).await.expect(201);
    favor(&world.as_member("m1"), "r").await.expect(204);
    get(&world.as_nobody(), "r").await.expect(200);
    count(&world).await;
    let item = &list(&world, "?category=housing").await[0];
    assert_eq!((&item["favorites"], &item["views"]), (&json!(1), &json!(1)));
    assert!(item.get("body").is_none() && item.get("documents").is_none());
}
