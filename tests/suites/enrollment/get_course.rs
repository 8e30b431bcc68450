//! `GET /courses/{courseId}`.

use serde_json::json;
use suites::World;

#[tokio::test]
async fn anyone_sees_a_course_and_its_seats() {
    let world = World::start().await;
    world.students(1).await;
    world.course(101, 30).await;
    world.enroll(1, 101).await.expect(201);
    let seen = world.as_nobody().get("/courses/101").await.expect(200).json;
    assert_eq!(seen["seats"], json!({ "capacity": 30, "enrolled": 1, "left": 29 }));
    assert_eq!(seen["courseId"], 101);
    world.as_nobody().get("/courses/102").await.refused(404, "COURSE_NOT_FOUND");
    world.as_nobody().get("/courses/x").await.refused(400, "INVALID_REQUEST");
    world.as_nobody().get("/courses/101?fresh=maybe").await.refused(400, "INVALID_REQUEST");
}

#[tokio::test]
async fn seats_are_at_most_a_second_old_and_fresh_when_asked() {
    let world = World::with_environments(1).await;
    world.students(1).await;
    world.course(101, 30).await;
    let left = async |path: &str| {
        world.as_nobody().get(path).await.expect(200).json["seats"]["left"].clone()
    };
    assert_eq!(left("/courses/101").await, 30);
    world.enroll(1, 101).await.expect(201);
    world.clock.advance(999);
    assert_eq!(left("/courses/101").await, 30);
    world.clock.advance(1);
    assert_eq!(left("/courses/101").await, 29);
    world.drop_course(1, 101).await.expect(204);
    assert_eq!(left("/courses/101?fresh=true").await, 30);
}

#[tokio::test]
async fn staff_see_their_own_change_at_once_and_others_within_five_seconds() {
    let world = World::with_environments(1).await;
    world.course(101, 30).await;
    world.as_nobody().get("/courses/101").await.expect(200);
    world.course(101, 40).await;
    assert_eq!(world.as_staff().get("/courses/101").await.expect(200).json["capacity"], 40);
    world.clock.advance(5_000);
    assert_eq!(world.as_nobody().get("/courses/101").await.expect(200).json["capacity"], 40);
}
