//! `GET /courses/{courseId}/enrollments`.

use suites::World;

#[tokio::test]
async fn a_roster_lists_students_in_the_order_in_which_they_enrolled() {
    let world = World::start().await;
    world.students(30).await;
    world.course(101, 30).await;
    let order: Vec<u64> = (1..=30).rev().collect();
    for student in &order {
        world.clock.advance(1);
        world.enroll(*student, 101).await.expect(201);
    }
    for limit in [1, 7, 30, 100] {
        let roster = world.as_staff().list("/courses/101/enrollments", limit).await;
        let ids: Vec<u64> = roster.iter().filter_map(|e| e["studentId"].as_u64()).collect();
        assert_eq!(ids, order);
        assert_eq!(roster[0]["enrolledAt"], "2030-01-01T00:00:00.001Z");
    }
}

#[tokio::test]
async fn a_roster_is_for_staff() {
    let world = World::start().await;
    world.course(101, 30).await;
    let path = "/courses/101/enrollments";
    world.as_nobody().get(path).await.refused(401, "UNAUTHENTICATED");
    world.as_member("m1").get(path).await.refused(403, "FORBIDDEN");
    let staff = world.as_staff();
    assert!(staff.get(path).await.expect(200).json["items"].as_array().unwrap().is_empty());
    staff.get("/courses/102/enrollments").await.refused(404, "COURSE_NOT_FOUND");
    staff.get("/courses/101/enrollments?limit=0").await.refused(400, "INVALID_REQUEST");
}
