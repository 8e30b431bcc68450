//! Sample data, written through the functions themselves: six courses and
//! twenty students to try things with, and a schedule for the example events.

use axum::body::Bytes;
use http::{Method, Request, header};
use platform::auth::Role;
use platform::clock::Instant;
use schedule::schedule::{ProgressStatus, Schedule};
use schedule::wanted::Wanted;
use serde_json::{Value, json};

use crate::cloud::Cloud;

const STUDENTS: [&str; 20] = [
    "Amara Okafor",
    "Ben Carter",
    "Chiara Rossi",
    "Daniel Kim",
    "Elif Yilmaz",
    "Felix Braun",
    "Grace Mensah",
    "Hana Suzuki",
    "Ivan Petrov",
    "Julia Nowak",
    "Kofi Boateng",
    "Lena Fischer",
    "Mateo Garcia",
    "Nadia Haddad",
    "Oscar Lindgren",
    "Priya Sharma",
    "Quentin Dubois",
    "Rosa Silva",
    "Sofia Jensen",
    "Tomas Novak",
];

/// The course that is full, and who sits in it.
const FULL_COURSE: u64 = 5;
const SEATED: [u64; 2] = [19, 20];

/// The schedule of the example events, on the first of January 2030 from nine
/// to ten, and who calls there.
const SCHEDULE: &str = "01941f29-7c00-7000-8000-000000000001";
const SCHEDULE_STARTS_AT_MS: i64 = 1_893_488_400_000;
const EXAMPLE_CALLER: &str = "staff";

/// Sample data that was refused.
#[derive(Debug, thiserror::Error)]
#[error("cannot write sample data: {request} answered {status}: {body}")]
pub struct SampleError {
    request: String,
    status: u16,
    body: String,
}

/// Writes the sample data.
pub(crate) async fn write(cloud: &Cloud) -> Result<(), SampleError> {
    for (id, course) in (1..).zip(courses()) {
        send(cloud, Method::PUT, &format!("/courses/{id}"), &course).await?;
    }
    for (id, name) in (1..).zip(STUDENTS) {
        let student = json!({
            "name": name,
            "memberId": format!("student-{id}"),
            "maxCredits": 18,
        });
        send(cloud, Method::PUT, &format!("/students/{id}"), &student).await?;
    }
    for student in SEATED {
        let enrollment = json!({ "studentId": student, "courseId": FULL_COURSE });
        send(cloud, Method::POST, "/enrollments", &enrollment).await?;
    }
    write_schedule(cloud).await
}

/// Writes the schedule that the events in `events/` name. It goes into the table
/// itself, since the API makes up its ids.
async fn write_schedule(cloud: &Cloud) -> Result<(), SampleError> {
    let refused = |cause: String| SampleError {
        request: format!("a write of schedule {SCHEDULE}"),
        status: 500,
        body: cause,
    };
    let wanted = Wanted {
        title: "Stand-up".to_owned(),
        contents: String::new(),
        starts_at: Instant::from_millis(SCHEDULE_STARTS_AT_MS),
        ends_at: Instant::from_millis(SCHEDULE_STARTS_AT_MS + 60 * 60 * 1000),
        progress_status: ProgressStatus::Planned,
        remind_before_minutes: None,
    };
    let id = SCHEDULE.parse().map_err(|error| refused(format!("{error}")))?;
    let schedule = Schedule::new(id, EXAMPLE_CALLER, wanted, cloud.now());
    let item = schedule.to_item().map_err(|problem| refused(problem.to_json("").to_string()))?;
    let put = cloud.client().put_item().table_name(schedule::TABLE.default).set_item(Some(item));
    put.send().await.map_err(|error| refused(error.to_string()))?;
    Ok(())
}

/// Courses 1 to 6, on six days so that none is in another's way. Courses 1 to
/// 4 together are more than a student's 18 credits.
fn courses() -> [Value; 6] {
    let course = |name: &str, day: &str, credit: u32, capacity: u32| {
        json!({
            "name": name,
            "dayOfWeek": day,
            "startPeriod": 1,
            "endPeriod": 3,
            "credit": credit,
            "capacity": capacity,
        })
    };
    let mut not_yet_open = course("Compilers", "SAT", 3, 100);
    not_yet_open["opensAt"] = json!("2099-01-01T00:00:00Z");
    [
        course("Distributed Systems", "MON", 3, 30),
        course("Linear Algebra", "TUE", 3, 100),
        course("Operating Systems", "WED", 6, 100),
        course("Senior Project", "THU", 9, 100),
        course("Chamber Choir", "FRI", 3, 2),
        not_yet_open,
    ]
}

async fn send(cloud: &Cloud, method: Method, path: &str, body: &Value) -> Result<(), SampleError> {
    let mut request = Request::new(Bytes::from(body.to_string()));
    let token = cloud.token("sample-data", Role::Staff);
    let headers = [
        (header::CONTENT_TYPE, "application/json".to_owned()),
        (header::AUTHORIZATION, format!("Bearer {token}")),
    ];
    for (name, value) in headers {
        if let Ok(value) = value.parse() {
            request.headers_mut().insert(name, value);
        }
    }
    let name = format!("{method} {path}");
    *request.method_mut() = method;
    *request.uri_mut() = path.parse().unwrap_or_default();
    let response = cloud.request(request).await.response;
    if response.status().is_success() {
        return Ok(());
    }
    Err(SampleError {
        request: name,
        status: response.status().as_u16(),
        body: response.into_body(),
    })
}
