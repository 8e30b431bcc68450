//! The posts of a run: written straight into the table where somebody can, else
//! created through the API.
//!
//! A folder that holds as many posts as are wanted is taken as it is, views and
//! all.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::DisplayErrorContext;
use aws_sdk_dynamodb::types::{PutRequest, WriteRequest};
use blog::ids::NotAnId;
use blog::post::{Post, Status};
use blog::wanted::Wanted;
use blog::{PostId, TABLE};
use futures_util::{StreamExt, TryStreamExt, stream};
use http::Method;
use platform::auth::Role;
use platform::clock::Instant;
use platform::table::Item;
use serde::Deserialize;
use serde_json::json;

use super::tables;
use crate::call::Request;
use crate::caller::Caller;
use crate::cloud::Cloud;
use crate::error::Error;
use crate::progress;

/// Who writes the posts.
const AUTHORS: usize = 36;
/// Posts of one `BatchWriteItem`, which takes 25 items: each has two.
const BATCH: usize = 12;
/// Batches under way at the same time.
const BATCHES_AT_A_TIME: usize = 4;
/// Posts that are created through the API at the same time.
const CREATED_AT_A_TIME: usize = 20;
/// After so many posts, say how far it is.
const SAY_EVERY: usize = 10_000;
/// The longest time between two posts.
const MOST_BETWEEN: Duration = Duration::from_secs(20 * 60);
/// One of so many posts is published in the same millisecond as the next one.
const AT_ONCE: u32 = 50;
/// How many words a body has.
const LENGTHS: std::ops::Range<usize> = 80..300;
const TAGS: [&str; 8] = ["rust", "aws", "tickets", "music", "travel", "food", "study", "home"];
const WORDS: [&str; 24] = [
    "a",
    "seat",
    "is",
    "given",
    "or",
    "it",
    "not",
    "nobody",
    "waits",
    "in",
    "line",
    "everybody",
    "comes",
    "at",
    "nine",
    "the",
    "course",
    "was",
    "full",
    "by",
    "five",
    "past",
    "that",
    "same",
];

/// The posts of the local cloud behind `client`, which are written if there are
/// none. Fails if there are some, but not as many as are wanted.
pub(crate) async fn in_table(
    client: &Client,
    wanted: usize,
    now: Instant,
    random: &mut fastrand::Rng,
) -> Result<Vec<tables::Post>, Error> {
    let there = tables::read(client).await?;
    match there.len() {
        0 => {}
        count if count == wanted => return Ok(there),
        count => return Err(Error::OtherPosts { there: count, wanted }),
    }
    let mut made = Made { next_at: now, random: random.fork(), number: wanted };
    let mut posts = Vec::with_capacity(wanted);
    let batches = std::iter::from_fn(|| {
        let batch: Vec<_> = made.by_ref().take(BATCH).collect();
        (!batch.is_empty()).then(|| batch.into_iter().collect::<Result<Vec<Post>, _>>())
    });
    let mut written = stream::iter(batches)
        .map(|batch| async move {
            write(client, batch.map_err(|error| Error::Prepare(error.to_string()))?).await
        })
        .buffer_unordered(BATCHES_AT_A_TIME);
    while let Some(batch) = written.try_next().await? {
        let before = posts.len() / SAY_EVERY;
        posts.extend(batch);
        if posts.len() / SAY_EVERY > before {
            progress::say(&format!("prepared {} of {wanted} posts", posts.len()));
        }
    }
    Ok(posts)
}

/// Posts, the newest first.
struct Made {
    next_at: Instant,
    random: fastrand::Rng,
    /// How many are left to make.
    number: usize,
}

impl Iterator for Made {
    type Item = Result<Post, NotAnId>;

    fn next(&mut self) -> Option<Self::Item> {
        let number = self.number.checked_sub(1)?;
        let (at, random) = (self.next_at, &mut self.random);
        let id = new_id(at, random);
        let post = id.map(|id| Post::new(id, &author(number), content(number, random), at));
        if random.u32(0..AT_ONCE) > 0 {
            let most_ms = i64::try_from(MOST_BETWEEN.as_millis()).unwrap_or(i64::MAX);
            self.next_at = at.plus_millis(-random.i64(1..=most_ms));
        }
        self.number = number;
        Some(post)
    }
}

/// An id such as one made at that time.
fn new_id(at: Instant, random: &mut fastrand::Rng) -> Result<PostId, NotAnId> {
    let mut bytes = [0; 10];
    random.fill(&mut bytes);
    let at_ms = u64::try_from(at.as_millis()).unwrap_or_default();
    uuid::Builder::from_unix_timestamp_millis(at_ms, &bytes).into_uuid().to_string().parse()
}

fn author(number: usize) -> String {
    format!("load-author-{}", number % AUTHORS)
}

/// What a post says.
fn content(number: usize, random: &mut fastrand::Rng) -> Wanted {
    let length = random.usize(LENGTHS);
    let words: Vec<&str> = (0..length).map(|_| WORDS[random.usize(..WORDS.len())]).collect();
    let tags = random.usize(0..4);
    let tags = random.choose_multiple(TAGS, tags).into_iter().map(str::to_owned);
    Wanted {
        title: format!("Post {number}: {}", words[..4].join(" ")),
        body: words.join(" "),
        tags: tags.collect(),
        status: Status::Published,
    }
}

/// Writes posts as the blog does.
async fn write(client: &Client, posts: Vec<Post>) -> Result<Vec<tables::Post>, Error> {
    let mut requests = Vec::with_capacity(posts.len() * 2);
    for post in &posts {
        let items = post.to_items();
        let [meta, body] = items.map_err(|problem| {
            Error::Prepare(problem.cause().unwrap_or(problem.kind().title).to_owned())
        })?;
        // Cut off in between, a body without a post is nothing that anybody sees.
        requests.extend([put(body)?, put(meta)?]);
    }
    let written = client.batch_write_item().request_items(TABLE.default, requests).send().await;
    let written =
        written.map_err(|error| Error::Prepare(DisplayErrorContext(error).to_string()))?;
    if !written.unprocessed_items.unwrap_or_default().is_empty() {
        return Err(Error::Prepare("the table did not take all".into()));
    }
    let written = posts.iter().map(|Post { meta, .. }| tables::Post {
        id: meta.post_id,
        published_at_ms: meta.published_at_ms.unwrap_or_default(),
        views: meta.views,
        counted: 0,
        stripes: meta.view_stripes,
    });
    Ok(written.collect())
}

fn put(item: Item) -> Result<WriteRequest, Error> {
    let put = PutRequest::builder().set_item(Some(item)).build();
    let put = put.map_err(|error| Error::Prepare(error.to_string()))?;
    Ok(WriteRequest::builder().put_request(put).build())
}

/// Creates so many posts, which nobody has read yet.
pub(crate) async fn by_api(
    cloud: &Cloud,
    caller: &Caller,
    wanted: usize,
    random: &mut fastrand::Rng,
) -> Result<Vec<PostId>, Error> {
    #[derive(Deserialize)]
    struct Created {
        id: PostId,
    }
    const OPERATION: &str = "create-post";
    let tokens = (0..AUTHORS).map(|number| cloud.token(&author(number), Role::Member));
    let tokens = tokens.collect::<Result<Vec<_>, _>>()?;
    let run = fastrand::u64(..);
    let requests = (0..wanted).map(|number| {
        let Wanted { title, body, tags, status } = content(number, random);
        let body = json!({ "title": title, "body": body, "tags": tags, "status": status });
        Request::new(OPERATION, Method::POST, "/posts")
            .token(&tokens[number % AUTHORS])
            .idempotency_key(format!("load-{run:016x}-{number}"))
            .body(body)
    });
    let requests: Vec<Request> = requests.collect();
    stream::iter(&requests)
        .map(|request| async move {
            let answer = caller.insist(request).await?;
            let created: Result<Created, _> = answer.json();
            let created =
                created.map_err(|error| Error::NotAsPromised { operation: OPERATION, error })?;
            Ok(created.id)
        })
        .buffer_unordered(CREATED_AT_A_TIME)
        .try_collect()
        .await
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn posts_are_spread_over_authors_and_times_and_some_share_one() {
        let now = Instant::from_millis(1_893_456_000_000);
        let made = Made { next_at: now, random: fastrand::Rng::with_seed(1), number: 1_000 };
        let posts: Vec<Post> = made.collect::<Result<_, _>>().unwrap();
        let metas: Vec<_> = posts.iter().map(|post| &post.meta).collect();
        let times: Vec<i64> = metas.iter().filter_map(|meta| meta.published_at_ms).collect();
        assert_eq!((times.len(), times[0]), (1_000, now.as_millis()));
        assert!(times.windows(2).all(|pair| pair[0] >= pair[1]));
        let shared = times.windows(2).filter(|pair| pair[0] == pair[1]).count();
        assert!((5..60).contains(&shared), "{shared}");
        let authors: BTreeSet<&str> = metas.iter().map(|meta| meta.author_id.as_str()).collect();
        let ids: BTreeSet<PostId> = metas.iter().map(|meta| meta.post_id).collect();
        assert_eq!((authors.len(), ids.len()), (AUTHORS, 1_000));
        assert!(metas.iter().all(|meta| meta.status == Status::Published && meta.views == 0));
        assert!(posts.iter().all(|post| post.body.len() > 100 && !post.meta.excerpt.is_empty()));
    }

    #[tokio::test]
    async fn a_folder_is_prepared_once_and_then_taken_as_it_is() {
        let cloud = local::Cloud::start(local::Options::default()).await.unwrap();
        let (client, mut random) = (cloud.client(), fastrand::Rng::with_seed(1));
        let now = Instant::from_millis(1_893_456_000_000);
        let by_id = |mut posts: Vec<tables::Post>| {
            posts.sort_unstable_by_key(|post| post.id);
            posts
        };
        let written = by_id(in_table(&client, 30, now, &mut random).await.unwrap());
        assert_eq!(written.len(), 30);
        let again = by_id(in_table(&client, 30, now, &mut random).await.unwrap());
        assert_eq!(again, written);
        let refused = in_table(&client, 31, now, &mut random).await.unwrap_err().to_string();
        assert!(refused.contains("holds 30") && refused.contains("--posts 30"), "{refused}");
    }
}
