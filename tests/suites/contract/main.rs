//! What holds for every operation: tokens, routes, the form of answers.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod openapi;
mod template;

use std::collections::BTreeSet;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use platform::auth::Role;
use serde_json::{Value, json};
use suites::{World, project};

const SCHEDULE: &str = "/schedules/01941f29-7c00-7000-8000-000000000001";
const ORDER: &str = "/orders/01941f29-7c00-7000-8000-000000000001";
const POST: &str = "/posts/01941f29-7c00-7000-8000-000000000001";

const ANNOUNCEMENT: &str = "/announcements/a-1";

fn announcement() -> Value {
    json!({
        "title": "Rooms",
        "organisation": "City",
        "category": "housing",
        "region": "north",
        "body": "Apply now.",
        "opensAt": "2030-01-01T00:00:00Z",
        "closesAt": "2030-02-01T00:00:00Z",
        "documents": [],
    })
}

fn schedule() -> Value {
    json!({
        "title": "Dentist",
        "startTime": "2030-01-01T09:00:00Z",
        "endTime": "2030-01-01T10:00:00Z",
    })
}

/// Every operation that wants a token, with a body that is valid.
fn protected() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        ("PUT", "/courses/1", suites::course(1, "MON", 1, 1)),
        ("PUT", "/students/1", suites::student(1, 18)),
        ("POST", "/enrollments", json!({ "studentId": 1, "courseId": 1 })),
        ("DELETE", "/enrollments/1/1", Value::Null),
        ("GET", "/students/1/enrollments", Value::Null),
        ("GET", "/courses/1/enrollments", Value::Null),
        ("GET", "/notifications", Value::Null),
        ("PUT", "/notifications/1/read", Value::Null),
        ("GET", "/dead-letters", Value::Null),
        ("POST", "/dead-letters/redrive", Value::Null),
        ("GET", "/auth/me", Value::Null),
        ("PATCH", "/auth/me", json!({ "name": "Ada" })),
        ("POST", "/schedules", schedule()),
        ("GET", "/schedules", Value::Null),
        ("GET", SCHEDULE, Value::Null),
        ("PUT", SCHEDULE, schedule()),
        ("DELETE", SCHEDULE, Value::Null),
        ("POST", "/posts", json!({ "title": "Hi", "body": "Hello" })),
        ("PATCH", POST, json!({ "title": "Hi" })),
        ("DELETE", POST, Value::Null),
        ("PUT", "/matches/final", suites::ticketing::match_body()),
        ("POST", "/matches/final/queue", Value::Null),
        ("GET", "/matches/final/queue", Value::Null),
        ("POST", "/matches/final/queue/pass", Value::Null),
        ("GET", "/matches/final/seat-groups", Value::Null),
        ("GET", "/matches/final/blocks/A/seats", Value::Null),
        ("POST", "/matches/final/recommendations", json!({})),
        ("PUT", "/matches/final/booking-options", json!({ "seats": 1 })),
        ("GET", "/matches/final/booking-options", Value::Null),
        ("PUT", "/preferences", json!({})),
        ("GET", "/preferences", Value::Null),
        ("POST", "/matches/final/holds", json!({ "seats": ["A-1-1"] })),
        ("PUT", ANNOUNCEMENT, announcement()),
        ("PUT", "/announcements/a-1/favorite", Value::Null),
        ("DELETE", "/announcements/a-1/favorite", Value::Null),
        ("GET", "/favorites", Value::Null),
        ("GET", "/announcements/a-1/checklist", Value::Null),
        ("PUT", "/announcements/a-1/checklist", json!({ "checked": [] })),
        ("DELETE", "/holds/01941f29-7c00-7000-8000-000000000001", Value::Null),
        ("POST", "/orders", json!({ "holdId": "01941f29-7c00-7000-8000-000000000001" })),
        ("POST", "/orders/01941f29-7c00-7000-8000-000000000001/payment", json!({ "amount": 1 })),
        ("DELETE", ORDER, Value::Null),
        ("GET", "/orders", Value::Null),
        ("GET", ORDER, Value::Null),
    ]
}

#[tokio::test]
async fn health_answers_anybody() {
    let world = World::start().await;
    let answer = world.as_nobody().get("/health").await.expect(200);
    assert_eq!(answer.json, json!({ "status": "ok" }));
    assert_eq!(answer.headers["content-type"], "application/json");
}

#[tokio::test]
async fn tokens_that_do_not_hold_are_refused_everywhere() {
    let world = World::start().await;
    let token = world.cloud.token("m1", Role::Member);
    let parts: Vec<&str> = token.split('.').collect();
    let encode = |text: &str| BASE64_URL_SAFE_NO_PAD.encode(text);
    let staff = r#"{"sub":"m1","role":"staff","iat":0,"exp":99999999999,"jti":"x"}"#;
    let expired = world.cloud.token("m1", Role::Staff);
    let kid = serde_json::from_slice::<Value>(&BASE64_URL_SAFE_NO_PAD.decode(parts[0]).unwrap())
        .unwrap()["kid"]
        .clone();
    let none = json!({ "alg": "none", "typ": "JWT", "kid": kid }).to_string();
    let mut bad = vec![
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        "Bearer x".to_owned(),
        token.clone(),
        format!("Basic {token}"),
        format!("Bearer {}.{}.{}", parts[0], encode(staff), parts[2]),
        format!("Bearer {}.{}.", encode(&none), encode(staff)),
        format!("Bearer {}.{}", encode(&none), encode(staff)),
        format!("Bearer {}.{}.{}", parts[0], parts[1], encode("another signature")),
    ];
    world.clock.advance(15 * 60 * 1000);
    bad.push(format!("Bearer {expired}"));
    for (method, path, body) in protected() {
        let nobody = world.as_nobody().send(method, path, body.clone()).await;
        let nobody = nobody.refused(401, "UNAUTHENTICATED");
        assert_eq!(nobody.headers["www-authenticate"], "Bearer");
        for authorization in &bad {
            let caller = world.as_nobody().with("authorization", authorization);
            caller.send(method, path, body.clone()).await.refused(401, "UNAUTHENTICATED");
        }
    }
}

#[tokio::test]
async fn the_scheme_of_a_token_is_written_in_any_case() {
    let world = World::start().await;
    let token = world.cloud.token("staff", Role::Staff);
    let caller = world.as_nobody().with("Authorization", &format!("bearer {token}"));
    caller.put("/students/1", suites::student(1, 18)).await.expect(201);
}

#[tokio::test]
async fn what_is_no_route_is_refused_in_the_same_form() {
    let world = World::start().await;
    for (method, path) in [
        ("GET", "/"),
        ("GET", "/nothing"),
        ("GET", "/courses/1/"),
        ("GET", "/courses/1/2/3"),
        ("POST", "/courses"),
        ("PATCH", "/enrollments"),
        ("DELETE", "/courses/1"),
        ("OPTIONS", "/enrollments"),
        ("GET", "/%"),
        ("GET", "/%ff%fe"),
        ("GET", "/%00"),
        ("GET", "//courses"),
        ("GET", "/courses/%2e%2e/students"),
    ] {
        world.as_nobody().send(method, path, Value::Null).await.refused(404, "ROUTE_NOT_FOUND");
    }
}

#[tokio::test]
async fn head_is_no_get_and_its_answer_has_no_body() {
    let world = World::start().await;
    for path in ["/health", "/courses/1", "/posts", POST] {
        let answer = world.as_nobody().send("HEAD", path, Value::Null).await.expect(404);
        assert_eq!(answer.json, Value::Null);
        assert_eq!(answer.headers["content-type"], "application/problem+json");
    }
}

#[tokio::test]
async fn encoded_paths_and_odd_queries_are_never_a_failure_of_ours() {
    let world = World::start().await;
    world.course(1, 1).await;
    let anyone = world.as_nobody();
    anyone.get("/courses/%31").await.expect(200);
    anyone.get("/%63ourses/1").await.expect(200);
    for path in
        ["/courses/%ff", "/courses/%", "/courses/%zz", "/courses/1%20", "/courses/%F0%9F%8E%9F"]
    {
        let status = anyone.get(path).await.status;
        assert!((400..500).contains(&status), "{path}: {status}");
    }
    for query in ["limit=1&limit=2", "limit", "=", "&&&", "day=MON&day=TUE", "limit=%ff", "a=%"] {
        let status = anyone.get(&format!("/courses?{query}")).await.status;
        assert!(status < 500, "{query}: {status}");
    }
}

#[tokio::test]
async fn every_answer_tells_caches_and_browsers_to_keep_out() {
    let world = World::start().await;
    for path in ["/health", "/courses", "/nothing"] {
        let headers = world.as_nobody().get(path).await.headers;
        assert_eq!(headers["cache-control"], "no-store");
        assert_eq!(headers["x-content-type-options"], "nosniff");
    }
}

/// The names of the files with `extension` in `folder`, without it.
fn files(folder: &str, extension: &str) -> BTreeSet<String> {
    let entries = std::fs::read_dir(project().join(folder)).expect("the folder is there");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let wanted = paths.filter(|path| path.extension().is_some_and(|e| e == extension));
    wanted.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect()
}

#[test]
fn every_function_has_a_file_a_binary_an_event_and_a_place_in_the_template_and_the_readme() {
    let systems = [
        ("platform", platform::FUNCTIONS),
        ("identity", identity::FUNCTIONS),
        ("enrollment", enrollment::FUNCTIONS),
        ("schedule", schedule::FUNCTIONS),
        ("notification", notification::FUNCTIONS),
        ("blog", blog::FUNCTIONS),
        ("ticketing", ticketing::FUNCTIONS),
        ("announcement", announcement::FUNCTIONS),
        ("docs", docs::FUNCTIONS),
    ];
    let template = std::fs::read_to_string(project().join("template.yaml")).unwrap();
    let readme = std::fs::read_to_string(project().join("README.md")).unwrap();
    let mut all = BTreeSet::new();
    for (system, functions) in systems {
        let names: BTreeSet<String> = functions.iter().map(|f| f.name.to_owned()).collect();
        assert_eq!(names, files(&format!("functions/{system}/src/bin"), "rs"));
        for name in &names {
            let file = format!("functions/{system}/src/{}.rs", name.replace('-', "_"));
            assert!(project().join(&file).exists(), "{file} is missing");
            let manifest = format!("functions/{system}/Cargo.toml");
            let manifest = std::fs::read_to_string(project().join(manifest)).unwrap();
            assert!(manifest.contains(&format!("name = \"{name}\"")), "no [[bin]] {name}");
            assert!(template.contains(&format!("CodeUri: target/lambda/{name}\n")), "{name}");
            assert!(readme.contains(&format!("`{name}`")), "the README leaves out {name}");
        }
        all.extend(names);
    }
    assert_eq!(all, files("events", "json"));
}

#[test]
fn what_every_crate_of_ours_says_at_any_level_can_be_logged() {
    for entry in std::fs::read_dir(project().join("functions")).expect("the folder is there") {
        let name = entry.expect("an entry").file_name().into_string().unwrap();
        assert!(platform::telemetry::OURS.contains(&name.as_str()), "{name}");
    }
}

#[test]
fn the_time_that_hours_need_to_settle_covers_the_timeout_of_enroll() {
    let template = local::template::Template::of_checkout().unwrap();
    let enroll = template.functions.iter().find(|f| f.name == "enroll").unwrap();
    let timeout_ms = i64::try_from(enroll.timeout.as_millis()).unwrap();
    assert_eq!(timeout_ms, enrollment::course::ENROLL_TIMEOUT_MS);
}
