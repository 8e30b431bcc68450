//! What these tests share: posts, spoken in their own words, and read back from
//! the table.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::{PutRequest, WriteRequest};
use blog::post::{Meta, Post, Status};
use blog::wanted::Wanted;
use blog::{PostId, TABLE, keys};
use platform::table::{Item, Key, s};
use serde_json::{Value, json};
use suites::{Answer, Caller, World};

/// The body of a published post.
pub(crate) fn post(title: &str) -> Value {
    json!({ "title": title, "body": format!("This is {title}."), "status": "PUBLISHED" })
}

/// A body with one field more, or another value in it.
pub(crate) fn with(mut body: Value, field: &str, value: impl Into<Value>) -> Value {
    body[field] = value.into();
    body
}

/// `POST /posts`.
pub(crate) async fn create(caller: &Caller<'_>, body: Value) -> Answer {
    caller.post("/posts", body).await
}

/// The id of a post that was created.
pub(crate) async fn created(caller: &Caller<'_>, body: Value) -> String {
    id_of(&create(caller, body).await.expect(201))
}

/// The id of a published post of `m1`.
pub(crate) async fn published(world: &World, title: &str) -> String {
    created(&world.as_member("m1"), post(title)).await
}

/// `PATCH /posts/{id}`.
pub(crate) async fn update(caller: &Caller<'_>, id: &str, body: Value) -> Answer {
    caller.send("PATCH", &format!("/posts/{id}"), body).await
}

/// Publishes a post, or takes it back.
pub(crate) async fn set_status(caller: &Caller<'_>, id: &str, status: &str) -> Answer {
    update(caller, id, json!({ "status": status })).await
}

/// `DELETE /posts/{id}`.
pub(crate) async fn delete(caller: &Caller<'_>, id: &str) -> Answer {
    caller.delete(&format!("/posts/{id}")).await
}

/// `GET /posts/{id}`.
pub(crate) async fn get(caller: &Caller<'_>, id: &str) -> Answer {
    caller.get(&format!("/posts/{id}")).await
}

/// Somebody reads a post so many times, with success.
pub(crate) async fn view(world: &World, id: &str, times: u64) {
    for _ in 0..times {
        get(&world.as_nobody(), id).await.expect(200);
    }
}

/// The id in an answer.
pub(crate) fn id_of(answer: &Answer) -> String {
    answer.json["id"].as_str().expect("an id").to_owned()
}

/// The ids in a list.
pub(crate) fn ids_of(items: &[Value]) -> Vec<&str> {
    items.iter().filter_map(|item| item["id"].as_str()).collect()
}

/// The popular posts as everybody sees them by now: ids and views.
pub(crate) async fn popular(world: &World) -> Vec<(String, u64)> {
    world.clock.advance(1_000);
    let answer = world.as_nobody().get("/posts/popular").await.expect(200);
    assert!(answer.json.get("nextCursor").is_none());
    let items = answer.json["items"].as_array().expect("items").iter();
    let items = items.map(|item| {
        let id = item["id"].as_str().expect("an id").to_owned();
        (id, item["views"].as_u64().expect("views"))
    });
    items.collect()
}

/// Lets all views be added up that there are: until the windows are over.
pub(crate) async fn count(world: &World) {
    for _ in 0..3 {
        world.settle().await;
        world.clock.advance(2_000);
    }
    world.settle().await;
}

/// The record of a change, as a stream of keys has it.
pub(crate) fn record(place: usize, name: &str, key: &Key, at_s: i64) -> Value {
    json!({
        "eventID": format!("e{place}"),
        "eventName": name,
        "eventSourceARN": "arn:aws:dynamodb:us-east-1:000000000000:table/Blog/stream/x",
        "dynamodb": {
            "ApproximateCreationDateTime": at_s,
            "Keys": { "pk": { "S": key.pk }, "sk": { "S": key.sk } },
            "SequenceNumber": (1_000 + place).to_string(),
        },
    })
}

/// The record of a view.
pub(crate) fn viewed(place: usize, id: &str, stripe: u32, at_s: i64) -> Value {
    record(place, "MODIFY", &keys::views(id.parse().expect("an id"), stripe), at_s)
}

/// Hands records to count-views. Those that must come again.
pub(crate) async fn hand_over(world: &World, records: &[Value]) -> Vec<String> {
    let event = json!({ "Records": records });
    let outcome = world.cloud.invoke_event("count-views", event).await.expect("a function");
    let answer = outcome.response.expect("a batch is handled");
    let failures = answer["batchItemFailures"].as_array().expect("failures").iter();
    failures.map(|f| f["itemIdentifier"].as_str().expect("a number").to_owned()).collect()
}

/// Adds to a stripe, past get-post.
pub(crate) async fn add(world: &World, id: &str, stripe: u32, views: u64) {
    let key = keys::views(id.parse().expect("an id"), stripe);
    let add = world.cloud.client().update_item().table_name(TABLE.default);
    let add = add.set_key(Some(key.into_item())).update_expression("ADD #views :views");
    let add = add.expression_attribute_names("#views", "views");
    let add = add.expression_attribute_values(":views", platform::table::n(views));
    add.send().await.expect("a stripe is written");
}

/// Everything small of a post, as the table has it.
pub(crate) async fn meta(world: &World, id: &str) -> Option<Meta> {
    item(world, keys::meta(id.parse().expect("an id")))
        .await
        .map(|item| platform::table::read(item).expect("readable"))
}

/// An item of the table.
pub(crate) async fn item(world: &World, key: Key) -> Option<Item> {
    let get = world.cloud.client().get_item().table_name(TABLE.default);
    let get = get.set_key(Some(key.into_item())).consistent_read(true);
    get.send().await.expect("an item is read").item
}

/// The stripes of a post that there are, with their views.
pub(crate) async fn stripes(world: &World, id: &str) -> BTreeMap<u32, u64> {
    let id: PostId = id.parse().expect("an id");
    let mut stripes = BTreeMap::new();
    for stripe in 0..blog::views::MOST_STRIPES {
        let Some(item) = item(world, keys::views(id, stripe)).await else { continue };
        let views = item["views"].as_n().expect("a number").parse().expect("a number");
        stripes.insert(stripe, views);
    }
    stripes
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

/// The keys in one partition of an index.
pub(crate) async fn positions(world: &World, index: &str, partition: &str) -> Vec<String> {
    let query = world.cloud.client().query().table_name(TABLE.default).index_name(index);
    let query = query
        .key_condition_expression(format!("{index}_pk = :pk"))
        .expression_attribute_values(":pk", s(partition));
    let items = query.send().await.expect("an index is read").items.unwrap_or_default();
    items.iter().map(|item| item["pk"].as_s().expect("text").clone()).collect()
}

/// How many posts stand in the ranking, and how many in the list.
pub(crate) async fn indexed(world: &World) -> (usize, usize) {
    let (mut ranked, mut listed) = (0, 0);
    for shard in 0..keys::RANK_SHARDS {
        ranked += positions(world, keys::RANKING, &keys::rank_partition(shard)).await.len();
    }
    for shard in 0..keys::LIST_SHARDS {
        listed += positions(world, keys::LIST, &keys::list_partition(shard)).await.len();
    }
    (ranked, listed)
}

/// Puts posts `from..to` of member `m1` into the table, published a millisecond
/// apart before 2030, where it matters only that they are there.
pub(crate) async fn fill(world: &World, from: i64, to: i64) {
    let begin = suites::instant("2029-12-01T00:00:00Z");
    let mut writes = Vec::new();
    for n in from..to {
        let at = begin.plus_millis(n);
        let at_ms = at.as_millis();
        let id = format!("{:08x}-{:04x}-7000-8000-{n:012x}", at_ms >> 16, at_ms & 0xffff);
        let wanted = Wanted {
            title: format!("Post {n}"),
            body: "What everybody reads. ".repeat(20),
            tags: vec!["one".to_owned(), "two".to_owned()],
            status: Status::Published,
        };
        let post = Post::new(id.parse().expect("an id"), "m1", wanted, at);
        for item in post.to_items().expect("items") {
            let put = PutRequest::builder().set_item(Some(item)).build().expect("complete");
            writes.push(WriteRequest::builder().put_request(put).build());
        }
    }
    for batch in writes.chunks(24) {
        let write = world.cloud.client().batch_write_item();
        let write = write.request_items(TABLE.default, batch.to_vec());
        write.send().await.expect("posts are written");
    }
}
