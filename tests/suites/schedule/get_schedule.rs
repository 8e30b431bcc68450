//! `GET /schedules/{id}`.

use suites::World;

use crate::calendar::{created, get, on_the_second};

#[tokio::test]
async fn one_gets_ones_own_schedule_and_nobody_elses() {
    let world = World::start().await;
    let caller = world.as_member("m1");
    let id = created(&caller, on_the_second("09:00", "10:00")).await;
    let answer = get(&caller, &id).await.expect(200);
    assert_eq!(answer.headers["etag"], "\"1\"");
    assert_eq!(get(&caller, &id.to_uppercase()).await.expect(200).json, answer.json);
    for stranger in [world.as_member("m2"), world.as_staff()] {
        get(&stranger, &id).await.refused(404, "SCHEDULE_NOT_FOUND");
    }
    get(&world.as_nobody(), &id).await.refused(401, "UNAUTHENTICATED");
}

#[tokio::test]
async fn an_id_that_is_none_is_refused_and_one_of_nothing_is_not_found() {
    let world = World::start().await;
    let caller = world.as_member("m1");
    for bad in ["1", "CALENDAR", "%00", "01941f29-7c00-7000-8000-00000000000g", "%F0%9F%8E%9F"] {
        get(&caller, bad).await.refused(400, "INVALID_REQUEST");
    }
    let nothing = "01941f29-7c00-7000-8000-000000000002";
    get(&caller, nothing).await.refused(404, "SCHEDULE_NOT_FOUND");
}
