//! `GET /courses?day=`.

use serde_json::{Value, json};
use suites::World;

fn ids(courses: &[Value]) -> Vec<u64> {
    courses.iter().filter_map(|course| course["courseId"].as_u64()).collect()
}

#[tokio::test]
async fn courses_are_listed_by_day_and_all_together_in_the_order_of_their_ids() {
    let world = World::start().await;
    for (id, day) in [(30, "MON"), (4, "TUE"), (200, "MON"), (1, "MON")] {
        world.course_at(id, 5, day, 1, 3).await;
    }
    let meetings = json!([
        { "dayOfWeek": "TUE", "startPeriod": 5, "endPeriod": 5 },
        { "dayOfWeek": "WED", "startPeriod": 5, "endPeriod": 5 },
        { "dayOfWeek": "TUE", "startPeriod": 7, "endPeriod": 7 },
    ]);
    let body = json!({ "name": "Logic", "credit": 2, "capacity": 1, "meetings": meetings });
    world.as_staff().put("/courses/7", body).await.expect(201);
    for limit in [1, 2, 100] {
        let list = async |path: &str| ids(&world.as_nobody().list(path, limit).await);
        assert_eq!(list("/courses").await, [1, 4, 7, 30, 200]);
        assert_eq!(list("/courses?day=MON").await, [1, 30, 200]);
        assert_eq!(list("/courses?day=TUE").await, [4, 7]);
        assert_eq!(list("/courses?day=WED").await, [7]);
        assert_eq!(list("/courses?day=SUN").await, [0_u64; 0]);
    }
}

#[tokio::test]
async fn pages_miss_nothing_while_courses_are_added() {
    let world = World::start().await;
    for id in (10..=60).step_by(10) {
        world.course(id, 1).await;
    }
    let first = world.as_nobody().get("/courses?limit=2").await.expect(200).json;
    assert_eq!(ids(first["items"].as_array().unwrap()), [10, 20]);
    world.course(15, 1).await;
    world.course(35, 1).await;
    let cursor = first["nextCursor"].as_str().unwrap();
    let rest = world.as_nobody().list(&format!("/courses?cursor={cursor}"), 100).await;
    assert_eq!(ids(&rest), [30, 35, 40, 50, 60]);
}

#[tokio::test]
async fn limits_days_and_cursors_that_are_none_are_refused() {
    let world = World::start().await;
    world.course(1, 1).await;
    world.course(2, 1).await;
    let anyone = world.as_nobody();
    let page = anyone.get("/courses?limit=1").await.expect(200);
    let cursor = page.json["nextCursor"].as_str().unwrap().to_owned();
    let other_list = format!("/courses?day=MON&cursor={cursor}");
    let mut tampered = cursor.clone();
    tampered.replace_range(0..1, if cursor.starts_with('A') { "B" } else { "A" });
    for path in [
        "/courses?limit=0",
        "/courses?limit=101",
        "/courses?limit=-1",
        "/courses?limit=x",
        "/courses?limit=",
        "/courses?day=FUNDAY",
        "/courses?day=",
        "/courses?cursor=x",
        "/courses?cursor=",
        "/courses?cursor=%00",
        other_list.as_str(),
        &format!("/courses?cursor={tampered}"),
    ] {
        anyone.get(path).await.refused(400, "INVALID_REQUEST");
    }
    anyone.get("/courses?limit=100&unknown=1").await.expect(200);
}
