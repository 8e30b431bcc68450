//! A post: as the table keeps it, and as JSON.
//!
//! What lists show and counting changes is one small item, the body another:
//! DynamoDB bills the whole item on every update, and views change often.

use std::sync::Arc;

use platform::auth::Caller;
use platform::clock::Instant;
use platform::table::{AttributeValue, Item, Write, item, n, s};
use platform::{Problem, Reply};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::cut::{self, cut};
use crate::ids::PostId;
use crate::keys;
use crate::refusal::Refusal;
use crate::wanted::{Changes, Wanted};

/// Whether everybody sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE", try_from = "String")]
#[schema(as = PostStatus)]
pub enum Status {
    /// Only its author and staff.
    #[default]
    Draft,
    /// Everybody.
    Published,
}

/// Text that is no status.
#[derive(Debug, thiserror::Error)]
#[error("expected DRAFT or PUBLISHED")]
pub struct NotAStatus;

/// From a plain string alone: by itself serde also takes `{"DRAFT": null}`.
impl TryFrom<String> for Status {
    type Error = NotAStatus;

    fn try_from(text: String) -> Result<Self, NotAStatus> {
        match text.as_str() {
            "DRAFT" => Ok(Self::Draft),
            "PUBLISHED" => Ok(Self::Published),
            _ => Err(NotAStatus),
        }
    }
}

impl Status {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Draft => "DRAFT",
            Self::Published => "PUBLISHED",
        }
    }
}

/// Everything small of a post.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// Its id.
    pub post_id: PostId,
    /// Who wrote it.
    pub author_id: String,
    /// Its title.
    pub title: String,
    /// How its body begins.
    pub excerpt: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// Whether everybody sees it.
    pub status: Status,
    /// When it was published for the first time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published_at_ms: Option<i64>,
    /// Its views, as far as they have been added up.
    pub views: u64,
    /// Over how many stripes its views are spread. It only grows.
    pub view_stripes: u32,
    /// When its views were last added up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted_at_ms: Option<i64>,
    /// 1 at first, and one more with each change; views are none.
    pub version: u64,
    /// The version that its body is of.
    pub body_version: u64,
    /// When it got this version.
    pub updated_at_ms: i64,
    /// The request that wrote this version, so that it knows its own write.
    pub change_id: String,
}

/// A body, as the table keeps it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Body {
    /// What the post says.
    pub body: Arc<str>,
    /// The version of the post that it was written with.
    pub version: u64,
}

/// A whole post.
#[derive(Clone, Debug)]
pub struct Post {
    /// Everything small of it.
    pub meta: Meta,
    /// What it says.
    pub body: Arc<str>,
}

/// A post as JSON.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct View<'a> {
    id: PostId,
    author_id: &'a str,
    title: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    body: Option<&'a str>,
    tags: &'a [String],
    status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    published_at: Option<Instant>,
    views: u64,
    version: u64,
}

/// A post in the document's examples.
pub(crate) fn example() -> Value {
    json!({
        "id": "01941f29-7c00-7000-8000-0000000000b1",
        "authorId": "ada",
        "title": "Notes",
        "body": "The engine weaves.",
        "tags": ["engines"],
        "status": "PUBLISHED",
        "publishedAt": "2030-01-01T09:00:00Z",
        "views": 1843,
        "version": 3,
    })
}

/// A post in a list, in the document's examples.
pub(crate) fn entry_example() -> Value {
    json!({
        "id": "01941f29-7c00-7000-8000-0000000000b1",
        "authorId": "ada",
        "title": "Notes",
        "excerpt": "The engine weaves.",
        "tags": ["engines"],
        "status": "PUBLISHED",
        "publishedAt": "2030-01-01T09:00:00Z",
        "views": 1843,
        "version": 3,
    })
}

impl Meta {
    /// Whether `caller` may change it.
    pub fn may_be_changed_by(&self, caller: &Caller) -> bool {
        caller.is_staff() || caller.member_id == self.author_id
    }

    /// Refuses who may not change it. Somebody else's draft is not there.
    pub fn require_changeable_by(&self, caller: &Caller) -> Result<(), Refusal> {
        match self.status {
            _ if self.may_be_changed_by(caller) => Ok(()),
            Status::Published => Err(Refusal::Forbidden),
            Status::Draft => Err(Refusal::PostNotFound),
        }
    }

    /// Refuses another version than the one that is asked for.
    pub fn require_version(&self, version: Option<u64>) -> Result<(), Refusal> {
        if version.is_some_and(|version| version != self.version) {
            return Err(Refusal::VersionMismatch { version: self.version });
        }
        Ok(())
    }

    /// Where it stands in the ranking and in the list, as attributes. Nowhere,
    /// if it is a draft.
    fn positions(&self) -> Vec<(&'static str, String)> {
        let (Status::Published, Some(published_at_ms)) = (self.status, self.published_at_ms) else {
            return Vec::new();
        };
        vec![
            ("index1_pk", keys::rank_partition_of(self.post_id)),
            ("index1_sk", keys::rank_position(self.views, self.post_id)),
            ("index2_pk", keys::list_partition_of(self.post_id)),
            ("index2_sk", keys::list_position(published_at_ms, self.post_id)),
        ]
    }

    /// The item in the table.
    pub fn to_item(&self) -> Result<Item, Problem> {
        let mut item = item(keys::meta(self.post_id), self)?;
        item.extend(self.positions().into_iter().map(|(name, key)| (name.to_owned(), s(key))));
        Ok(item)
    }

    /// The write that turns `seen` into this. It leaves alone what counting
    /// changes, at the same time and in the same item.
    fn replace(&self, seen: &Self) -> Write {
        let mut set = "SET title = :title, excerpt = :excerpt, tags = :tags, #status = :status, \
                       version = :version, body_version = :body_version, \
                       updated_at_ms = :updated_at_ms, change_id = :change_id"
            .to_owned();
        let mut remove = "";
        let is_new_in_lists = seen.positions().is_empty() && !self.positions().is_empty();
        if is_new_in_lists {
            set += ", published_at_ms = :published_at_ms, index1_pk = :index1_pk, \
                    index1_sk = :index1_sk, index2_pk = :index2_pk, index2_sk = :index2_sk";
        } else if self.positions().is_empty() {
            remove = " REMOVE index1_pk, index1_sk, index2_pk, index2_sk";
        }
        let mut write = Write::update(keys::meta(self.post_id), set + remove)
            .when("version = :seen")
            .name("#status", "status")
            .bind(":seen", n(seen.version))
            .bind(":title", s(&self.title))
            .bind(":excerpt", s(&self.excerpt))
            .bind(":tags", AttributeValue::L(self.tags.iter().map(s).collect()))
            .bind(":status", s(self.status.as_str()))
            .bind(":version", n(self.version))
            .bind(":body_version", n(self.body_version))
            .bind(":updated_at_ms", n(self.updated_at_ms))
            .bind(":change_id", s(&self.change_id));
        if is_new_in_lists {
            // Its place in the ranking is by the views that were seen.
            write = write.when("#views = :views").name("#views", "views");
            write = write.bind(":views", n(seen.views));
            write = write.bind(":published_at_ms", n(self.published_at_ms.unwrap_or_default()));
            for (name, key) in self.positions() {
                write = write.bind(&format!(":{name}"), s(key));
            }
        }
        write
    }
}

impl Post {
    /// A new post.
    pub fn new(post_id: PostId, author_id: &str, wanted: Wanted, now: Instant) -> Self {
        let Wanted { title, body, tags, status } = wanted;
        let meta = Meta {
            post_id,
            author_id: author_id.to_owned(),
            title,
            excerpt: cut::excerpt(&body),
            tags,
            status,
            published_at_ms: (status == Status::Published).then(|| now.as_millis()),
            views: 0,
            view_stripes: 1,
            counted_at_ms: None,
            version: 1,
            body_version: 1,
            updated_at_ms: now.as_millis(),
            change_id: post_id.to_string(),
        };
        Self { meta, body: body.into() }
    }

    /// The next version, with `changes` made by the request `change_id`. `None`
    /// if nothing would be different.
    pub fn changed(&self, changes: &Changes, change_id: &str, now: Instant) -> Option<Self> {
        let Changes { title, body, tags, status } = changes.clone();
        let mut next = self.clone();
        next.meta.title = title.unwrap_or(next.meta.title);
        next.meta.tags = tags.unwrap_or(next.meta.tags);
        next.meta.status = status.unwrap_or(next.meta.status);
        let body = body.filter(|body| **body != *self.body);
        if body.is_none() && next.meta == self.meta {
            return None;
        }
        next.meta.version += 1;
        if let Some(body) = body {
            next.meta.excerpt = cut::excerpt(&body);
            next.meta.body_version = next.meta.version;
            next.body = body.into();
        }
        if next.meta.status == Status::Published {
            next.meta.published_at_ms.get_or_insert(now.as_millis());
        }
        next.meta.updated_at_ms = now.as_millis().max(self.meta.updated_at_ms + 1);
        change_id.clone_into(&mut next.meta.change_id);
        Some(next)
    }

    /// The items in the table.
    pub fn to_items(&self) -> Result<[Item; 2], Problem> {
        Ok([self.meta.to_item()?, self.body_item()?])
    }

    fn body_item(&self) -> Result<Item, Problem> {
        let body = Body { body: Arc::clone(&self.body), version: self.meta.body_version };
        item(keys::body(self.meta.post_id), &body)
    }

    /// The writes that put it where there is none.
    pub fn create(&self) -> Result<Vec<Write>, Problem> {
        let [meta, body] = self.to_items()?;
        Ok(vec![Write::put(meta).when("attribute_not_exists(pk)"), Write::put(body)])
    }

    /// The writes that turn `seen` into this: the body's only if it is another.
    pub fn replace(&self, seen: &Self) -> Result<Vec<Write>, Problem> {
        let mut writes = vec![self.meta.replace(&seen.meta)];
        if self.meta.body_version != seen.meta.body_version {
            writes.push(Write::put(self.body_item()?));
        }
        Ok(writes)
    }

    /// It as JSON.
    pub fn view(&self) -> View<'_> {
        View { body: Some(&self.body), ..self.view_without_body() }
    }

    /// It as JSON, but for its body.
    pub fn view_without_body(&self) -> View<'_> {
        let Meta { post_id, author_id, title, tags, status, views, version, .. } = &self.meta;
        View {
            id: *post_id,
            author_id,
            title,
            body: None,
            tags,
            status: *status,
            published_at: self.meta.published_at_ms.map(Instant::from_millis),
            views: *views,
            version: *version,
        }
    }

    /// 200 with it.
    pub fn reply(&self) -> Result<Reply, Problem> {
        Ok(Reply::ok(&self.view())?.etag(self.meta.version))
    }
}

/// A published post, as the indexes have it.
#[derive(Clone, Debug, Deserialize)]
pub struct Entry {
    /// Its id.
    pub post_id: PostId,
    author_id: String,
    title: String,
    excerpt: String,
    tags: Vec<String>,
    published_at_ms: i64,
    /// Its views.
    pub views: u64,
    version: u64,
}

/// A post in a list, as JSON.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EntryView<'a> {
    id: PostId,
    author_id: &'a str,
    title: String,
    excerpt: &'a str,
    tags: &'a [String],
    status: Status,
    published_at: Instant,
    views: u64,
    version: u64,
}

impl Entry {
    /// Where it stands in the ranking.
    pub fn rank_position(&self) -> String {
        keys::rank_position(self.views, self.post_id)
    }

    /// Where it stands in the list.
    pub fn list_position(&self) -> String {
        keys::list_position(self.published_at_ms, self.post_id)
    }

    /// About how many bytes it takes up in memory.
    pub fn weight(&self) -> u64 {
        let texts = [&self.author_id, &self.title, &self.excerpt].map(String::len);
        let tags = self.tags.iter().map(|tag| tag.len() + 24);
        (texts.into_iter().chain(tags).sum::<usize>() + size_of::<Self>()) as u64
    }

    /// It as JSON.
    pub fn view(&self) -> EntryView<'_> {
        EntryView {
            id: self.post_id,
            author_id: &self.author_id,
            title: cut(&self.title, cut::TITLE),
            excerpt: &self.excerpt,
            tags: &self.tags,
            status: Status::Published,
            published_at: Instant::from_millis(self.published_at_ms),
            views: self.views,
            version: self.version,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_status_is_a_plain_string_and_is_read_as_it_is_written() {
        for status in [Status::Draft, Status::Published] {
            assert_eq!(json!(status), status.as_str());
            assert_eq!(serde_json::from_value::<Status>(json!(status)).unwrap(), status);
        }
        for bad in [json!("draft"), json!(""), json!(0), json!({ "DRAFT": null })] {
            assert!(serde_json::from_value::<Status>(bad.clone()).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_draft_stands_in_no_index() {
        let id = "01941f29-7c00-7000-8000-000000000001".parse().unwrap();
        let wanted = |status| {
            let (title, body) = ("Hi".to_owned(), "Hello".to_owned());
            Wanted { title, body, tags: vec![], status }
        };
        let at = |status| Post::new(id, "m", wanted(status), Instant::from_millis(7)).meta;
        let keys = |meta: &Meta| {
            let item = meta.to_item().unwrap();
            item.keys().filter(|name| name.starts_with("index")).count()
        };
        assert_eq!((keys(&at(Status::Draft)), keys(&at(Status::Published))), (0, 4));
    }
}
