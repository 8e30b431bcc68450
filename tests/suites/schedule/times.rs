//! Times: zones, clocks that jump, months, years.

use platform::table::{Item, Key, s};
use suites::World;

use crate::calendar::{assert_sound, body, create, created, ids_of, update, with};

/// Gives a member a time zone, as identity keeps it.
async fn live_in(world: &World, member: &str, zone: &str) {
    let mut item: Item = Key::new(format!("MEMBER#{member}"), "MEMBER").into_item();
    item.insert("time_zone".to_owned(), s(zone));
    let put = world.cloud.client().put_item().table_name(identity::TABLE.default);
    put.set_item(Some(item)).send().await.expect("a member is written");
}

#[tokio::test]
async fn a_local_time_is_read_in_the_members_zone_and_as_utc_without_one() {
    let world = World::start().await;
    live_in(&world, "berlin", "Europe/Berlin").await;
    live_in(&world, "seoul", "Asia/Seoul").await;
    for (member, start, end) in [
        ("berlin", "2030-07-01T07:00:00Z", "2030-07-01T10:00:00Z"),
        ("seoul", "2030-07-01T00:00:00Z", "2030-07-01T10:00:00Z"),
        ("nowhere", "2030-07-01T09:00:00Z", "2030-07-01T10:00:00Z"),
    ] {
        // The end has an offset, which counts.
        let wanted = body("2030-07-01T09:00:00", "2030-07-01T10:00:00Z");
        let answer = create(&world.as_member(member), wanted).await.expect(201).json;
        assert_eq!((&answer["startTime"], &answer["endTime"]), (&start.into(), &end.into()));
    }
}

#[tokio::test]
async fn a_new_zone_counts_at_once_and_is_read_only_for_local_times() {
    let world = World::start().await;
    let caller = world.as_member("m1");
    live_in(&world, "m1", "Europe/Berlin").await;
    let local = body("2030-07-01T09:00:00", "2030-07-01T10:00:00");
    let answer = create(&caller, local.clone()).await.expect(201);
    assert_eq!(answer.usage.calls_of("GetItem"), 1);
    let id = answer.json["id"].as_str().unwrap();
    live_in(&world, "m1", "America/New_York").await;
    let moved = update(&caller, id, local).await.expect(200);
    assert_eq!(moved.json["startTime"], "2030-07-01T13:00:00Z");
    assert_eq!(moved.usage.calls_of("GetItem"), 1);
    let utc = body("2030-07-02T09:00:00Z", "2030-07-02T10:00:00Z");
    assert_eq!(create(&caller, utc).await.expect(201).usage.calls_of("GetItem"), 0);
    let listed = caller.list("/schedules?from=2030-07-01T09:30:00&to=2030-07-01T09:31:00", 5).await;
    assert_eq!(ids_of(&listed), [id]);
    let earlier =
        caller.list("/schedules?from=2030-07-01T08:00:00&to=2030-07-01T09:00:00", 5).await;
    assert!(earlier.is_empty());
}

#[tokio::test]
async fn a_repeat_gets_the_first_answer_though_its_local_times_make_no_sense_any_more() {
    let world = World::start().await;
    live_in(&world, "m1", "Europe/Berlin").await;
    let caller = world.as_member("m1").with("idempotency-key", "k-1");
    let wanted = body("2030-07-01T09:00:00", "2030-07-01T10:00:00Z");
    let first = create(&caller, wanted.clone()).await.expect(201);
    live_in(&world, "m1", "America/New_York").await; // where it would end before it begins
    let again = create(&caller, wanted.clone()).await.expect(201);
    assert_eq!(again.json, first.json);
    for header in ["location", "etag"] {
        assert_eq!(again.headers[header], first.headers[header]);
    }
    create(&caller, with(wanted.clone(), "title", "Doctor")).await.refused(400, "INVALID_REQUEST");
    let other = world.as_member("m1").with("idempotency-key", "k-2");
    for caller in [other, world.as_member("m1")] {
        create(&caller, wanted.clone()).await.refused(400, "INVALID_REQUEST");
    }
    world.clock.advance(24 * 60 * 60 * 1000);
    let caller = world.as_member("m1").with("idempotency-key", "k-1");
    create(&caller, wanted).await.refused(400, "INVALID_REQUEST");
    assert_eq!(assert_sound(&world, "m1").await.schedules.len(), 1);
}

#[tokio::test]
async fn a_time_that_clocks_skip_moves_forward() {
    let world = World::start().await;
    live_in(&world, "m1", "Europe/Berlin").await;
    let caller = world.as_member("m1");
    // On that night 02:00 is followed by 03:00, so 02:30 is 03:30.
    let wanted = body("2030-03-31T02:30:00", "2030-03-31T04:00:00");
    let answer = create(&caller, wanted).await.expect(201).json;
    assert_eq!(answer["startTime"], "2030-03-31T01:30:00Z");
    assert_eq!(answer["endTime"], "2030-03-31T02:00:00Z");
    // 02:30 to 03:30 of the wall is no time at all.
    let nothing = body("2030-03-31T02:30:00", "2030-03-31T03:30:00");
    create(&caller, nothing).await.refused(400, "INVALID_REQUEST");
    // The hour before is free, though on the wall it seems to be within.
    created(&caller, body("2030-03-31T01:00:00", "2030-03-31T03:00:00")).await;
    assert_sound(&world, "m1").await;
}

#[tokio::test]
async fn of_a_time_that_clocks_show_twice_the_earlier_counts() {
    let world = World::start().await;
    live_in(&world, "m1", "Europe/Berlin").await;
    let caller = world.as_member("m1");
    // On that night the hour from 02:00 to 03:00 is there twice.
    let wanted = body("2030-10-27T02:30:00", "2030-10-27T03:30:00");
    let answer = create(&caller, wanted).await.expect(201).json;
    assert_eq!(answer["startTime"], "2030-10-27T00:30:00Z");
    assert_eq!(answer["endTime"], "2030-10-27T02:30:00Z"); // two hours
    // The later 02:30 can be said with its offset.
    let later = body("2030-10-27T02:30:00+01:00", "2030-10-27T02:45:00+01:00");
    create(&caller, later).await.refused(409, "SCHEDULE_CONFLICT");
    let later = body("2030-10-27T03:30:00+01:00", "2030-10-27T03:45:00");
    let later = create(&caller, later).await.expect(201).json;
    assert_eq!(later["startTime"], "2030-10-27T02:30:00Z");
    assert_eq!(later["endTime"], "2030-10-27T02:45:00Z");
    assert_sound(&world, "m1").await;
}

#[tokio::test]
async fn schedules_reach_over_midnight_the_end_of_a_month_and_of_a_year() {
    let world = World::start().await;
    let caller = world.as_member("m1");
    for (start, end, inside) in [
        ("2030-01-31T22:00:00Z", "2030-02-01T02:00:00Z", "2030-02-01T01:00:00Z"),
        ("2032-02-28T23:00:00Z", "2032-03-01T01:00:00Z", "2032-02-29T12:00:00Z"),
        ("2030-12-31T23:59:59Z", "2031-01-01T00:00:01Z", "2031-01-01T00:00:00Z"),
        ("2033-01-01T00:00:00Z", "2034-01-01T00:00:00Z", "2033-07-01T00:00:00Z"),
    ] {
        let id = created(&caller, body(start, end)).await;
        let after = format!("{}.5Z", inside.trim_end_matches('Z'));
        let refused = create(&caller, body(inside, &after)).await;
        assert_eq!(refused.refused(409, "SCHEDULE_CONFLICT").json["conflictsWith"], id);
        let listed = caller.list(&format!("/schedules?from={inside}&to={after}"), 5).await;
        assert_eq!(ids_of(&listed), [id]);
    }
    assert_eq!(assert_sound(&world, "m1").await.schedules.len(), 4);
}

#[tokio::test]
async fn any_year_of_four_digits_will_do() {
    let world = World::start().await;
    let caller = world.as_member("m1");
    let years = [
        ("0001-01-01T00:00:00Z", "0001-01-01T01:00:00Z"),
        ("1900-02-28T00:00:00Z", "1900-03-01T00:00:00Z"),
        ("1969-12-31T23:30:00Z", "1970-01-01T00:30:00Z"),
        ("2038-01-19T03:14:07Z", "2038-01-19T03:14:08Z"),
        ("2038-01-19T03:14:08Z", "2039-01-01T00:00:00Z"),
        ("2100-02-28T00:00:00Z", "2100-03-01T00:00:00Z"),
        ("9998-12-30T21:59:59Z", "9999-12-30T21:59:59Z"),
    ];
    for (start, end) in years.iter().rev() {
        let answer = create(&caller, with(body(start, end), "remindBeforeMinutes", 0)).await;
        let answer = answer.expect(201).json;
        assert_eq!((&answer["startTime"], &answer["endTime"]), (&(*start).into(), &(*end).into()));
        create(&caller, body(start, end)).await.refused(409, "SCHEDULE_CONFLICT");
    }
    let listed = caller.list("/schedules", 2).await;
    let starts: Vec<_> = listed.iter().map(|item| item["startTime"].as_str().unwrap()).collect();
    assert_eq!(starts, years.map(|(start, _)| start));
    for bad in ["10000-01-01T00:00:00Z", "+002030-01-01T00:00:00Z", "9999-12-31T00:00:00Z"] {
        let wanted = body("2050-01-01T00:00:00Z", bad);
        create(&caller, wanted).await.refused(400, "INVALID_REQUEST");
    }
}

#[tokio::test]
async fn a_local_time_beyond_the_range_in_its_zone_is_refused() {
    let world = World::start().await;
    live_in(&world, "m1", "Pacific/Honolulu").await;
    let caller = world.as_member("m1");
    let late = body("9999-12-30T11:00:00", "9999-12-30T23:00:00");
    let answer = create(&caller, late).await.refused(400, "INVALID_REQUEST");
    assert_eq!(answer.json["errors"][0]["field"], "endTime");
    let answer = caller.get("/schedules?from=9999-12-30T23:00:00").await;
    answer.refused(400, "INVALID_REQUEST");
}

#[tokio::test]
async fn a_time_beyond_the_range_is_refused_though_it_would_be_within_without_its_offset() {
    let world = World::start().await;
    live_in(&world, "m1", "Asia/Seoul").await;
    let caller = world.as_member("m1");
    let late = body("9999-12-30T10:00:00Z", "9999-12-30T23:00:00-05:00");
    let answer = create(&caller, late).await.refused(400, "INVALID_REQUEST");
    assert_eq!(answer.json["errors"][0]["field"], "endTime");
    create(&caller, body("9999-12-30T10:00:00Z", "9999-12-30T23:00:00")).await.expect(201);
}
