//! `PUT /students/{studentId}`.

use serde_json::json;
use suites::{World, count, race, student};

#[tokio::test]
async fn a_student_is_created_and_then_changed() {
    let world = World::start().await;
    let created = world.as_staff().put("/students/1", student(1, 18)).await.expect(201);
    let view = json!({
        "studentId": 1, "name": "Ada", "memberId": "m1", "maxCredits": 18, "term": "default"
    });
    assert_eq!(created.json, view);
    assert_eq!(created.headers["location"], "/students/1");
    let again = world.as_staff().put("/students/1", student(1, 18)).await.expect(200);
    assert_eq!(again.json, view);
}

#[tokio::test]
async fn a_change_keeps_what_is_taken() {
    let world = World::start().await;
    world.students(1).await;
    world.course_at(101, 9, "MON", 1, 3).await;
    world.course_at(102, 9, "TUE", 1, 3).await;
    world.enroll(1, 101).await.expect(201);
    for (max, fits) in [(5, false), (2, false), (18, true)] {
        world.as_staff().put("/students/1", student(1, max)).await.expect(200);
        let path = "/students/1/enrollments";
        let timetable = world.as_member("m1").get(path).await.expect(200).json;
        assert_eq!(timetable["credits"], json!({ "taken": 3, "max": max }));
        let answer = world.enroll(1, 102).await;
        if fits {
            answer.expect(201);
        } else {
            answer.refused(409, "CREDIT_LIMIT_EXCEEDED");
        }
    }
    world.assert_consistent(&[101, 102], 1).await;
}

#[tokio::test]
async fn a_student_can_be_handed_to_another_member() {
    let world = World::start().await;
    world.students(1).await;
    world.course(101, 9).await;
    let body = json!({ "name": "Ada", "memberId": "other", "maxCredits": 18 });
    world.as_staff().put("/students/1", body).await.expect(200);
    world.as_member("m1").enroll(1, 101).await.refused(403, "FORBIDDEN");
    world.as_member("other").enroll(1, 101).await.expect(201);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn changes_at_the_same_time_as_enrollments_lose_no_credit() {
    let world = World::start().await;
    world.students(1).await;
    for (id, day) in (101..).zip(["MON", "TUE", "WED", "THU"]) {
        world.course_at(id, 9, day, 1, 3).await;
    }
    let staff = world.as_staff();
    let answers = race(0..64, |i| {
        let (world, staff) = (&world, &staff);
        async move {
            if i % 16 == 0 {
                return world.enroll(1, 101 + i / 16).await;
            }
            staff.put("/students/1", student(1, 15 + u32::try_from(i % 5).unwrap())).await
        }
    });
    let answers = answers.await;
    assert_eq!(count(&answers, 201), 4, "four courses");
    assert_eq!(count(&answers, 200), 60, "all changes");
    world.assert_consistent(&[101, 102, 103, 104], 1).await;
}

#[tokio::test]
async fn only_staff_put_students_and_only_valid_ones() {
    let world = World::start().await;
    world.as_nobody().put("/students/1", student(1, 1)).await.refused(401, "UNAUTHENTICATED");
    world.as_member("m1").put("/students/1", student(1, 1)).await.refused(403, "FORBIDDEN");
    let staff = world.as_staff();
    for bad in [
        json!({ "memberId": "m1", "maxCredits": 1 }),
        json!({ "name": "", "memberId": "m1", "maxCredits": 1 }),
        json!({ "name": "a\u{0}", "memberId": "m1", "maxCredits": 1 }),
        json!({ "name": "Ada", "memberId": "", "maxCredits": 1 }),
        json!({ "name": "Ada", "memberId": "a#b", "maxCredits": 1 }),
        json!({ "name": "Ada", "memberId": "m1", "maxCredits": 101 }),
        json!({ "name": "Ada", "memberId": "m1", "maxCredits": -1 }),
        json!({ "name": "Ada", "memberId": "m1", "maxCredits": 1, "term": "a b" }),
    ] {
        staff.put("/students/1", bad).await.refused(400, "INVALID_REQUEST");
    }
    staff.put("/students/9007199254740992", student(1, 1)).await.refused(400, "INVALID_REQUEST");
    staff.put("/students/9007199254740991", student(1, 1)).await.expect(201);
}
