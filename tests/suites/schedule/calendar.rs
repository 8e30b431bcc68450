//! What these tests share: calendars, spoken in their own words, and read back
//! from the table.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::{PutRequest, WriteRequest};
use local::Cloud;
use platform::meter::Usage;
use platform::table::{AttributeValue, Item, n as number, s};
use schedule::reminder::Reminder;
use schedule::schedule::Schedule;
use schedule::{ScheduleId, TABLE, keys};
use serde_json::{Value, json};
use suites::{Answer, Caller, World, instant};

/// The body of a schedule.
pub(crate) fn body(start: &str, end: &str) -> Value {
    json!({ "title": "Dentist", "startTime": start, "endTime": end })
}

/// The body of a schedule on the second of January 2030, with times such as
/// `09:30`.
pub(crate) fn on_the_second(start: &str, end: &str) -> Value {
    body(&format!("2030-01-02T{start}:00Z"), &format!("2030-01-02T{end}:00Z"))
}

/// A body with one field more, or another value in it.
pub(crate) fn with(mut body: Value, field: &str, value: impl Into<Value>) -> Value {
    body[field] = value.into();
    body
}

/// `POST /schedules`.
pub(crate) async fn create(caller: &Caller<'_>, body: Value) -> Answer {
    caller.post("/schedules", body).await
}

/// The id of a schedule that was created.
pub(crate) async fn created(caller: &Caller<'_>, body: Value) -> String {
    id_of(&create(caller, body).await.expect(201))
}

/// `PUT /schedules/{id}`.
pub(crate) async fn update(caller: &Caller<'_>, id: &str, body: Value) -> Answer {
    caller.put(&format!("/schedules/{id}"), body).await
}

/// `DELETE /schedules/{id}`.
pub(crate) async fn delete(caller: &Caller<'_>, id: &str) -> Answer {
    caller.delete(&format!("/schedules/{id}")).await
}

/// `GET /schedules/{id}`.
pub(crate) async fn get(caller: &Caller<'_>, id: &str) -> Answer {
    caller.get(&format!("/schedules/{id}")).await
}

/// The id in an answer.
pub(crate) fn id_of(answer: &Answer) -> String {
    answer.json["id"].as_str().expect("an id").to_owned()
}

/// The ids in a list.
pub(crate) fn ids_of(items: &[Value]) -> Vec<&str> {
    items.iter().filter_map(|item| item["id"].as_str()).collect()
}

/// Runs send-reminders once. What it cost: only what it sends takes write units.
pub(crate) async fn send_reminders(world: &World) -> Usage {
    let run = world.cloud.invoke_event("send-reminders", json!({})).await.expect("a function");
    run.response.expect("a run succeeds");
    run.usage
}

/// Puts `count` reminders of member `m1` into the table that were due at the
/// beginning of 2030, where it matters only that they wait.
pub(crate) async fn put_waiting(world: &World, count: usize) {
    let due_at_ms = instant("2030-01-01T00:00:00Z").as_millis();
    let writes = (0..count).map(|n| {
        let id: ScheduleId = format!("01941f29-7c00-7000-8000-{n:012x}").parse().expect("an id");
        let mut item = keys::reminder("m1", &id).into_item();
        item.extend([
            ("schedule_id".to_owned(), s(id.as_str())),
            ("member_id".to_owned(), s("m1")),
            ("version".to_owned(), number(1)),
            ("title".to_owned(), s("Dentist")),
            ("schedule_starts_at_ms".to_owned(), number(due_at_ms)),
            ("due_at_ms".to_owned(), number(due_at_ms)),
            ("index1_pk".to_owned(), s(keys::due_partition_of(&id))),
            ("index1_sk".to_owned(), s(keys::due_position(due_at_ms, &id))),
        ]);
        let put = PutRequest::builder().set_item(Some(item)).build().expect("complete");
        WriteRequest::builder().put_request(put).build()
    });
    let writes: Vec<WriteRequest> = writes.collect();
    for batch in writes.chunks(25) {
        let write = world.cloud.client().batch_write_item();
        let write = write.request_items(TABLE.default, batch.to_vec());
        write.send().await.expect("reminders are written");
    }
}

/// What the table holds of a member.
#[derive(Debug, Default)]
pub(crate) struct Holdings {
    pub(crate) schedules: Vec<Schedule>,
    pub(crate) reminders: BTreeMap<String, Reminder>,
}

/// Reads back what the table holds of a member.
pub(crate) async fn holdings(world: &World, member: &str) -> Holdings {
    let mut holdings = Holdings::default();
    for item in query(&world.cloud, None, "pk", &format!("MEMBER#{member}")).await {
        let sk = text(&item, "sk").to_owned();
        match sk.split('#').next().expect("a kind") {
            "SCHEDULE" => holdings.schedules.push(platform::table::read(item).expect("readable")),
            "REMINDER" => {
                let reminder: Reminder = platform::table::read(item).expect("readable");
                let id = reminder.schedule_id.to_string();
                assert_eq!(sk, format!("REMINDER#{id}"));
                assert!(holdings.reminders.insert(id, reminder).is_none());
            }
            kind => assert_eq!(kind, "CALENDAR"),
        }
    }
    holdings.schedules.sort_by_key(|schedule| schedule.starts_at_ms);
    holdings
}

/// How often more time of a member's calendar was taken up.
pub(crate) async fn calendar_version(world: &World, member: &str) -> u64 {
    let get = world.cloud.client().get_item().table_name(TABLE.default).consistent_read(true);
    let get = get.set_key(Some(keys::calendar(member).into_item()));
    let calendar = get.send().await.expect("the table is read").item;
    schedule::calendar::version_of(calendar).expect("readable")
}

/// The only reminder of a member.
pub(crate) async fn reminder(world: &World, member: &str) -> Reminder {
    let holdings = holdings(world, member).await;
    assert_eq!(holdings.reminders.len(), 1, "{holdings:?}");
    holdings.reminders.into_values().next().expect("a reminder")
}

/// How many reminders wait in the index.
pub(crate) async fn waiting(world: &World) -> usize {
    let mut count = 0;
    for shard in 0..8 {
        let shard = format!("DUE#{shard}");
        count += query(&world.cloud, Some("index1"), "index1_pk", &shard).await.len();
    }
    count
}

async fn query(cloud: &Cloud, index: Option<&str>, key: &str, value: &str) -> Vec<Item> {
    let mut items = Vec::new();
    let mut start = None;
    loop {
        let page = cloud.client().query().table_name(TABLE.default);
        let page = page
            .set_index_name(index.map(str::to_owned))
            .key_condition_expression(format!("{key} = :value"))
            .expression_attribute_values(":value", s(value))
            .set_exclusive_start_key(start);
        let page = page.send().await.expect("the table is read");
        items.extend(page.items.unwrap_or_default());
        start = page.last_evaluated_key;
        if start.is_none() {
            return items;
        }
    }
}

fn text<'a>(item: &'a Item, name: &str) -> &'a str {
    item.get(name).map(AttributeValue::as_s).expect("there").expect("text")
}

/// A member's calendar must be as promised: no two schedules overlap, each that
/// asks has one reminder that says the same, and the list shows them all.
pub(crate) async fn assert_sound(world: &World, member: &str) -> Holdings {
    let mut holdings = holdings(world, member).await;
    for pair in holdings.schedules.windows(2) {
        assert!(pair[0].ends_at_ms <= pair[1].starts_at_ms, "they overlap: {pair:?}");
    }
    let mut reminders = std::mem::take(&mut holdings.reminders);
    for schedule in &holdings.schedules {
        let id = schedule.schedule_id.to_string();
        let reminder = reminders.remove(&id);
        assert_eq!(reminder.is_some(), schedule.remind_before_minutes.is_some(), "{schedule:?}");
        let Some(reminder) = reminder else { continue };
        let before_ms = i64::from(schedule.remind_before_minutes.unwrap()) * 60_000;
        assert_eq!(reminder.due_at_ms, schedule.starts_at_ms - before_ms);
        assert_eq!(reminder.schedule_starts_at_ms, schedule.starts_at_ms);
        assert_eq!((&reminder.title, reminder.version), (&schedule.title, schedule.version));
        holdings.reminders.insert(id, reminder);
    }
    assert!(reminders.is_empty(), "reminders of nothing: {reminders:?}");
    let listed = world.as_member(member).list("/schedules", 100).await;
    let ids: Vec<_> = holdings.schedules.iter().map(|s| s.schedule_id.as_str()).collect();
    assert_eq!(ids_of(&listed), ids, "the index and the table");
    holdings
}
