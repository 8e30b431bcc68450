//! `DELETE /schedules/{id}`.

use suites::World;

use crate::calendar::{
    assert_sound, create, created, delete, get, on_the_second, update, waiting, with,
};

#[tokio::test]
async fn a_schedule_goes_with_its_reminder_and_its_time_is_free() {
    let world = World::start().await;
    let caller = world.as_member("m1");
    let wanted = with(on_the_second("09:00", "10:00"), "remindBeforeMinutes", 10);
    let id = created(&caller, wanted.clone()).await;
    assert_eq!(waiting(&world).await, 1);
    let answer = delete(&caller, &id).await.expect(204);
    assert!(answer.json.is_null());
    let holdings = assert_sound(&world, "m1").await;
    assert!(holdings.schedules.is_empty());
    assert_eq!(waiting(&world).await, 0);
    delete(&caller, &id).await.refused(404, "SCHEDULE_NOT_FOUND");
    get(&caller, &id).await.refused(404, "SCHEDULE_NOT_FOUND");
    update(&caller, &id, wanted.clone()).await.refused(404, "SCHEDULE_NOT_FOUND");
    create(&caller, wanted).await.expect(201);
}

#[tokio::test]
async fn if_match_deletes_only_the_version_that_was_seen() {
    let world = World::start().await;
    let caller = world.as_member("m1");
    let id = created(&caller, on_the_second("09:00", "10:00")).await;
    update(&caller, &id, on_the_second("10:00", "11:00")).await.expect(200);
    let seeing = |etag: &str| world.as_member("m1").with("if-match", etag);
    for stale in ["\"1\"", "\"abc\"", "W/\"2\""] {
        let answer = delete(&seeing(stale), &id).await.refused(412, "VERSION_MISMATCH");
        assert_eq!(answer.json["version"], 2);
    }
    delete(&seeing("2"), &id).await.refused(400, "INVALID_REQUEST");
    delete(&seeing("\"2\""), &id).await.expect(204);
    delete(&seeing("\"2\""), &id).await.refused(404, "SCHEDULE_NOT_FOUND");
    let id = created(&caller, on_the_second("09:00", "10:00")).await;
    delete(&seeing("*"), &id).await.expect(204);
}

#[tokio::test]
async fn somebody_elses_schedule_is_not_there_and_stays() {
    let world = World::start().await;
    let wanted = with(on_the_second("09:00", "10:00"), "remindBeforeMinutes", 10);
    let id = created(&world.as_member("m1"), wanted).await;
    for stranger in [world.as_member("m2"), world.as_staff()] {
        delete(&stranger, &id).await.refused(404, "SCHEDULE_NOT_FOUND");
    }
    delete(&world.as_nobody(), &id).await.refused(401, "UNAUTHENTICATED");
    delete(&world.as_member("m1"), "x").await.refused(400, "INVALID_REQUEST");
    assert_eq!(assert_sound(&world, "m1").await.reminders.len(), 1);
}
