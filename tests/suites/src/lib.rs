//! What the suites share: a cloud of its own for each test, and callers who
//! say what they expect.
//!
//! Nothing here sleeps. The clock stands still until a test moves it. Every answer
//! is one that the API's document has, or the test fails.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on fails")]

pub mod documented;
pub mod gate;
pub mod ticketing;

use std::path::PathBuf;
use std::sync::Arc;

use aws_sdk_dynamodb::types::{Get, PutRequest, TransactGetItem, WriteRequest};
use enrollment::plan::Plan;
use enrollment::{TABLE, keys};
use futures_util::future::join_all;
use local::faults::{Faults, Layer};
use local::{Cloud, Options};
use platform::App;
use platform::auth::Role;
use platform::clock::{Clock, Instant};
use platform::meter::Usage;
use serde_json::{Value, json};

use crate::gate::Gate;

/// The top folder of the project.
pub fn project() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// A cloud with tables, caches and time of its own.
pub struct World {
    /// The cloud.
    pub cloud: Cloud,
    /// Its time: 2030-01-01T00:00:00Z until moved.
    pub clock: Clock,
    /// What goes wrong between its functions and DynamoDB: nothing until told.
    pub faults: Faults,
    /// What goes wrong between its functions and SQS: nothing until told.
    pub queue_faults: Faults,
}

impl World {
    /// A cloud without data, with up to 64 environments per function.
    pub async fn start() -> Self {
        Self::with_environments(64).await
    }

    /// A cloud without data, with up to so many environments per function.
    pub async fn with_environments(environments: u32) -> Self {
        let faults = Faults::default();
        let layer = Some(faults.layer());
        Self::of(Options { environments, layer, ..Options::default() }, faults).await
    }

    /// A cloud without data whose functions reach the table through a gate, and
    /// what goes wrong behind it.
    pub async fn behind(gate: &Gate) -> Self {
        let faults = Faults::default();
        let (outer, inner) = (gate.layer(), faults.layer());
        let layer: Layer = Arc::new(move |next| outer(inner(next)));
        Self::of(Options { layer: Some(layer), ..Options::default() }, faults).await
    }

    async fn of(options: Options, faults: Faults) -> Self {
        let clock = Clock::manual(instant("2030-01-01T00:00:00Z"));
        let queue_faults = Faults::default();
        let options =
            Options { clock: clock.clone(), queue_layer: Some(queue_faults.layer()), ..options };
        let cloud = Cloud::start(options).await.expect("the cloud starts");
        Self { cloud, clock, faults, queue_faults }
    }

    /// A caller with a member's token.
    pub fn as_member(&self, member_id: &str) -> Caller<'_> {
        self.caller(&self.cloud.token(member_id, Role::Member))
    }

    /// A caller with a staff token.
    pub fn as_staff(&self) -> Caller<'_> {
        self.caller(&self.cloud.token("staff", Role::Staff))
    }

    /// A caller without a token.
    pub fn as_nobody(&self) -> Caller<'_> {
        Caller { world: self, headers: vec![] }
    }

    fn caller(&self, token: &str) -> Caller<'_> {
        let authorization = ("authorization".to_owned(), format!("Bearer {token}"));
        Caller { world: self, headers: vec![authorization] }
    }
}

/// A test in which a function did what its policies do not allow has failed,
/// whatever the function made of the refusal.
impl Drop for World {
    #[expect(clippy::print_stderr, reason = "a second panic would hide the first")]
    fn drop(&mut self) {
        let denied = self.cloud.denied();
        if !std::thread::panicking() {
            assert_eq!(denied, Vec::<String>::new());
        } else if !denied.is_empty() {
            eprintln!("{}", denied.join("\n")); // very likely the cause
        }
    }
}

/// Somebody who sends requests.
#[derive(Clone)]
pub struct Caller<'w> {
    world: &'w World,
    headers: Vec<(String, String)>,
}

impl Caller<'_> {
    /// The same caller, sending one more header.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sends a request with a JSON body, or with none if it is null.
    pub async fn send(&self, method: &str, path: &str, body: Value) -> Answer {
        let mut caller = self.clone();
        if body.is_null() {
            return caller.send_raw(method, path, Vec::new()).await;
        }
        caller = caller.with("content-type", "application/json");
        caller.send_raw(method, path, body.to_string().into_bytes()).await
    }

    /// Sends a request with any body.
    pub async fn send_raw(&self, method: &str, path: &str, body: impl Into<Vec<u8>>) -> Answer {
        let mut builder = http::Request::builder().method(method).uri(path);
        for (name, value) in &self.headers {
            builder = builder.header(name, value);
        }
        let body = body.into();
        let request = builder.body(body.clone().into()).expect("a valid request");
        let route = self.world.cloud.route(&request).unwrap_or_default();
        let outcome = self.world.cloud.request(request).await;
        let (parts, text) = outcome.response.into_parts();
        let json = serde_json::from_str(&text).unwrap_or(Value::Null);
        let request = format!("{method} {path}");
        let answer = Answer {
            request,
            status: parts.status.as_u16(),
            headers: parts.headers,
            json,
            usage: outcome.usage,
        };
        documented::require(&route, &body, &answer);
        answer
    }

    /// `GET path`.
    pub async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, Value::Null).await
    }

    /// `PUT path`.
    pub async fn put(&self, path: &str, body: Value) -> Answer {
        self.send("PUT", path, body).await
    }

    /// `POST path`.
    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.send("POST", path, body).await
    }

    /// `DELETE path`.
    pub async fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, Value::Null).await
    }

    /// Every item of a list, page by page.
    pub async fn list(&self, path: &str, limit: usize) -> Vec<Value> {
        let separator = if path.contains('?') { '&' } else { '?' };
        let mut next = format!("{path}{separator}limit={limit}");
        let mut items = Vec::new();
        loop {
            let page = self.get(&next).await.expect(200);
            let on_page = page.json["items"].as_array().expect("a list has items");
            assert!(on_page.len() <= limit, "{next} has {} items", on_page.len());
            items.extend(on_page.iter().cloned());
            let Some(cursor) = page.json["nextCursor"].as_str() else { return items };
            next = format!("{path}{separator}limit={limit}&cursor={cursor}");
        }
    }
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Answer {
    request: String,
    /// HTTP status.
    pub status: u16,
    /// Headers.
    pub headers: http::HeaderMap,
    /// The body, or null.
    pub json: Value,
    /// What it cost.
    pub usage: Usage,
}

impl Answer {
    /// Fails the test unless the status is this one.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}: {}", self.request, self.json);
        self
    }

    /// Fails the test unless it is a problem with this status and code, in the
    /// form that every problem has.
    #[track_caller]
    pub fn refused(self, status: u16, code: &str) -> Self {
        assert_eq!(self.code(), code, "{}: {} {}", self.request, self.status, self.json);
        let kebab = code.to_lowercase().replace('_', "-");
        assert_eq!(self.json["type"], format!("urn:hotseat:problem:{kebab}"));
        assert_eq!(self.json["status"], status);
        for field in ["title", "detail", "requestId"] {
            assert!(self.json[field].is_string(), "no {field} in {}", self.json);
        }
        assert_eq!(self.headers["content-type"], "application/problem+json");
        self.expect(status)
    }

    /// The code of a problem, or nothing.
    pub fn code(&self) -> &str {
        self.json["code"].as_str().unwrap_or_default()
    }
}

/// A moment from its RFC 3339 text.
pub fn instant(text: &str) -> Instant {
    text.parse().expect("a valid time")
}

/// Sends a request for each of `inputs`, all at once, and gathers the answers.
pub async fn race<T, F>(
    inputs: impl IntoIterator<Item = T>,
    request: impl Fn(T) -> F,
) -> Vec<Answer>
where
    F: Future<Output = Answer>,
{
    join_all(inputs.into_iter().map(request)).await
}

/// How many answers had this status.
pub fn count(answers: &[Answer], status: u16) -> usize {
    answers.iter().filter(|answer| answer.status == status).count()
}

/// Events, from the change to the inbox.
impl World {
    /// Lets everything happen that is due now: events travel until all arrived
    /// or wait for the clock.
    pub async fn settle(&self) {
        self.cloud.settle().await;
    }

    /// Everything in a member's inbox, newest first.
    pub async fn inbox(&self, member_id: &str) -> Vec<Value> {
        self.as_member(member_id).list("/notifications", 100).await
    }

    /// The URL of a queue, by its name.
    pub async fn queue_url(&self, name: &str) -> String {
        let found = self.cloud.clients().sqs.get_queue_url().queue_name(name).send().await;
        found.expect("the queue is there").queue_url.expect("a queue has a URL")
    }

    /// An App like those of the cloud's functions, with the events' queues.
    pub async fn app(&self) -> App {
        let mut settings = Vec::new();
        for (setting, queue) in [
            ("EVENTS_QUEUE_URL", "Events.fifo"),
            ("EVENTS_DEAD_LETTER_QUEUE_URL", "EventsDeadLetter.fifo"),
        ] {
            settings.push((setting.to_owned(), self.queue_url(queue).await));
        }
        let random = fastrand::Rng::with_seed(1);
        let settings = settings.into_iter().collect();
        App::new(settings, self.clock.clone(), random, self.cloud.clients()).expect("an App")
    }
}

/// Enrollment, spoken in its own words.
impl World {
    /// Creates or changes a course on Monday, periods 1 to 3, with 3 credits.
    pub async fn course(&self, id: u64, capacity: u64) {
        self.course_at(id, capacity, "MON", 1, 3).await;
    }

    /// Creates or changes a course with 3 credits.
    pub async fn course_at(&self, id: u64, capacity: u64, day: &str, start: u32, end: u32) {
        let body = course(capacity, day, start, end);
        let answer = self.as_staff().put(&format!("/courses/{id}"), body).await;
        assert!(matches!(answer.status, 200 | 201), "{}", answer.json);
    }

    /// Creates student `id` of member `m<id>` with 18 credits.
    pub async fn student(&self, id: u64) {
        let body = student(id, 18);
        self.as_staff().put(&format!("/students/{id}"), body).await.expect(201);
    }

    /// Creates students `1..=count`.
    pub async fn students(&self, count: u64) {
        self.students_from(1, count).await;
    }

    /// Creates students `first..=last`.
    pub async fn students_from(&self, first: u64, last: u64) {
        join_all((first..=last).map(|id| self.student(id))).await;
    }

    /// Student `id` enrolls.
    pub async fn enroll(&self, student: u64, course: u64) -> Answer {
        self.as_member(&format!("m{student}")).enroll(student, course).await
    }

    /// Student `id` drops a course.
    pub async fn drop_course(&self, student: u64, course: u64) -> Answer {
        let path = format!("/enrollments/{student}/{course}");
        self.as_member(&format!("m{student}")).delete(&path).await
    }

    /// Seats of a course as they are now: capacity, enrolled, left.
    pub async fn seats(&self, course: u64) -> (u64, u64, u64) {
        let path = format!("/courses/{course}?fresh=true");
        let answer = self.as_nobody().get(&path).await.expect(200);
        let seats = &answer.json["seats"];
        let number = |name: &str| seats[name].as_u64().expect("a number");
        assert_eq!(answer.json["capacity"], seats["capacity"], "the stripes hold the capacity");
        (number("capacity"), number("enrolled"), number("left"))
    }

    /// Puts plans for members `m1..=m<count>` into the table, where it matters
    /// only that they are there.
    pub async fn plans(&self, count: u64) {
        let plans = (1..=count).map(|id| {
            let (student, member, now) =
                (id.try_into().expect("an id"), format!("m{id}"), self.clock.now());
            let plan = Plan::new(student, "Ada", &member, "default", 18, now);
            let item = plan.to_item().expect("an item");
            let put = PutRequest::builder().set_item(Some(item)).build().expect("complete");
            WriteRequest::builder().put_request(put).build()
        });
        let plans: Vec<WriteRequest> = plans.collect();
        for batch in plans.chunks(25) {
            let write = self.cloud.client().batch_write_item();
            let write = write.request_items(TABLE.default, batch.to_vec());
            write.send().await.expect("plans are written");
        }
    }

    /// One moment of a course with at most 99 stripes, from one transaction:
    /// its capacity, and the seats and free seats in its stripes.
    pub async fn moment(&self, course: u64, stripes: u32) -> (u64, u64, u64) {
        let id = course.try_into().expect("an id");
        let seats = (0..stripes).map(|stripe| keys::seats(id, stripe));
        let gets = seats.chain([keys::course(id)]).map(|key| {
            let get = Get::builder().table_name(TABLE.default).set_key(Some(key.into_item()));
            TransactGetItem::builder().get(get.build().expect("complete")).build()
        });
        let read =
            self.cloud.client().transact_get_items().set_transact_items(Some(gets.collect()));
        let read = read.send().await.expect("one moment is read");
        let sum = |attribute: &str| {
            let items = read.responses().iter().filter_map(|response| response.item());
            let numbers =
                items.filter_map(|item| item.get(attribute)?.as_n().ok()?.parse::<u64>().ok());
            numbers.sum::<u64>()
        };
        (sum("capacity"), sum("seats"), sum("seats_left"))
    }

    /// Everything that says who is in a course must say the same: the seats,
    /// the roster, and each student's timetable, credits and periods.
    pub async fn assert_consistent(&self, courses: &[u64], students: u64) {
        let mut on_rosters = std::collections::BTreeSet::new();
        for course in courses {
            let (capacity, enrolled, left) = self.seats(*course).await;
            assert_eq!(enrolled + left, capacity);
            let path = format!("/courses/{course}/enrollments");
            let roster = self.as_staff().list(&path, 100).await;
            assert_eq!(roster.len() as u64, enrolled, "roster of course {course}");
            for entry in roster {
                let student = entry["studentId"].as_u64().expect("an id");
                assert!(on_rosters.insert((student, *course)), "student {student} twice");
            }
        }
        for student in 1..=students {
            let path = format!("/students/{student}/enrollments?limit=100");
            let timetable = self.as_staff().get(&path).await.expect(200).json;
            let items = timetable["items"].as_array().expect("items");
            let credits: u64 = items.iter().filter_map(|item| item["credit"].as_u64()).sum();
            assert_eq!(timetable["credits"]["taken"], credits, "credits of student {student}");
            for item in items {
                let course = item["courseId"].as_u64().expect("an id");
                assert!(on_rosters.remove(&(student, course)), "{student} is not on {course}");
            }
        }
        assert!(on_rosters.is_empty(), "on a roster but in no timetable: {on_rosters:?}");
    }
}

impl Caller<'_> {
    /// `POST /enrollments`.
    pub async fn enroll(&self, student: u64, course: u64) -> Answer {
        self.post("/enrollments", json!({ "studentId": student, "courseId": course })).await
    }
}

/// The body of a course with 3 credits.
pub fn course(capacity: u64, day: &str, start: u32, end: u32) -> Value {
    json!({
        "name": "Databases",
        "credit": 3,
        "dayOfWeek": day,
        "startPeriod": start,
        "endPeriod": end,
        "capacity": capacity,
    })
}

/// The body of student `id` of member `m<id>`.
pub fn student(id: u64, max_credits: u32) -> Value {
    json!({ "name": "Ada", "memberId": format!("m{id}"), "maxCredits": max_credits })
}
