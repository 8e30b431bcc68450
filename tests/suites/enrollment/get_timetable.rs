//! `GET /students/{studentId}/enrollments`.

use serde_json::json;
use suites::{World, student};

#[tokio::test]
async fn a_timetable_shows_courses_with_their_hours_and_the_credits() {
    let world = World::start().await;
    world.students(1).await;
    world.course_at(101, 5, "MON", 1, 3).await;
    world.course_at(102, 5, "TUE", 4, 5).await;
    world.enroll(1, 102).await.expect(201);
    world.clock.advance(1_500);
    world.enroll(1, 101).await.expect(201);
    let timetable = world.as_member("m1").get("/students/1/enrollments").await.expect(200).json;
    let expected = json!({
        "items": [
            {
                "courseId": 101, "name": "Databases", "credit": 3,
                "meetings": [{ "dayOfWeek": "MON", "startPeriod": 1, "endPeriod": 3 }],
                "enrolledAt": "2030-01-01T00:00:01.5Z",
            },
            {
                "courseId": 102, "name": "Databases", "credit": 3,
                "meetings": [{ "dayOfWeek": "TUE", "startPeriod": 4, "endPeriod": 5 }],
                "enrolledAt": "2030-01-01T00:00:00Z",
            },
        ],
        "credits": { "taken": 6, "max": 18 },
    });
    assert_eq!(timetable, expected);
}

#[tokio::test]
async fn a_timetable_comes_in_pages() {
    let world = World::start().await;
    world.as_staff().put("/students/1", student(1, 100)).await.expect(201);
    for period in 1..=7 {
        world.course_at(period.into(), 5, "MON", period, period).await;
        world.enroll(1, period.into()).await.expect(201);
    }
    for limit in [1, 3, 7, 100] {
        let items = world.as_member("m1").list("/students/1/enrollments", limit).await;
        let ids: Vec<u64> = items.iter().filter_map(|item| item["courseId"].as_u64()).collect();
        assert_eq!(ids, [1, 2, 3, 4, 5, 6, 7]);
    }
}

#[tokio::test]
async fn a_timetable_is_the_students_own() {
    let world = World::start().await;
    world.students(2).await;
    let path = "/students/1/enrollments";
    world.as_nobody().get(path).await.refused(401, "UNAUTHENTICATED");
    world.as_member("m2").get(path).await.refused(403, "FORBIDDEN");
    world.as_staff().get(path).await.expect(200);
    let member = world.as_member("m1");
    member.get("/students/3/enrollments").await.refused(404, "STUDENT_NOT_FOUND");
    member.get("/students/1/enrollments?term=2031").await.refused(404, "STUDENT_NOT_FOUND");
    member.get("/students/1/enrollments?term=a%20b").await.refused(400, "INVALID_REQUEST");
    member.get("/students/x/enrollments").await.refused(400, "INVALID_REQUEST");
}
