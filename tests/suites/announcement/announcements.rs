//! What these tests share: announcements, spoken in their own words, and read
//! back from the table.

use announcement::announcement::Meta;
use announcement::favorite::Favorite;
use announcement::{AnnouncementId, TABLE, keys};
use aws_sdk_dynamodb::types::{PutRequest, WriteRequest};
use futures_util::future::join_all;
use platform::meter::Usage;
use platform::table::{Item, Key, read, s};
use serde_json::{Value, json};
use suites::{Answer, Caller, World};

pub(crate) const MINUTE_MS: i64 = 60 * 1000;
pub(crate) const HOUR_MS: i64 = 60 * MINUTE_MS;
pub(crate) const DAY_MS: i64 = 24 * HOUR_MS;

/// The body of an announcement of housing in the north, open from now until the
/// first of February, that asks for documents `a`, `b` and, if one likes, `c`.
pub(crate) fn body(title: &str) -> Value {
    let document = |id: &str, required: bool| json!({ "id": id, "name": format!("Document {id}"), "required": required });
    json!({
        "title": title,
        "organisation": "City",
        "category": "housing",
        "region": "north",
        "body": "Apply now.",
        "opensAt": "2030-01-01T00:00:00Z",
        "closesAt": "2030-02-01T00:00:00Z",
        "documents": [document("a", true), document("b", true), document("c", false)],
    })
}

/// A body with one field more, or another value in it.
pub(crate) fn with(mut body: Value, field: &str, value: impl Into<Value>) -> Value {
    body[field] = value.into();
    body
}

/// A body that closes so long after now.
pub(crate) fn closing_in(world: &World, ms: i64) -> Value {
    let closes_at = world.clock.now().plus_millis(ms).to_string();
    with(with(body("Rooms"), "closesAt", closes_at), "opensAt", "2020-01-01T00:00:00Z")
}

/// `PUT /announcements/{id}`, by staff.
pub(crate) async fn put(world: &World, id: &str, body: Value) -> Answer {
    world.as_staff().put(&format!("/announcements/{id}"), body).await
}

/// An announcement that is new.
pub(crate) async fn announced(world: &World, id: &str) {
    put(world, id, body(&format!("Rooms {id}"))).await.expect(201);
}

/// `GET /announcements/{id}`.
pub(crate) async fn get(caller: &Caller<'_>, id: &str) -> Answer {
    caller.get(&format!("/announcements/{id}")).await
}

/// `PUT /announcements/{id}/favorite`.
pub(crate) async fn favor(caller: &Caller<'_>, id: &str) -> Answer {
    caller.put(&format!("/announcements/{id}/favorite"), Value::Null).await
}

/// `DELETE /announcements/{id}/favorite`.
pub(crate) async fn unfavor(caller: &Caller<'_>, id: &str) -> Answer {
    caller.delete(&format!("/announcements/{id}/favorite")).await
}

/// `PUT /announcements/{id}/checklist`.
pub(crate) async fn check(caller: &Caller<'_>, id: &str, checked: &[&str]) -> Answer {
    caller.put(&format!("/announcements/{id}/checklist"), json!({ "checked": checked })).await
}

/// `GET /announcements/{id}/checklist`.
pub(crate) async fn checklist(caller: &Caller<'_>, id: &str) -> Value {
    caller.get(&format!("/announcements/{id}/checklist")).await.expect(200).json
}

/// The ids of items, in their order.
pub(crate) fn ids(items: &Value) -> Vec<&str> {
    let items = items.as_array().expect("a list").iter();
    items.map(|item| item["id"].as_str().expect("an id")).collect()
}

/// Runs a function that is on a schedule. What it cost.
pub(crate) async fn run(world: &World, function: &str) -> Usage {
    let run = world.cloud.invoke_event(function, json!({})).await.expect("a function");
    run.response.expect("a run succeeds");
    run.usage
}

/// Lets everything be added up that there is: until the windows are over.
pub(crate) async fn count(world: &World) {
    for _ in 0..3 {
        world.settle().await;
        world.clock.advance(1_000);
    }
    world.settle().await;
}

/// Hands records of stripes to count-announcements. Those that must come again.
pub(crate) async fn hand_over(world: &World, keys: &[Key]) -> Vec<String> {
    let records = keys.iter().enumerate().map(|(place, key)| {
        json!({
            "eventID": format!("e{place}"),
            "eventName": "MODIFY",
            "dynamodb": {
                "Keys": { "pk": { "S": key.pk }, "sk": { "S": key.sk } },
                "SequenceNumber": (1_000 + place).to_string(),
            },
        })
    });
    let event = json!({ "Records": records.collect::<Vec<_>>() });
    let outcome = world.cloud.invoke_event("count-announcements", event).await;
    let answer = outcome.expect("a function").response.expect("a batch is handled");
    let failures = answer["batchItemFailures"].as_array().expect("failures").iter();
    failures.map(|f| f["itemIdentifier"].as_str().expect("a number").to_owned()).collect()
}

pub(crate) fn id(id: &str) -> AnnouncementId {
    id.parse().expect("an id")
}

/// An item of the table.
pub(crate) async fn item(world: &World, key: Key) -> Option<Item> {
    let get = world.cloud.client().get_item().table_name(TABLE.default);
    let get = get.set_key(Some(key.into_item())).consistent_read(true);
    get.send().await.expect("an item is read").item
}

/// Everything small of an announcement.
pub(crate) async fn meta(world: &World, name: &str) -> Meta {
    let item = item(world, keys::meta(&id(name))).await.expect("it is there");
    read(item).expect("readable")
}

/// Every item of the table.
pub(crate) async fn items(world: &World) -> Vec<Item> {
    let mut items = Vec::new();
    let mut start = None;
    loop {
        let page = world.cloud.client().scan().table_name(TABLE.default);
        let page = page.set_exclusive_start_key(start).send().await.expect("a page is read");
        items.extend(page.items.unwrap_or_default());
        start = page.last_evaluated_key;
        if start.is_none() {
            return items;
        }
    }
}

/// The announcements in one list of the table: their positions.
pub(crate) async fn listed(
    world: &World,
    category: Option<&str>,
    region: Option<&str>,
) -> Vec<String> {
    let query = world.cloud.client().query().table_name(TABLE.default);
    let partition = keys::list_partition(category, region);
    let query =
        query.key_condition_expression("pk = :pk").expression_attribute_values(":pk", s(partition));
    let items = query.send().await.expect("a list is read").items.unwrap_or_default();
    items.iter().map(|item| item["sk"].as_s().expect("text").clone()).collect()
}

fn number(item: &Item, name: &str) -> i64 {
    item.get(name).map_or(0, |value| value.as_n().expect("a number").parse().expect("a number"))
}

/// Favorites that members hold, and what the stripes of an announcement and the
/// members' own counts say of them: all must say the same.
pub(crate) async fn held(world: &World, name: &str) -> u64 {
    let items = items(world).await;
    let text = |item: &Item, name: &str| item[name].as_s().expect("text").clone();
    let mut held = 0;
    let mut stripes = 0;
    for item in &items {
        let (pk, sk) = (text(item, "pk"), text(item, "sk"));
        if sk == format!("FAVORITE#{name}") {
            held += 1;
        } else if pk.starts_with(&format!("ANNOUNCEMENT#{name}#FAVORITES#")) {
            stripes += number(item, "held");
        }
    }
    assert_eq!(held, stripes, "favorites of {name} and their stripes");
    for member in items.iter().filter(|item| text(item, "sk") == keys::FAVORITES) {
        let pk = text(member, "pk");
        if pk.starts_with("MEMBER#") {
            let own = items
                .iter()
                .filter(|it| text(it, "pk") == pk && text(it, "sk").starts_with(keys::FAVORITE));
            let own = i64::try_from(own.count()).expect("a number");
            assert_eq!(own, number(member, "favorites"), "{pk}");
        }
    }
    u64::try_from(held).expect("a number")
}

/// Favorites of members `m0..m<count>`, put into the table past the functions,
/// where it matters only that they are there.
pub(crate) async fn mark(world: &World, name: &str, count: usize) {
    let writes = (0..count).map(|n| {
        let favorite = Favorite {
            announcement_id: id(name),
            member_id: format!("m{n}"),
            added_at_ms: world.clock.now().as_millis(),
        };
        let item = favorite.to_item().expect("an item");
        let put = PutRequest::builder().set_item(Some(item)).build().expect("complete");
        WriteRequest::builder().put_request(put).build()
    });
    for batch in writes.collect::<Vec<_>>().chunks(25) {
        let write = world.cloud.client().batch_write_item();
        let write = write.request_items(TABLE.default, batch.to_vec());
        write.send().await.expect("favorites are written");
    }
}

/// Announcements `first..last`, which close a minute apart from tomorrow on.
pub(crate) async fn fill(world: &World, first: i64, last: i64) {
    let numbers: Vec<i64> = (first..last).collect();
    for batch in numbers.chunks(50) {
        let puts = batch.iter().map(|number| async move {
            let body = closing_in(world, 10 * DAY_MS + number * MINUTE_MS);
            put(world, &format!("n-{number}"), body).await.expect(201)
        });
        join_all(puts).await;
    }
}
