//! `GET /notifications`.

use serde_json::json;
use suites::World;

#[tokio::test]
async fn what_happened_to_a_student_is_told_to_its_member_newest_first() {
    let world = World::start().await;
    world.course(101, 5).await;
    world.students(2).await;
    world.enroll(1, 101).await.expect(201);
    world.clock.advance(1_500);
    world.drop_course(1, 101).await.expect(204);
    world.settle().await;
    let inbox = world.inbox("m1").await;
    let told: Vec<_> =
        inbox.iter().map(|n| (&n["type"], &n["version"], &n["occurredAt"])).collect();
    assert_eq!(
        told,
        [
            (&json!("DROPPED"), &json!(3), &json!("2030-01-01T00:00:01.5Z")),
            (&json!("ENROLLED"), &json!(2), &json!("2030-01-01T00:00:00Z")),
        ]
    );
    assert_eq!(inbox[1]["aggregateId"], "1");
    assert_eq!(inbox[1]["payload"], json!({ "studentId": 1, "courseId": 101, "term": "default" }));
    assert_eq!(inbox[1].get("readAt"), None);
    assert!(world.inbox("m2").await.is_empty());
    assert!(world.inbox("staff").await.is_empty());
}

#[tokio::test]
async fn the_order_is_that_of_the_changes_though_clocks_differ() {
    let world = World::start().await;
    world.students(1).await;
    world.clock.advance(10_000);
    for (id, day) in ["MON", "TUE", "WED"].iter().enumerate() {
        world.course_at(id as u64 + 1, 5, day, 1, 1).await;
    }
    world.enroll(1, 1).await.expect(201);
    world.clock.advance(-500); // another environment, behind by so much
    world.enroll(1, 2).await.expect(201);
    world.clock.advance(-500);
    world.drop_course(1, 1).await.expect(204);
    world.clock.advance(-500);
    world.as_staff().put("/students/1", suites::student(1, 20)).await.expect(200);
    world.enroll(1, 3).await.expect(201);
    world.clock.advance(1_500);
    world.settle().await;
    let inbox = world.inbox("m1").await;
    let versions: Vec<_> = inbox.iter().map(|n| n["version"].as_u64().unwrap()).collect();
    assert_eq!(versions, [6, 4, 3, 2]);
    let times: Vec<_> = inbox.iter().map(|n| n["occurredAt"].as_str().unwrap()).collect();
    assert!(times.iter().rev().is_sorted(), "{times:?}");
}

#[tokio::test]
async fn pages_of_any_size_show_every_notification_once() {
    let world = World::start().await;
    world.students(1).await;
    for (id, day) in ["MON", "TUE", "WED", "THU", "FRI"].iter().enumerate() {
        world.course_at(id as u64 + 1, 5, day, 1, 1).await;
        world.enroll(1, id as u64 + 1).await.expect(201);
    }
    world.settle().await; // all at the same time: the version is what orders them
    for limit in 1..=6 {
        let items = world.as_member("m1").list("/notifications", limit).await;
        let versions: Vec<_> = items.iter().map(|n| n["version"].as_u64().unwrap()).collect();
        assert_eq!(versions, [6, 5, 4, 3, 2], "{limit} a page");
    }
    let page = world.as_member("m1").get("/notifications?limit=2").await.expect(200);
    let cursor = page.json["nextCursor"].as_str().unwrap();
    let path = format!("/notifications?cursor={cursor}");
    world.as_member("m2").get(&path).await.refused(400, "INVALID_REQUEST");
    for bad in ["limit=0", "limit=101", "limit=x", "cursor=x"] {
        let path = format!("/notifications?{bad}");
        world.as_member("m1").get(&path).await.refused(400, "INVALID_REQUEST");
    }
    world.as_nobody().get("/notifications").await.refused(401, "UNAUTHENTICATED");
}

#[tokio::test]
async fn a_page_costs_one_query_however_much_was_told() {
    let world = World::start().await;
    world.students(1).await;
    world.course(101, 5).await;
    for _ in 0..60 {
        world.enroll(1, 101).await.expect(201);
        world.drop_course(1, 101).await.expect(204);
        world.clock.advance(1);
    }
    world.settle().await;
    let page = world.as_member("m1").get("/notifications").await.expect(200);
    assert_eq!(page.json["items"].as_array().unwrap().len(), 20);
    assert_eq!(page.usage.calls_of("Query"), 1);
    assert_eq!(page.usage.total_calls(), 1);
    assert!(page.usage.read_units <= 3.0, "{:?}", page.usage);
    assert_eq!(world.inbox("m1").await.len(), 120);
}

#[tokio::test]
async fn a_notification_is_gone_after_90_days_whether_it_was_swept_or_not() {
    let world = World::start().await;
    world.course(101, 5).await;
    world.students(1).await;
    world.enroll(1, 101).await.expect(201);
    world.settle().await;
    let id = world.inbox("m1").await[0]["id"].as_str().unwrap().to_owned();
    let path = format!("/notifications/{id}/read");
    world.clock.advance(90 * 24 * 60 * 60 * 1000 - 1);
    assert_eq!(world.inbox("m1").await.len(), 1);
    world.as_member("m1").put(&path, json!(null)).await.expect(200);
    world.clock.advance(1);
    assert_eq!(world.inbox("m1").await.len(), 0);
    world.as_member("m1").put(&path, json!(null)).await.refused(404, "NOTIFICATION_NOT_FOUND");
}
