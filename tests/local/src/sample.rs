//! Sample data: six courses, twenty students and their members, a match, some posts
//! and announcements to try things with, and what the example events name.
//!
//! It is written through the functions themselves, but for what has an id that
//! is known beforehand: members, a schedule, a notification, posts.

use aws_sdk_dynamodb::types::{PutRequest, WriteRequest};
use axum::body::Bytes;
use blog::post::{Post, Status};
use http::{Method, Request, StatusCode, header};
use identity::member::{Login, Member};
use identity::password::PasswordHash;
use identity::profile::LoginId;
use identity::session::{RefreshKeys, RefreshToken, Session};
use notification::item::Notification;
use platform::Problem;
use platform::auth::{Role, TOKEN_LIFETIME_S};
use platform::clock::Instant;
use platform::events::{Aggregate, Event, Type};
use platform::signed::Signer;
use platform::table::{Item, TableName, item, strings};
use schedule::schedule::{ProgressStatus, Schedule};
use schedule::wanted::Wanted;
use serde::Serialize;
use serde_json::{Value, json};
use ticketing::hold::Hold;
use ticketing::keys;
use ticketing::order::{Order, Owner};
use ticketing::pass::Pass;
use ticketing::ticket::Ticket;

use crate::DevKey;
use crate::cloud::Cloud;

/// Items in one `BatchWriteItem`
/// ([limit](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html)).
const MOST_IN_A_BATCH: usize = 25;

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

/// The member who is staff: its id and its log-in.
pub(crate) const STAFF: &str = "staff";
/// What all members log in with.
const PASSWORD: &str = "hotseat-demo";
/// The staff member's session.
const SESSION: &str = "sample";

/// The match that is on sale, and the staff member's entry in its queue.
const MATCH: &str = "final";
const ENTRY: &str = "01941f29-7c00-7000-8000-0000000000d1";

/// The holds and the order of the example events: one hold to release, one that
/// was ordered. Their time is over, so nobody is kept from anything.
const HOLDS: [&str; 2] =
    ["01941f29-7c00-7000-8000-0000000000c1", "01941f29-7c00-7000-8000-0000000000c2"];
const ORDER: &str = "01941f29-7c00-7000-8000-0000000000c3";
const SEAT: &str = "A-10-1";

/// The schedule of the example events, on the first of January 2030 from nine
/// to ten, whose calendar is that of the staff member.
const SCHEDULE: &str = "01941f29-7c00-7000-8000-000000000001";
const SCHEDULE_STARTS_AT_MS: i64 = 1_893_488_400_000;

/// The notification of the example events: when, and which record told of it.
const NOTIFIED_AT_MS: i64 = 1_893_456_000_000;
const NOTIFIED_RECORD: &str = "0f1e2d3c4b5a69788796a5b4c3d2e1f0";

/// Posts: id, author, title, body, and hours since they were published. The
/// first is the one of the example events; the last is a draft.
const POSTS: [(&str, &str, &str, &str, Option<i64>); 4] = [
    (
        "01941f29-7c00-7000-8000-0000000000b1",
        STAFF,
        "How we open registration",
        "Everybody comes at nine. Nobody waits in line: a seat is given or it is not.",
        Some(48),
    ),
    (
        "01941f29-7c00-7000-8000-0000000000b2",
        "student-1",
        "Which courses go well together",
        "Linear Algebra first, then everything else.",
        Some(24),
    ),
    (
        "01941f29-7c00-7000-8000-0000000000b3",
        STAFF,
        "Chamber Choir is full",
        "Drop by in the second week: somebody always leaves.",
        Some(1),
    ),
    (
        "01941f29-7c00-7000-8000-0000000000b4",
        "student-1",
        "Notes on Compilers",
        "Not ready yet.",
        None,
    ),
];

/// Announcements: id, title, organisation, category, region, and the days from
/// now on which they open and close. The first is the one of the example events,
/// a favorite of the staff member; the last two are not open.
const ANNOUNCEMENTS: [(&str, &str, &str, &str, &str, i64, i64); 5] = [
    ("youth-rooms", "Rooms for newcomers", "Housing Office", "housing", "north", -5, 30),
    ("study-grant", "Grant for a first degree", "Student Fund", "grants", "north", -20, 3),
    ("night-shift", "Helpers for the night shift", "City Clinic", "jobs", "south", -2, 1),
    ("summer-school", "Summer school in the hills", "Academy", "courses", "south", 10, 90),
    ("old-flats", "Flats by the river", "Housing Office", "housing", "south", -60, -30),
];

/// Sample data that could not be written.
#[derive(Debug, thiserror::Error)]
pub enum SampleError {
    /// A function refused it.
    #[error("cannot write sample data: {request} answered {status}: {body}")]
    Refused {
        /// Method and path.
        request: String,
        /// The answer's status.
        status: u16,
        /// The answer.
        body: String,
    },
    /// A member cannot be made.
    #[error("cannot write the members of the sample data: {0}")]
    Members(String),
}

impl SampleError {
    fn members(cause: impl std::fmt::Debug) -> Self {
        Self::Members(format!("{cause:?}"))
    }
}

/// Writes the sample data.
pub(crate) async fn write(cloud: &Cloud) -> Result<(), SampleError> {
    write_members(cloud).await?;
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
    put_match(cloud).await?;
    write_order(cloud).await?;
    write_schedule(cloud).await?;
    write_notification(cloud).await?;
    write_posts(cloud).await?;
    write_announcements(cloud).await
}

/// Writes announcements, and what the staff member has marked of them; then home
/// has something to show at once.
async fn write_announcements(cloud: &Cloud) -> Result<(), SampleError> {
    for (id, title, organisation, category, region, opens_in, closes_in) in ANNOUNCEMENTS {
        let day = |days: i64| cloud.now().plus_millis(days * 24 * 60 * 60 * 1000);
        let announcement = json!({
            "title": title,
            "organisation": organisation,
            "category": category,
            "region": region,
            "body": "Apply in time: nobody is asked twice.",
            "opensAt": day(opens_in),
            "closesAt": day(closes_in),
            "documents": [
                { "id": "id-card", "name": "Copy of your identity card", "required": true },
                { "id": "letter", "name": "Letter of motivation", "required": false },
            ],
        });
        send(cloud, Method::PUT, &format!("/announcements/{id}"), &announcement).await?;
    }
    let (first, ..) = ANNOUNCEMENTS[0];
    let path = format!("/announcements/{first}");
    send(cloud, Method::PUT, &format!("{path}/favorite"), &Value::Null).await?;
    let checklist = json!({ "checked": ["id-card"] });
    send(cloud, Method::PUT, &format!("{path}/checklist"), &checklist).await?;
    let _ = cloud.invoke_event("refresh-home", Value::Null).await; // or the next one does it
    Ok(())
}

/// A match whose sale has been open for an hour.
async fn put_match(cloud: &Cloud) -> Result<(), SampleError> {
    let block = |id: &str, section: &str, grade: u32, price: u64| {
        json!({
            "section": section,
            "block": id,
            "grade": grade,
            "price": price,
            "rows": 10,
            "seatsPerRow": 20,
        })
    };
    let hours = |hours: i64| cloud.now().plus_millis(hours * 60 * 60 * 1000).to_string();
    let sample = json!({
        "home": "Reds",
        "away": "Blues",
        "venue": "Old Ground",
        "startsAt": hours(31 * 24),
        "saleOpensAt": hours(-1),
        "saleClosesAt": hours(30 * 24),
        "blocks": [block("A", "North", 1, 9_000), block("B", "South", 2, 5_000)],
        "admitPerSecond": 100,
        "passMinutes": 30,
        "holdMinutes": 5,
        "payMinutes": 15,
        "maxSeatsPerMember": 4,
    });
    send(cloud, Method::PUT, &format!("/matches/{MATCH}"), &sample).await
}

/// Writes the holds, the order and the place in the queue that the events in
/// `events/` name, of the staff member. They go into the table itself, since the
/// API makes up their ids.
async fn write_order(cloud: &Cloud) -> Result<(), SampleError> {
    let refused = |cause: String| SampleError::Refused {
        request: format!("a write of order {ORDER}"),
        status: 500,
        body: cause,
    };
    for item in order_items(cloud.now()).map_err(|p| refused(p.to_json("").to_string()))? {
        put(cloud, ticketing::TABLE, item).await.map_err(refused)?;
    }
    Ok(())
}

fn order_items(now: Instant) -> Result<Vec<Item>, Problem> {
    let over_ms = now.plus_millis(-60 * 1000).as_millis();
    let hold = |id: &str, order: Option<&str>| {
        let hold = json!({
            "hold_id": id,
            "match_id": MATCH,
            "seats": [SEAT],
            "amount": 9_000,
            "held_until_ms": over_ms,
            "order_id": order,
            "expires_at_s": now.as_seconds() + 24 * 60 * 60,
        });
        serde_json::from_value::<Hold>(hold).map_err(Problem::internal)
    };
    let [released, ordered] = [hold(HOLDS[0], None)?, hold(HOLDS[1], Some(ORDER))?];
    let order = json!({
        "order_id": ORDER,
        "match_id": MATCH,
        "member_id": STAFF,
        "hold_id": HOLDS[1],
        "seats": [SEAT],
        "amount": 9_000,
        "status": "PENDING_PAYMENT",
        "pay_by_ms": over_ms,
        "version": 1,
        "updated_at_ms": over_ms,
    });
    let order: Order = serde_json::from_value(order).map_err(Problem::internal)?;
    let seat = keys::seat(&order.match_id, &order.seats[0]);
    let seat = item(seat, &json!({ "order_id": ORDER, "held_until_ms": over_ms }))?;
    let account = keys::account(&order.match_id, STAFF);
    let mut account = item(account, &json!({ "open_id": ORDER, "open_until_ms": over_ms }))?;
    account.insert("open_seats".to_owned(), strings([SEAT]));
    Ok(vec![
        item(keys::hold(STAFF, &released.hold_id), &released)?,
        item(keys::hold(STAFF, &ordered.hold_id), &ordered)?,
        order.to_item()?,
        Owner::item_of(&order)?,
        account,
        seat,
        item(keys::lane(&order.match_id, 0), &json!({ "tail": 1 }))?,
        item(keys::entry(&order.match_id, STAFF), &json!({ "nonce": ENTRY, "turn": 1 }))?,
    ])
}

/// Writes posts into the table itself, since the API makes up their ids and the
/// times of their publication.
async fn write_posts(cloud: &Cloud) -> Result<(), SampleError> {
    for (id, author, title, body, hours_ago) in POSTS {
        let refused = |cause: String| SampleError::Refused {
            request: format!("a write of post {id}"),
            status: 500,
            body: cause,
        };
        let status = if hours_ago.is_some() { Status::Published } else { Status::Draft };
        let wanted = blog::wanted::Wanted {
            title: title.to_owned(),
            body: body.to_owned(),
            tags: vec!["sample".to_owned()],
            status,
        };
        let id = id.parse().map_err(|error| refused(format!("{error}")))?;
        let at = cloud.now().plus_millis(-hours_ago.unwrap_or_default() * 60 * 60 * 1000);
        let items = Post::new(id, author, wanted, at).to_items();
        for item in items.map_err(|problem| refused(problem.to_json("").to_string()))? {
            put(cloud, blog::TABLE, item).await.map_err(refused)?;
        }
    }
    Ok(())
}

/// Writes the schedule that the events in `events/` name. It goes into the table
/// itself, since the API makes up its ids.
async fn write_schedule(cloud: &Cloud) -> Result<(), SampleError> {
    let refused = |cause: String| SampleError::Refused {
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
    let schedule = Schedule::new(id, STAFF, wanted, cloud.now());
    let item = schedule.to_item().map_err(|problem| refused(problem.to_json("").to_string()))?;
    put(cloud, schedule::TABLE, item).await.map_err(refused)
}

/// Writes the notification that the events in `events/` name, for the staff
/// member.
async fn write_notification(cloud: &Cloud) -> Result<(), SampleError> {
    let refused = |cause: String| SampleError::Refused {
        request: format!("a write of the notification of {NOTIFIED_RECORD}"),
        status: 500,
        body: cause,
    };
    let event = Event {
        r#type: Type::ScheduleReminder,
        aggregate: Aggregate::Schedule,
        aggregate_id: SCHEDULE.to_owned(),
        version: 2,
        occurred_at: Instant::from_millis(NOTIFIED_AT_MS),
        member_id: STAFF.to_owned(),
        payload: json!({ "title": "Stand-up" }),
    };
    let notification = Notification::of(&event, NOTIFIED_RECORD);
    let item = notification.to_item(STAFF).map_err(|p| refused(p.to_json("").to_string()))?;
    put(cloud, notification::TABLE, item).await.map_err(refused)
}

async fn put(cloud: &Cloud, table: TableName, item: Item) -> Result<(), String> {
    let put = cloud.client().put_item().table_name(table.default).set_item(Some(item));
    put.send().await.map(drop).map_err(|error| error.to_string())
}

/// Writes a member for each student, `student-1` and so on, and one who is
/// staff, with a session. All have the same password.
async fn write_members(cloud: &Cloud) -> Result<(), SampleError> {
    let hash = PasswordHash::compute(&PASSWORD.into()).map_err(SampleError::members)?;
    let mut items = Vec::new();
    let students = (1..).zip(STUDENTS).map(|(id, name)| (format!("student-{id}"), name));
    for (id, name) in students.chain([(STAFF.to_owned(), "Robin Keller")]) {
        let login_id: LoginId = id.parse().map_err(SampleError::members)?;
        let mut member = Member::new(id, login_id.clone(), name.into(), "UTC".into(), cloud.now());
        if member.member_id == STAFF {
            member.role = Role::Staff;
        }
        let login = Login::new(member.member_id.clone(), hash.clone());
        items.push(login.to_item(&login_id).map_err(SampleError::members)?);
        items.push(member.to_item().map_err(SampleError::members)?);
        if member.role == Role::Staff {
            let session = Session::start(SESSION.to_owned(), &login, cloud.now());
            items.push(session.to_item().map_err(SampleError::members)?);
        }
    }
    let puts = items.into_iter().map(|item| {
        let put = PutRequest::builder().set_item(Some(item)).build();
        put.map(|put| WriteRequest::builder().put_request(put).build())
    });
    let puts = puts.collect::<Result<Vec<_>, _>>().map_err(SampleError::members)?;
    for batch in puts.chunks(MOST_IN_A_BATCH) {
        let write = cloud.client().batch_write_item();
        let write = write.request_items(identity::TABLE.default, batch.to_vec());
        write.send().await.map_err(SampleError::members)?;
    }
    Ok(())
}

/// The first refresh token of the staff member's session.
pub(crate) fn refresh_token(key: &DevKey) -> String {
    let keys = RefreshKeys::read_secret(&key.secret("REFRESH_KEYS").as_str().into());
    let token =
        RefreshToken { member_id: STAFF.to_owned(), session_id: SESSION.to_owned(), number: 1 };
    keys.map(|keys| keys.write(&token).expose().clone()).unwrap_or_default()
}

/// The ticket of the staff member's entry, of the first turn.
pub(crate) fn ticket(key: &DevKey) -> String {
    let ticket = MATCH.parse().ok().map(|match_id| Ticket {
        match_id,
        member_id: STAFF.to_owned(),
        turn: 1,
        nonce: ENTRY.to_owned(),
        position: 1,
    });
    signed(key, "ticket", ticket)
}

/// A pass of the staff member for the match, good for as long as a token.
pub(crate) fn pass(key: &DevKey, now: Instant) -> String {
    let pass = MATCH.parse().ok().map(|match_id| Pass {
        match_id,
        member_id: STAFF.to_owned(),
        nonce: ENTRY.to_owned(),
        expires_at_ms: now.plus_millis(TOKEN_LIFETIME_S * 1000).as_millis(),
    });
    signed(key, "pass", pass)
}

fn signed(key: &DevKey, purpose: &str, content: Option<impl Serialize>) -> String {
    let signer = Signer::of(&key.secret("QUEUE_KEYS").as_str().into(), purpose).ok();
    let signed = signer.zip(content).and_then(|(signer, content)| signer.write_json(&content).ok());
    signed.unwrap_or_default()
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
    let token = cloud.token(STAFF, Role::Staff);
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
    // What is there already was written by a first start that was cut off.
    if response.status().is_success() || response.status() == StatusCode::CONFLICT {
        return Ok(());
    }
    Err(SampleError::Refused {
        request: name,
        status: response.status().as_u16(),
        body: response.into_body(),
    })
}
