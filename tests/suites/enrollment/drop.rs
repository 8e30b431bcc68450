//! `DELETE /enrollments/{studentId}/{courseId}`.

use suites::World;

#[tokio::test]
async fn a_drop_gives_back_the_seat_the_credits_and_the_periods() {
    let world = World::start().await;
    world.students(2).await;
    world.course(101, 1).await;
    world.enroll(1, 101).await.expect(201);
    let dropped = world.drop_course(1, 101).await.expect(204);
    assert!(dropped.json.is_null());
    assert_eq!(world.seats(101).await, (1, 0, 1));
    let timetable = world.as_member("m1").get("/students/1/enrollments").await.expect(200).json;
    assert_eq!(timetable["credits"]["taken"], 0);
    assert_eq!(timetable["items"].as_array().unwrap().len(), 0);
    world.enroll(1, 101).await.expect(201);
    world.assert_consistent(&[101], 2).await;
}

#[tokio::test]
async fn a_course_is_dropped_once() {
    let world = World::start().await;
    world.students(1).await;
    world.course(101, 3).await;
    world.drop_course(1, 101).await.refused(404, "ENROLLMENT_NOT_FOUND");
    world.enroll(1, 101).await.expect(201);
    world.drop_course(1, 101).await.expect(204);
    world.drop_course(1, 101).await.refused(404, "ENROLLMENT_NOT_FOUND");
    assert_eq!(world.seats(101).await, (3, 0, 3));
}

#[tokio::test]
async fn only_the_students_member_and_staff_drop() {
    let world = World::start().await;
    world.students(2).await;
    world.course(101, 3).await;
    world.enroll(1, 101).await.expect(201);
    let path = "/enrollments/1/101";
    world.as_nobody().delete(path).await.refused(401, "UNAUTHENTICATED");
    world.as_member("m2").delete(path).await.refused(403, "FORBIDDEN");
    assert_eq!(world.seats(101).await, (3, 1, 2));
    world.as_staff().delete(path).await.expect(204);
}

#[tokio::test]
async fn ids_that_are_none_are_refused() {
    let world = World::start().await;
    let caller = world.as_member("m1");
    for path in ["/enrollments/x/1", "/enrollments/1/-1", "/enrollments/0/1", "/enrollments/1/1.5"]
    {
        caller.delete(path).await.refused(400, "INVALID_REQUEST");
    }
    caller.delete("/enrollments/1").await.refused(404, "ROUTE_NOT_FOUND");
}
