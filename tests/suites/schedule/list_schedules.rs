//! `GET /schedules?from=&to=`.

use suites::World;

use crate::calendar::{body, create, created, delete, ids_of, on_the_second, with};

/// Schedules at 8–9, 9–10, 12–13 and 20–6 of the next day, not created in that
/// order.
async fn day(world: &World) -> [String; 4] {
    let caller = world.as_member("m1");
    let noon = created(&caller, on_the_second("12:00", "13:00")).await;
    let night = body("2030-01-02T20:00:00Z", "2030-01-03T06:00:00Z");
    let night = created(&caller, night).await;
    let nine = created(&caller, on_the_second("09:00", "10:00")).await;
    let eight = created(&caller, on_the_second("08:00", "09:00")).await;
    [eight, nine, noon, night]
}

#[tokio::test]
async fn what_overlaps_the_range_is_listed_by_its_start() {
    let world = World::start().await;
    let all = day(&world).await;
    let caller = world.as_member("m1");
    for (query, expected) in [
        ("", &all[..]),
        ("?from=2030-01-02T08:00:00Z&to=2030-01-03T06:00:00Z", &all[..]),
        ("?from=2030-01-02T08:59:59.999Z", &all[..]),
        ("?from=2030-01-02T09:00:00Z", &all[1..]),
        ("?to=2030-01-02T12:00:00Z", &all[..2]),
        ("?to=2030-01-02T12:00:00.001Z", &all[..3]),
        ("?from=2030-01-02T09:30:00Z&to=2030-01-02T12:30:00Z", &all[1..3]),
        ("?from=2030-01-02T09:30:00Z&to=2030-01-02T09:31:00Z", &all[1..2]),
        ("?from=2030-01-02T10:00:00Z&to=2030-01-02T12:00:00Z", &[]),
        ("?from=2030-01-03T05:59:59Z&to=2031-01-01T00:00:00Z", &all[3..]),
        ("?from=2030-01-03T06:00:00Z", &[]),
        ("?from=0001-01-01T00:00:00Z&to=9999-12-30T00:00:00Z", &all[..]),
        ("?to=2030-01-02T08:00:00Z", &[]),
    ] {
        for limit in [1, 2, 100] {
            let listed = caller.list(&format!("/schedules{query}"), limit).await;
            assert_eq!(ids_of(&listed), expected, "{query} by {limit}");
        }
    }
    let first = &caller.list("/schedules", 1).await[0];
    assert_eq!(*first, caller.get(&format!("/schedules/{}", all[0])).await.json);
    assert!(world.as_member("m2").list("/schedules", 10).await.is_empty());
}

#[tokio::test]
async fn before_the_first_moment_of_all_there_is_nothing() {
    let world = World::start().await;
    let caller = world.as_member("m1");
    let id = created(&caller, body("0001-01-01T00:00:00Z", "0001-01-01T01:00:00Z")).await;
    assert!(caller.list("/schedules?to=0001-01-01T00:00:00Z", 10).await.is_empty());
    let listed = caller.list("/schedules?to=0001-01-01T00:00:00.001Z", 10).await;
    assert_eq!(ids_of(&listed), [id.as_str()]);
    assert_eq!(ids_of(&caller.list("/schedules", 10).await), [id.as_str()]);
}

#[tokio::test]
async fn an_offset_counts_however_its_plus_is_written() {
    let world = World::start().await;
    let all = day(&world).await;
    let caller = world.as_member("m1");
    for plus in ["%2B", "+", "%20"] {
        let query =
            format!("/schedules?from=2030-01-02T10:00:00{plus}01:00&to=2030-01-02T11:00:00Z");
        assert_eq!(ids_of(&caller.list(&query, 10).await), all[1..2], "{plus}");
    }
}

#[tokio::test]
async fn pages_go_on_where_the_last_one_ended_whatever_happened_in_between() {
    let world = World::start().await;
    let caller = world.as_member("m1");
    let mut ids = Vec::new();
    for minute in 10..40 {
        let times = on_the_second(&format!("09:{minute}"), &format!("09:{}", minute + 1));
        ids.push(created(&caller, times).await);
    }
    let page = caller.get("/schedules?limit=10").await.expect(200).json;
    let cursor = page["nextCursor"].as_str().unwrap();
    let next = format!("/schedules?limit=10&cursor={cursor}");
    let second = caller.get(&next).await.expect(200).json;
    assert_eq!(ids_of(second["items"].as_array().unwrap()), ids[10..20]);
    // The last one of the first page goes, another comes before it.
    delete(&caller, &ids[9]).await.expect(204);
    create(&caller, on_the_second("08:00", "09:00")).await.expect(201);
    let again = caller.get(&next).await.expect(200).json;
    assert_eq!(ids_of(again["items"].as_array().unwrap()), ids[10..20]);
    // The cursor belongs to this list of this member.
    for other in [
        format!("{next}&from=2030-01-02T00:00:00Z"),
        format!("/schedules?limit=10&cursor=x{cursor}"),
    ] {
        caller.get(&other).await.refused(400, "INVALID_REQUEST");
    }
    world.as_member("m2").get(&next).await.refused(400, "INVALID_REQUEST");
}

#[tokio::test]
async fn ranges_and_limits_that_make_no_sense_are_refused() {
    let world = World::start().await;
    let caller = world.as_member("m1");
    for (query, field) in [
        ("from=2030-01-02T00:00:00Z&to=2030-01-02T00:00:00Z", "to"),
        ("from=2030-01-03T00:00:00Z&to=2030-01-02T00:00:00Z", "to"),
        ("from=2030-01-02", "from"),
        ("to=now", "to"),
        ("to=", "to"),
        ("to=9999-12-31T00:00:00Z", "to"),
        ("from=%00", "from"),
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("cursor=x", "cursor"),
    ] {
        let answer = caller.get(&format!("/schedules?{query}")).await;
        let answer = answer.refused(400, "INVALID_REQUEST");
        assert_eq!(answer.json["errors"][0]["field"], field, "{query}");
    }
}

#[tokio::test]
async fn a_page_of_the_largest_schedules_is_read_whole() {
    let world = World::start().await;
    let caller = world.as_member("m1");
    for minute in 10..60 {
        let times =
            body(&format!("2030-01-02T09:{minute}:00Z"), &format!("2030-01-02T09:{minute}:30Z"));
        create(&caller, with(times, "contents", "🎟".repeat(10_000))).await.expect(201);
    }
    let page = caller.get("/schedules?limit=100").await.expect(200).json;
    assert_eq!(page["items"].as_array().unwrap().len(), 50);
    assert!(page.get("nextCursor").is_none());
}
