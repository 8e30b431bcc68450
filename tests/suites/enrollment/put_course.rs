//! `PUT /courses/{courseId}`.

use serde_json::{Value, json};
use suites::{World, count, course, race};

#[tokio::test]
async fn a_course_is_created_and_then_changed() {
    let world = World::start().await;
    let staff = world.as_staff();
    let created = staff.put("/courses/101", course(30, "MON", 1, 3)).await.expect(201);
    assert_eq!(created.headers["location"], "/courses/101");
    for (field, value) in [
        ("courseId", json!(101)),
        ("name", json!("Databases")),
        ("credit", json!(3)),
        ("dayOfWeek", json!("MON")),
        ("startPeriod", json!(1)),
        ("endPeriod", json!(3)),
        ("capacity", json!(30)),
        ("term", json!("default")),
    ] {
        assert_eq!(created.json[field], value, "{field}");
    }
    let mut changed = course(30, "MON", 1, 3);
    changed["name"] = "Data\u{300}bases".into();
    changed["opensAt"] = "2030-06-01T09:00:00+02:00".into();
    let answer = staff.put("/courses/101", changed).await.expect(200);
    assert_eq!(answer.json["name"], "Dat\u{e0}bases");
    assert_eq!(answer.json["opensAt"], "2030-06-01T07:00:00Z");
    assert_eq!(staff.get("/courses/101").await.expect(200).json["name"], "Dat\u{e0}bases");
    let same = staff.put("/courses/101", course(30, "MON", 1, 3)).await.expect(200);
    assert!(same.json.get("opensAt").is_none(), "what is left out is taken away");
}

#[tokio::test]
async fn capacity_follows_up_and_down_and_no_seat_is_lost() {
    let world = World::start().await;
    for capacity in [5, 90, 91, 256, 257, 1_000, 300, 30, 0, 10_000] {
        world.course(101, capacity).await;
        assert_eq!(world.seats(101).await, (capacity, 0, capacity));
    }
}

#[tokio::test]
async fn capacity_stops_at_the_students_enrolled() {
    let world = World::start().await;
    world.students(3).await;
    world.course(101, 10).await;
    for student in 1..=3 {
        world.enroll(student, 101).await.expect(201);
    }
    let staff = world.as_staff();
    let refused = staff.put("/courses/101", course(2, "MON", 1, 3)).await;
    let refused = refused.refused(409, "CAPACITY_BELOW_ENROLLED");
    assert_eq!(refused.json["capacity"], 3);
    assert_eq!(world.seats(101).await, (3, 3, 0));
    staff.put("/courses/101", course(3, "MON", 1, 3)).await.expect(200);
    world.assert_consistent(&[101], 3).await;
}

#[tokio::test]
async fn hours_change_only_while_enrollment_is_closed_for_long_and_nobody_is_enrolled() {
    let world = World::start().await;
    let staff = world.as_staff();
    world.students(1).await;
    world.course(101, 10).await;
    let moved = || with_window(course(10, "TUE", 1, 3), Some("2031-01-01T00:00:00Z"));
    let put = async |body: Value| staff.put("/courses/101", body).await;
    // Open: somebody may be enrolling.
    put(course(10, "TUE", 1, 3)).await.refused(409, "COURSE_IN_USE");
    // Closed, but an environment may not know yet.
    put(with_window(course(10, "MON", 1, 3), Some("2031-01-01T00:00:00Z"))).await.expect(200);
    put(moved()).await.refused(409, "COURSE_IN_USE");
    world.clock.advance(19_999);
    put(moved()).await.refused(409, "COURSE_IN_USE");
    world.clock.advance(1);
    assert_eq!(put(moved()).await.expect(200).json["dayOfWeek"], "TUE");
    // Credit and term are what the enrolled paid with, too.
    let mut credit = moved();
    credit["credit"] = 4.into();
    credit["term"] = "2031".into();
    put(credit).await.expect(200);
    put(moved()).await.expect(200);
    // Somebody is enrolled.
    put(course(10, "TUE", 1, 3)).await.expect(200);
    world.enroll(1, 101).await.expect(201);
    put(moved()).await.expect(200);
    world.clock.advance(60_000);
    let monday = || with_window(course(10, "MON", 1, 3), Some("2031-01-01T00:00:00Z"));
    put(monday()).await.refused(409, "COURSE_IN_USE");
    world.as_staff().delete("/enrollments/1/101").await.expect(204);
    put(monday()).await.expect(200);
    // The listings have followed.
    let on =
        async |day: &str| world.as_nobody().list(&format!("/courses?day={day}"), 10).await.len();
    assert_eq!((on("MON").await, on("TUE").await), (1, 0));
}

fn with_window(mut body: Value, opens_at: Option<&str>) -> Value {
    body["opensAt"] = opens_at.into();
    body
}

#[tokio::test]
async fn only_staff_put_courses_and_only_valid_ones() {
    let world = World::start().await;
    let good = course(1, "MON", 1, 3);
    world.as_nobody().put("/courses/1", good.clone()).await.refused(401, "UNAUTHENTICATED");
    world.as_member("m1").put("/courses/1", good.clone()).await.refused(403, "FORBIDDEN");
    let staff = world.as_staff();
    let meeting = json!({ "dayOfWeek": "MON", "startPeriod": 1, "endPeriod": 3 });
    for (field, bad) in [
        ("name", json!("")),
        ("name", json!("x".repeat(201))),
        ("name", json!("a\u{7}b")),
        ("name", json!(7)),
        ("credit", json!(0)),
        ("credit", json!(31)),
        ("credit", json!(1.5)),
        ("dayOfWeek", json!("mon")),
        ("dayOfWeek", json!("XXX")),
        ("dayOfWeek", Value::Null),
        ("startPeriod", json!(0)),
        ("startPeriod", json!(4)),
        ("endPeriod", json!(21)),
        ("endPeriod", json!("3")),
        ("capacity", json!(-1)),
        ("capacity", json!(1_000_001)),
        ("capacity", Value::Null),
        ("term", json!("")),
        ("term", json!("a#b")),
        ("opensAt", json!("soon")),
        ("opensAt", json!(1_893_456_000)),
        ("meetings", json!([meeting])),
    ] {
        let mut body = good.clone();
        body[field] = bad;
        let refused = staff.put("/courses/1", body).await.refused(400, "INVALID_REQUEST");
        assert!(!refused.json["errors"].as_array().unwrap().is_empty(), "{field}");
    }
    let several =
        |meetings: Value| json!({ "name": "x", "credit": 1, "capacity": 1, "meetings": meetings });
    for meetings in [json!([]), json!([meeting, meeting]), json!([{ "dayOfWeek": "MON" }])] {
        staff.put("/courses/1", several(meetings)).await.refused(400, "INVALID_REQUEST");
    }
    let mut window = good.clone();
    window["opensAt"] = "2030-01-02T00:00:00Z".into();
    window["closesAt"] = "2030-01-02T00:00:00Z".into();
    staff.put("/courses/1", window).await.refused(400, "INVALID_REQUEST");
    for id in ["0", "-1", "x", "1.0", "9007199254740992", "%00", "1%2F2"] {
        let path = format!("/courses/{id}");
        staff.put(&path, good.clone()).await.refused(400, "INVALID_REQUEST");
    }
    world.as_nobody().get("/courses/1").await.refused(404, "COURSE_NOT_FOUND");
}

#[tokio::test]
async fn several_wrong_fields_are_named_at_once() {
    let world = World::start().await;
    let mut body = course(1, "MON", 1, 3);
    body["name"] = "".into();
    body["credit"] = 99.into();
    let refused = world.as_staff().put("/courses/1", body).await.refused(400, "INVALID_REQUEST");
    let errors = refused.json["errors"].as_array().unwrap();
    let mut fields: Vec<&str> = errors.iter().filter_map(|e| e["field"].as_str()).collect();
    fields.sort_unstable();
    assert_eq!(fields, ["credit", "name"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_many_who_create_a_course_at_once_creates_it() {
    for capacity in [200, 0, 0, 0, 0, 0, 0, 0] {
        let world = World::start().await;
        let staff = world.as_staff();
        let answers = race(0..64, |_| staff.put("/courses/101", course(capacity, "MON", 1, 3)));
        let answers = answers.await;
        assert_eq!((count(&answers, 201), count(&answers, 200)), (1, 63));
        assert_eq!(world.seats(101).await, (capacity, 0, capacity));
    }
}
