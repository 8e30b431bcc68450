//! `PUT /schedules/{id}`.

use serde_json::json;
use suites::World;

use crate::calendar::{
    assert_sound, create, created, delete, get, id_of, on_the_second, update, with,
};

#[tokio::test]
async fn an_update_replaces_all_that_there_was() {
    let world = World::start().await;
    let caller = world.as_member("m1");
    let wanted = with(on_the_second("09:00", "10:00"), "contents", "Bring the card");
    let wanted = with(wanted, "progressStatus", "COMPLETED");
    let id = created(&caller, with(wanted, "remindBeforeMinutes", 10)).await;
    let changed = with(on_the_second("11:00", "12:30"), "title", "Doctor");
    let answer = update(&caller, &id, changed).await.expect(200);
    let expected = json!({
        "id": id,
        "title": "Doctor",
        "contents": "",
        "startTime": "2030-01-02T11:00:00Z",
        "endTime": "2030-01-02T12:30:00Z",
        "progressStatus": "PLANNED",
        "version": 2,
    });
    assert_eq!(answer.json, expected);
    assert_eq!(answer.headers["etag"], "\"2\"");
    assert_eq!(get(&caller, &id).await.expect(200).json, expected);
    let holdings = assert_sound(&world, "m1").await;
    assert!(holdings.reminders.is_empty());
    // What it took up before is free.
    create(&caller, on_the_second("09:00", "10:00")).await.expect(201);
    create(&caller, on_the_second("11:30", "11:45")).await.refused(409, "SCHEDULE_CONFLICT");
}

#[tokio::test]
async fn an_update_that_changes_nothing_keeps_the_version_and_writes_nothing() {
    let world = World::start().await;
    let caller = world.as_member("m1");
    let wanted = with(on_the_second("09:00", "10:00"), "remindBeforeMinutes", 10);
    let id = created(&caller, wanted.clone()).await;
    world.clock.advance(1_000);
    let same = with(wanted.clone(), "startTime", "2030-01-02T10:00:00+01:00");
    let answer = update(&caller, &id, with(same, "contents", "")).await.expect(200);
    assert_eq!(answer.json["version"], 1);
    assert_eq!(answer.usage.calls_of("TransactWriteItems"), 0);
    let answer = update(&caller, &id, with(wanted.clone(), "title", "Doctor")).await.expect(200);
    assert_eq!(answer.json["version"], 2);
    assert_eq!(update(&caller, &id, wanted).await.expect(200).json["version"], 3);
    assert_sound(&world, "m1").await;
}

#[tokio::test]
async fn a_schedule_moves_over_itself_but_not_into_a_neighbour() {
    let world = World::start().await;
    let caller = world.as_member("m1");
    let neighbour = created(&caller, on_the_second("09:00", "10:00")).await;
    let id = created(&caller, on_the_second("10:00", "11:00")).await;
    let half_past = update(&caller, &id, on_the_second("09:30", "10:30")).await;
    let half_past = half_past.refused(409, "SCHEDULE_CONFLICT");
    assert_eq!(half_past.json["conflictsWith"], neighbour);
    for (start, end) in [
        ("10:30", "11:30"), // over its own end
        ("10:00", "11:00"), // back over its own beginning
        ("10:00", "12:00"), // longer
        ("10:15", "11:45"), // inside itself
        ("10:00", "12:00"), // around itself
        ("15:00", "16:00"), // away
        ("08:00", "09:00"), // to the other side
        ("10:00", "11:00"),
    ] {
        let answer = update(&caller, &id, on_the_second(start, end)).await.expect(200);
        assert_eq!(answer.json["startTime"], format!("2030-01-02T{start}:00Z"));
        assert_sound(&world, "m1").await;
    }
    let after = created(&caller, on_the_second("12:00", "13:00")).await;
    for (start, end, in_the_way) in [
        ("09:59", "11:00", &neighbour),
        ("09:15", "09:45", &neighbour),
        ("08:00", "11:30", &neighbour),
        ("10:00", "12:01", &after),
        ("08:00", "14:00", &after),
        ("12:15", "12:45", &after),
    ] {
        let answer = update(&caller, &id, on_the_second(start, end)).await;
        let answer = answer.refused(409, "SCHEDULE_CONFLICT");
        assert_eq!(answer.json["conflictsWith"], *in_the_way, "{start} to {end}");
    }
    update(&caller, &id, on_the_second("10:00", "12:00")).await.expect(200);
    assert_eq!(assert_sound(&world, "m1").await.schedules.len(), 3);
}

#[tokio::test]
async fn if_match_changes_only_the_version_that_was_seen() {
    let world = World::start().await;
    let caller = world.as_member("m1");
    let first = create(&caller, on_the_second("09:00", "10:00")).await.expect(201);
    let id = id_of(&first);
    let seeing = |etag: &str| world.as_member("m1").with("if-match", etag);
    let seen = first.headers["etag"].to_str().unwrap();
    let titled = |title: &str| with(on_the_second("09:00", "10:00"), "title", title);
    let second = update(&seeing(seen), &id, titled("two")).await.expect(200);
    assert_eq!(second.headers["etag"], "\"2\"");
    for stale in [seen, "W/\"2\"", "\"abc\"", "\"3\"", "\"0\""] {
        let answer = update(&seeing(stale), &id, titled("three")).await;
        let answer = answer.refused(412, "VERSION_MISMATCH");
        assert_eq!(answer.json["version"], 2, "{stale}");
        // Even if it would change nothing.
        update(&seeing(stale), &id, titled("two")).await.refused(412, "VERSION_MISMATCH");
    }
    for bad in ["2", "\"2", "\"1\", \"2\"", ""] {
        update(&seeing(bad), &id, titled("three")).await.refused(400, "INVALID_REQUEST");
    }
    update(&seeing("*"), &id, titled("three")).await.expect(200);
    update(&seeing("\"3\""), &id, titled("four")).await.expect(200);
    // What is not there is not found, whatever version of it was seen.
    delete(&caller, &id).await.expect(204);
    for etag in ["*", "\"4\"", "\"abc\""] {
        update(&seeing(etag), &id, titled("five")).await.refused(404, "SCHEDULE_NOT_FOUND");
    }
}

#[tokio::test]
async fn somebody_elses_schedule_is_not_there() {
    let world = World::start().await;
    let id = created(&world.as_member("m1"), on_the_second("09:00", "10:00")).await;
    let wanted = on_the_second("11:00", "12:00");
    for stranger in [world.as_member("m2"), world.as_staff()] {
        update(&stranger, &id, wanted.clone()).await.refused(404, "SCHEDULE_NOT_FOUND");
        // 400 comes first.
        update(&stranger, &id, json!({})).await.refused(400, "INVALID_REQUEST");
    }
    update(&world.as_nobody(), &id, wanted.clone()).await.refused(401, "UNAUTHENTICATED");
    update(&world.as_member("m1"), "x", wanted).await.refused(400, "INVALID_REQUEST");
    assert_eq!(assert_sound(&world, "m1").await.schedules[0].version, 1);
}

#[tokio::test]
async fn an_update_is_later_than_the_one_before_even_if_the_clock_is_not() {
    let world = World::start().await;
    let caller = world.as_member("m1");
    let id = created(&caller, on_the_second("09:00", "10:00")).await;
    let mut before = 0;
    for (title, moved_ms) in [("a", 0), ("b", 0), ("c", -5_000), ("d", 60_000)] {
        world.clock.advance(moved_ms);
        update(&caller, &id, with(on_the_second("09:00", "10:00"), "title", title))
            .await
            .expect(200);
        let updated_at_ms = assert_sound(&world, "m1").await.schedules[0].updated_at_ms;
        assert!(updated_at_ms > before);
        before = updated_at_ms;
    }
}
