//! `POST /enrollments`.

use serde_json::{Value, json};
use suites::{World, course, instant, student};

async fn world() -> World {
    let world = World::start().await;
    world.course(101, 2).await;
    world.students(3).await;
    world
}

#[tokio::test]
async fn a_student_gets_a_seat_once() {
    let world = world().await;
    let created = world.enroll(1, 101).await.expect(201);
    assert_eq!(created.json["studentId"], 1);
    assert_eq!(created.json["courseId"], 101);
    assert_eq!(created.json["term"], "default");
    assert_eq!(created.json["enrolledAt"], "2030-01-01T00:00:00Z");
    assert_eq!(created.headers["location"], "/enrollments/1/101");
    assert!(created.json["enrollmentId"].is_string());
    world.enroll(1, 101).await.refused(409, "ALREADY_ENROLLED");
    assert_eq!(world.seats(101).await, (2, 1, 1));
    world.assert_consistent(&[101], 3).await;
}

#[tokio::test]
async fn the_same_key_gets_the_first_answer_and_another_body_is_refused() {
    let world = world().await;
    world.course_at(102, 2, "TUE", 1, 1).await;
    let caller = world.as_member("m1").with("idempotency-key", "k-1");
    let first = caller.enroll(1, 101).await.expect(201);
    let again = caller.enroll(1, 101).await.expect(201);
    assert_eq!(first.json, again.json);
    assert_eq!(first.headers["location"], again.headers["location"]);
    caller.enroll(1, 102).await.refused(409, "IDEMPOTENCY_KEY_REUSED");
    // Somebody else's key of the same name is another key.
    world.as_member("m2").with("idempotency-key", "k-1").enroll(2, 101).await.expect(201);
    assert_eq!(world.seats(101).await, (2, 2, 0));
    // The course is full now, and closed: the first answer stays the answer.
    assert_eq!(caller.enroll(1, 101).await.expect(201).json, first.json);
    let mut closed = course(2, "MON", 1, 3);
    closed["closesAt"] = "2029-01-01T00:00:00Z".into();
    world.as_staff().put("/courses/101", closed).await.expect(200);
    world.clock.advance(5_000);
    world.enroll(3, 101).await.refused(409, "ENROLLMENT_CLOSED");
    assert_eq!(caller.enroll(1, 101).await.expect(201).json, first.json);
    // After a day it is forgotten.
    world.clock.advance(24 * 60 * 60 * 1000);
    let caller = world.as_member("m1").with("idempotency-key", "k-1");
    caller.enroll(1, 101).await.refused(409, "ENROLLMENT_CLOSED");
}

#[tokio::test]
async fn a_refusal_is_not_kept_under_a_key() {
    let world = world().await;
    world.enroll(1, 101).await.expect(201);
    world.enroll(2, 101).await.expect(201);
    let caller = world.as_member("m3").with("idempotency-key", "k-1");
    caller.enroll(3, 101).await.refused(409, "COURSE_FULL");
    world.drop_course(1, 101).await.expect(204);
    world.clock.advance(1_000);
    caller.enroll(3, 101).await.expect(201);
}

#[tokio::test]
async fn a_full_course_refuses_without_writing() {
    let world = world().await;
    world.enroll(1, 101).await.expect(201);
    world.enroll(2, 101).await.expect(201);
    world.enroll(3, 101).await.refused(409, "COURSE_FULL");
    world.enroll(3, 101).await.refused(409, "COURSE_FULL");
    // Who is in already is told so, full or not.
    world.enroll(1, 101).await.refused(409, "ALREADY_ENROLLED");
    assert_eq!(world.seats(101).await, (2, 2, 0));
    world.assert_consistent(&[101], 3).await;
}

#[tokio::test]
async fn a_course_without_seats_is_full() {
    let world = world().await;
    world.course_at(102, 0, "TUE", 1, 1).await;
    world.enroll(1, 102).await.refused(409, "COURSE_FULL");
    world.enroll(1, 102).await.refused(409, "COURSE_FULL");
    world.course_at(102, 1, "TUE", 1, 1).await;
    world.clock.advance(5_000);
    world.enroll(1, 102).await.expect(201);
}

#[tokio::test]
async fn credits_are_a_limit() {
    let world = World::start().await;
    world.as_staff().put("/students/1", student(1, 5)).await.expect(201);
    world.course_at(101, 9, "MON", 1, 1).await;
    world.course_at(102, 9, "TUE", 1, 1).await;
    world.enroll(1, 101).await.expect(201);
    let refused = world.enroll(1, 102).await.refused(409, "CREDIT_LIMIT_EXCEEDED");
    assert_eq!(
        (&refused.json["creditsLeft"], &refused.json["creditsNeeded"]),
        (&json!(2), &json!(3))
    );
    // Exactly enough is enough.
    world.as_staff().put("/students/1", student(1, 6)).await.expect(200);
    world.enroll(1, 102).await.expect(201);
    world.assert_consistent(&[101, 102], 1).await;
}

#[tokio::test]
async fn periods_that_overlap_clash_and_periods_that_touch_do_not() {
    let world = World::start().await;
    world.students(1).await;
    world.course_at(101, 9, "MON", 4, 6).await;
    for (id, day, start, end, clashes) in [
        (102, "MON", 6, 8, true),
        (103, "MON", 1, 4, true),
        (104, "MON", 5, 5, true),
        (105, "MON", 1, 20, true),
        (106, "MON", 7, 8, false),
        (107, "MON", 1, 3, false),
        (108, "TUE", 4, 6, false),
    ] {
        world.course_at(id, 9, day, start, end).await;
        if id == 102 {
            world.enroll(1, 101).await.expect(201);
        }
        let answer = world.enroll(1, id).await;
        if clashes {
            answer.refused(409, "TIMETABLE_CONFLICT");
        } else {
            answer.expect(201);
        }
    }
    world.assert_consistent(&[101, 106, 107, 108], 1).await;
}

#[tokio::test]
async fn every_meeting_of_a_course_counts() {
    let world = World::start().await;
    world.students(1).await;
    let meetings = json!([
        { "dayOfWeek": "MON", "startPeriod": 1, "endPeriod": 2 },
        { "dayOfWeek": "THU", "startPeriod": 5, "endPeriod": 6 },
    ]);
    let body = json!({ "name": "Compilers", "credit": 3, "meetings": meetings, "capacity": 5 });
    world.as_staff().put("/courses/101", body).await.expect(201);
    world.enroll(1, 101).await.expect(201);
    world.course_at(102, 5, "THU", 6, 7).await;
    let refused = world.enroll(1, 102).await.refused(409, "TIMETABLE_CONFLICT");
    assert_eq!(refused.json["periods"], json!(["THU-6"]));
}

#[tokio::test]
async fn enrollment_opens_and_closes_to_the_millisecond() {
    let world = World::start().await;
    world.students(2).await;
    let mut body = course(5, "MON", 1, 3);
    body["opensAt"] = "2030-01-01T00:00:10Z".into();
    body["closesAt"] = "2030-01-01T00:00:20Z".into();
    world.as_staff().put("/courses/101", body).await.expect(201);
    world.clock.advance(9_999);
    let refused = world.enroll(1, 101).await.refused(409, "ENROLLMENT_CLOSED");
    assert_eq!(refused.json["opensAt"], "2030-01-01T00:00:10Z");
    assert_eq!(refused.json["now"], "2030-01-01T00:00:09.999Z");
    world.clock.advance(1);
    world.enroll(1, 101).await.expect(201);
    world.clock.advance(9_999);
    world.enroll(2, 101).await.expect(201);
    world.drop_course(2, 101).await.expect(204);
    world.clock.advance(1);
    let refused = world.enroll(2, 101).await.refused(409, "ENROLLMENT_CLOSED");
    assert_eq!(refused.json["closesAt"], "2030-01-01T00:00:20Z");
    assert_eq!(instant("2030-01-01T00:00:20Z"), world.clock.now());
}

#[tokio::test]
async fn the_refusal_that_comes_first_in_the_contract_wins() {
    let world = World::start().await;
    let mut closed = course(1, "MON", 1, 3);
    closed["opensAt"] = "2031-01-01T00:00:00Z".into();
    world.as_staff().put("/courses/101", closed).await.expect(201);
    world.as_staff().put("/students/1", student(1, 4)).await.expect(201);
    world.students_from(2, 3).await;
    // 401, 400, 404, 403, then closed.
    let bad = json!({ "studentId": "x" });
    world.as_nobody().post("/enrollments", bad.clone()).await.refused(401, "UNAUTHENTICATED");
    world.as_member("m2").post("/enrollments", bad).await.refused(400, "INVALID_REQUEST");
    world.as_member("m2").enroll(1, 999).await.refused(404, "COURSE_NOT_FOUND");
    world.as_member("m2").enroll(999, 101).await.refused(404, "STUDENT_NOT_FOUND");
    world.as_member("m2").enroll(1, 101).await.refused(403, "FORBIDDEN");
    world.as_member("m1").enroll(1, 101).await.refused(409, "ENROLLMENT_CLOSED");
    // Enrolled, then a clash, then credits, then full.
    world.course_at(102, 1, "TUE", 1, 3).await;
    world.course_at(103, 0, "TUE", 3, 4).await;
    world.course_at(104, 0, "WED", 3, 4).await;
    world.enroll(1, 102).await.expect(201);
    world.enroll(1, 102).await.refused(409, "ALREADY_ENROLLED");
    world.enroll(1, 103).await.refused(409, "TIMETABLE_CONFLICT");
    world.enroll(1, 104).await.refused(409, "CREDIT_LIMIT_EXCEEDED");
    world.enroll(2, 104).await.refused(409, "COURSE_FULL");
    world.as_member("m2").enroll(3, 102).await.refused(403, "FORBIDDEN");
}

#[tokio::test]
async fn staff_enroll_anybody_and_members_only_themselves() {
    let world = world().await;
    world.as_staff().enroll(1, 101).await.expect(201);
    world.as_member("m1").enroll(2, 101).await.refused(403, "FORBIDDEN");
    world.as_member("m2").enroll(2, 101).await.expect(201);
}

#[tokio::test]
async fn a_course_of_another_term_is_paid_by_that_terms_plan() {
    let world = world().await;
    let mut other = course(5, "MON", 1, 3);
    other["term"] = "2031-spring".into();
    world.as_staff().put("/courses/201", other).await.expect(201);
    world.enroll(1, 201).await.refused(404, "STUDENT_NOT_FOUND");
    let mut plan = student(1, 3);
    plan["term"] = "2031-spring".into();
    world.as_staff().put("/students/1", plan).await.expect(201);
    world.enroll(1, 101).await.expect(201);
    let created = world.enroll(1, 201).await.expect(201);
    assert_eq!(created.json["term"], "2031-spring");
    let path = "/students/1/enrollments?term=2031-spring";
    let timetable = world.as_member("m1").get(path).await.expect(200).json;
    assert_eq!(timetable["credits"], json!({ "taken": 3, "max": 3 }));
    assert_eq!(timetable["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn whatever_is_no_enrollment_is_refused_and_changes_nothing() {
    let world = world().await;
    let caller = world.as_member("m1");
    let nested = format!(r#"{{"studentId":1,"courseId":101,"x":{}"#, "[".repeat(5_000));
    let mut bodies: Vec<Vec<u8>> = ["", "{", "null", "[]", "1", "\"x\"", "{}", "{}{}", &nested]
        .map(|body| body.as_bytes().to_vec())
        .into();
    bodies.push(vec![0xff, 0xfe, b'{', b'}']);
    bodies.push(b"{\"studentId\":1,\"courseId\":101,\"x\":\"\xff\"}".to_vec());
    bodies.push(format!("{nested}{}}}", "]".repeat(5_000)).into_bytes());
    for bad in ["\"1\"", "-1", "1.5", "1.0", "0", "1e3", "null", "true", "[1]", "9007199254740992"]
    {
        bodies.push(format!(r#"{{"studentId":{bad},"courseId":101}}"#).into_bytes());
        bodies.push(format!(r#"{{"studentId":1,"courseId":{bad}}}"#).into_bytes());
    }
    bodies.push(br#"{"studentId":9223372036854775808,"courseId":101}"#.to_vec());
    bodies.push(br#"{"studentId":1}"#.to_vec());
    bodies.push(br#"{"studentId":1,"studentId":1,"courseId":101}"#.to_vec());
    for body in bodies {
        let text = String::from_utf8_lossy(&body).chars().take(60).collect::<String>();
        let refused = caller.send_raw("POST", "/enrollments", body).await;
        assert_eq!(refused.status, 400, "{text}");
        let refused = refused.refused(400, "INVALID_REQUEST");
        let errors = refused.json["errors"].as_array().expect("errors");
        assert!(errors.iter().all(|e| e["field"].is_string() && e["message"].is_string()));
        assert!(!errors.is_empty(), "{text}");
        assert_eq!(refused.usage.total_calls(), 0, "{text}");
    }
    let big = vec![b' '; 1_000_001];
    caller.send_raw("POST", "/enrollments", big).await.refused(413, "BODY_TOO_LARGE");
    let keyed = |key: &str| caller.clone().with("idempotency-key", key);
    keyed(&"k".repeat(129)).enroll(1, 101).await.refused(400, "INVALID_REQUEST");
    assert_eq!(world.seats(101).await, (2, 0, 2));
}

#[tokio::test]
async fn a_body_is_read_whatever_its_content_type_says() {
    let world = world().await;
    for (student, content_type) in [
        (1, None),
        (2, Some("application/x-www-form-urlencoded")),
        (3, Some("application/octet-stream")),
    ] {
        let mut caller = world.as_member(&format!("m{student}"));
        if let Some(content_type) = content_type {
            caller = caller.with("content-type", content_type);
        }
        world.course_at(101, 3, "MON", 1, 3).await;
        let body = json!({ "studentId": student, "courseId": 101 }).to_string();
        world.clock.advance(5_000);
        caller.send_raw("POST", "/enrollments", body).await.expect(201);
    }
}

#[tokio::test]
async fn unknown_fields_are_passed_over() {
    let world = world().await;
    let body = json!({ "studentId": 1, "courseId": 101, "role": "staff", "x": Value::Null });
    world.as_member("m1").post("/enrollments", body).await.expect(201);
}
