//! `POST /schedules`.

use serde_json::{Value, json};
use suites::World;

use crate::calendar::{
    assert_sound, body, create, created, get, holdings, id_of, on_the_second, with,
};

#[tokio::test]
async fn a_schedule_is_created_with_its_defaults_and_can_be_read() {
    let world = World::start().await;
    let caller = world.as_member("m1");
    let answer = create(&caller, on_the_second("09:00", "10:00")).await.expect(201);
    let id = id_of(&answer);
    let expected = json!({
        "id": id,
        "title": "Dentist",
        "contents": "",
        "startTime": "2030-01-02T09:00:00Z",
        "endTime": "2030-01-02T10:00:00Z",
        "progressStatus": "PLANNED",
        "version": 1,
    });
    assert_eq!(answer.json, expected);
    assert_eq!(answer.headers["location"], format!("/schedules/{id}"));
    assert_eq!(answer.headers["etag"], "\"1\"");
    assert_eq!(get(&caller, &id).await.expect(200).json, expected);
    let holdings = assert_sound(&world, "m1").await;
    assert!(holdings.reminders.is_empty());
}

#[tokio::test]
async fn every_field_is_kept() {
    let world = World::start().await;
    let body = json!({
        "title": "Dentist",
        "contents": "Bring\n\tthe card",
        "startTime": "2030-01-02T10:00:00.250+01:00",
        "endTime": "2030-01-02T10:00:00Z",
        "progressStatus": "IN_PROGRESS",
        "remindBeforeMinutes": 30,
        "unknown": [1],
    });
    let answer = create(&world.as_member("m1"), body).await.expect(201).json;
    assert_eq!(answer["contents"], "Bring\n\tthe card");
    assert_eq!(answer["startTime"], "2030-01-02T09:00:00.25Z");
    assert_eq!(answer["progressStatus"], "IN_PROGRESS");
    assert_eq!(answer["remindBeforeMinutes"], 30);
    let holdings = assert_sound(&world, "m1").await;
    assert_eq!(holdings.reminders.len(), 1);
}

#[tokio::test]
async fn whatever_overlaps_is_refused_and_names_what_is_there() {
    let world = World::start().await;
    let caller = world.as_member("m1");
    let there = created(&caller, on_the_second("09:00", "10:00")).await;
    for (start, end) in [
        ("09:00", "10:00"), // the same
        ("08:30", "09:30"), // into its beginning
        ("09:30", "10:30"), // out of its end
        ("09:15", "09:45"), // inside
        ("08:00", "11:00"), // around
        ("09:00", "09:01"),
        ("09:59", "12:00"),
        ("08:00", "10:00"),
    ] {
        let answer = create(&caller, on_the_second(start, end)).await;
        let answer = answer.refused(409, "SCHEDULE_CONFLICT");
        assert_eq!(answer.json["conflictsWith"], there, "{start} to {end}");
    }
    assert_eq!(assert_sound(&world, "m1").await.schedules.len(), 1);
}

#[tokio::test]
async fn one_may_begin_the_moment_another_ends() {
    let world = World::start().await;
    let caller = world.as_member("m1");
    created(&caller, on_the_second("09:00", "10:00")).await;
    created(&caller, on_the_second("10:00", "11:00")).await;
    created(&caller, on_the_second("08:00", "09:00")).await;
    let millisecond = body("2030-01-02T07:59:59.999Z", "2030-01-02T08:00:00Z");
    created(&caller, millisecond).await;
    let into = body("2030-01-02T10:59:59.999Z", "2030-01-02T11:30:00Z");
    create(&caller, into).await.refused(409, "SCHEDULE_CONFLICT");
    assert_eq!(assert_sound(&world, "m1").await.schedules.len(), 4);
}

#[tokio::test]
async fn of_several_in_the_way_the_last_to_begin_is_named() {
    let world = World::start().await;
    let caller = world.as_member("m1");
    created(&caller, on_the_second("09:00", "10:00")).await;
    let last = created(&caller, on_the_second("11:00", "12:00")).await;
    created(&caller, on_the_second("14:00", "15:00")).await;
    let refused = create(&caller, on_the_second("08:00", "13:00")).await;
    assert_eq!(refused.refused(409, "SCHEDULE_CONFLICT").json["conflictsWith"], last);
    create(&caller, on_the_second("10:00", "11:00")).await.expect(201);
    create(&caller, on_the_second("12:00", "14:00")).await.expect(201);
    assert_sound(&world, "m1").await;
}

#[tokio::test]
async fn members_do_not_get_in_each_others_way() {
    let world = World::start().await;
    for member in ["m1", "m2", "m", "m11"] {
        created(&world.as_member(member), on_the_second("09:00", "10:00")).await;
        assert_eq!(assert_sound(&world, member).await.schedules.len(), 1);
    }
}

#[tokio::test]
async fn what_is_out_of_range_is_refused_with_its_field_and_writes_nothing() {
    let world = World::start().await;
    let caller = world.as_member("m1");
    let good = on_the_second("09:00", "10:00");
    let long = |length: usize| "a".repeat(length);
    for (field, value) in [
        ("title", json!("")),
        ("title", json!(long(201))),
        ("title", json!("a\u{0}b")),
        ("title", json!("a\rb")),
        ("title", json!("a\u{85}b")),
        ("title", json!(1)),
        ("title", Value::Null),
        ("contents", json!(long(10_001))),
        ("contents", json!("\u{7f}")),
        ("contents", json!(["a"])),
        ("startTime", Value::Null),
        ("startTime", json!("tomorrow")),
        ("startTime", json!("2030-01-02")),
        ("startTime", json!("2030-02-30T09:00:00Z")),
        ("startTime", json!("2030-01-02T09:00:00[Europe/Berlin]")),
        ("startTime", json!(1_893_456_000)),
        ("endTime", json!("2030-01-02T09:00:00Z")), // no length
        ("endTime", json!("2030-01-02T10:00:00+01:00")), // no length
        ("endTime", json!("2030-01-02T09:00:00.0004Z")), // less than a millisecond
        ("endTime", json!("2030-01-02T08:00:00Z")), // negative
        ("endTime", json!("2031-01-03T09:00:00.001Z")), // over 366 days
        ("endTime", json!("9999-12-31T00:00:00Z")),
        ("progressStatus", json!("DONE")),
        ("progressStatus", json!("planned")),
        ("progressStatus", json!(0)),
        ("progressStatus", json!({ "PLANNED": null })),
        ("remindBeforeMinutes", json!(-1)),
        ("remindBeforeMinutes", json!(40_321)),
        ("remindBeforeMinutes", json!(1.5)),
        ("remindBeforeMinutes", json!("30")),
    ] {
        let answer = create(&caller, with(good.clone(), field, value.clone())).await;
        let answer = answer.refused(400, "INVALID_REQUEST");
        assert_eq!(answer.json["errors"][0]["field"], field, "{value:.40}");
    }
    for body in [json!({}), json!([]), json!("x"), json!({ "title": "Dentist" })] {
        create(&caller, body).await.refused(400, "INVALID_REQUEST");
    }
    caller.send_raw("POST", "/schedules", "{").await.refused(400, "INVALID_REQUEST");
    assert!(holdings(&world, "m1").await.schedules.is_empty());
}

#[tokio::test]
async fn nulls_are_defaults_and_limits_are_reached() {
    let world = World::start().await;
    let caller = world.as_member("m1");
    let nulls = json!({
        "title": "a",
        "contents": null,
        "startTime": "2030-01-02T09:00:00Z",
        "endTime": "2031-01-03T09:00:00Z", // 366 days
        "progressStatus": null,
        "remindBeforeMinutes": null,
    });
    create(&caller, nulls).await.expect(201);
    for (hour, minutes) in [(10, 0), (11, 40_320)] {
        let day = format!("2032-02-29T{hour}");
        let body = body(&format!("{day}:00:00Z"), &format!("{day}:30:00Z"));
        create(&caller, with(body, "remindBeforeMinutes", minutes)).await.expect(201);
    }
    assert_eq!(assert_sound(&world, "m1").await.reminders.len(), 2);
}

#[tokio::test]
async fn text_is_counted_in_characters_as_people_see_them_composed() {
    let world = World::start().await;
    let caller = world.as_member("m1");
    for (hour, title) in [
        (10, "🎟".repeat(200)),
        (11, "e\u{301}".repeat(200)), // becomes one character each
        (12, "日本語".repeat(66)),
        (13, "👩\u{200d}🚀".repeat(66)), // three each
        (14, "a\n\t".repeat(66)),
    ] {
        let times = on_the_second(&format!("{hour}:00"), &format!("{hour}:30"));
        let answer = create(&caller, with(times, "title", title)).await.expect(201);
        let kept = get(&caller, &id_of(&answer)).await.expect(200).json;
        assert_eq!(kept["title"], answer.json["title"]);
    }
    let times = on_the_second("15:00", "16:00");
    for title in ["🎟".repeat(201), "e\u{301}".repeat(201), "q\u{301}".repeat(101)] {
        let answer = create(&caller, with(times.clone(), "title", title)).await;
        answer.refused(400, "INVALID_REQUEST");
    }
    let composed = create(&caller, with(times, "title", "e\u{301}")).await.expect(201);
    assert_eq!(composed.json["title"], "é");
    assert_sound(&world, "m1").await;
}

#[tokio::test]
async fn the_largest_schedule_fits_into_the_table_ten_times() {
    let world = World::start().await;
    let caller = world.as_member("m1").with("idempotency-key", "k-1");
    let body = with(on_the_second("09:00", "10:00"), "title", "🎟".repeat(200));
    let body = with(body, "contents", "🎟".repeat(10_000));
    let body = with(body, "remindBeforeMinutes", 40_320);
    let answer = create(&caller, body.clone()).await.expect(201);
    assert_eq!(create(&caller, body).await.expect(201).json, answer.json);
    let schedule = &assert_sound(&world, "m1").await.schedules[0];
    let bytes = serde_json::to_vec(schedule).unwrap().len();
    assert!(bytes < 400 * 1024 / 9, "{bytes} bytes");
    let quotes = with(on_the_second("11:00", "12:00"), "contents", "\"\\".repeat(5_000));
    let caller = world.as_member("m1").with("idempotency-key", "k-2");
    create(&caller, quotes).await.expect(201);
}

#[tokio::test]
async fn the_same_key_gets_the_first_answer_and_another_body_is_refused() {
    let world = World::start().await;
    let caller = world.as_member("m1").with("idempotency-key", "k-1");
    let wanted = with(on_the_second("09:00", "10:00"), "remindBeforeMinutes", 5);
    let first = create(&caller, wanted.clone()).await.expect(201);
    let again = create(&caller, wanted.clone()).await.expect(201);
    assert_eq!(again.json, first.json);
    assert_eq!(again.headers["location"], first.headers["location"]);
    assert_eq!(again.headers["etag"], first.headers["etag"]);
    let other = on_the_second("11:00", "12:00");
    create(&caller, other.clone()).await.refused(409, "IDEMPOTENCY_KEY_REUSED");
    let other = with(other, "startTime", "2030-01-02T09:30:00Z"); // in the way too
    create(&caller, other).await.refused(409, "IDEMPOTENCY_KEY_REUSED");
    // Another key is another request, and somebody else's key is another key.
    let second = world.as_member("m1").with("idempotency-key", "k-2");
    create(&second, wanted.clone()).await.refused(409, "SCHEDULE_CONFLICT");
    let stranger = world.as_member("m2").with("idempotency-key", "k-1");
    create(&stranger, wanted.clone()).await.expect(201);
    // The answer stays the answer when the schedule was changed or is gone.
    let path = format!("/schedules/{}", id_of(&first));
    world.as_member("m1").delete(&path).await.expect(204);
    assert_eq!(create(&caller, wanted.clone()).await.expect(201).json, first.json);
    assert!(assert_sound(&world, "m1").await.schedules.is_empty());
    // A refusal was not kept, and after a day neither is the answer.
    create(&second, wanted.clone()).await.expect(201);
    world.clock.advance(24 * 60 * 60 * 1000);
    let caller = world.as_member("m1").with("idempotency-key", "k-1");
    create(&caller, wanted).await.refused(409, "SCHEDULE_CONFLICT");
    create(&caller, on_the_second("20:00", "21:00")).await.expect(201);
    for bad in ["", "ü", &"k".repeat(129)] {
        let caller = world.as_member("m1").with("idempotency-key", bad);
        create(&caller, on_the_second("22:00", "23:00")).await.refused(400, "INVALID_REQUEST");
    }
}

#[tokio::test]
async fn a_token_decides_whose_it_is_and_a_body_does_not() {
    let world = World::start().await;
    let wanted = with(on_the_second("09:00", "10:00"), "memberId", "m2");
    create(&world.as_nobody(), json!({})).await.refused(401, "UNAUTHENTICATED");
    created(&world.as_member("m1"), wanted).await;
    assert_eq!(assert_sound(&world, "m1").await.schedules.len(), 1);
    assert!(assert_sound(&world, "m2").await.schedules.is_empty());
}
