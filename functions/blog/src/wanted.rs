//! What a post is to be: the bodies of create-post and update-post.

use std::collections::HashSet;

use garde::Validate;
use platform::operation;
use platform::problem::BODY_TOO_LARGE;
use platform::text::{self, Text};
use platform::{Problem, Request, http};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::post::Status;

/// The longest body of a post, in bytes of UTF-8 (300 KB). An item of the table
/// has room for 400 KB
/// ([limit](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html)).
pub const MOST_BODY_BYTES: usize = 300_000;

/// The most different tags of a post.
const MOST_TAGS: usize = 10;
/// The most characters of a tag.
const LONGEST_TAG: usize = 50;

/// The body of create-post.
#[derive(Deserialize, Validate, ToSchema)]
pub(crate) struct Create {
    #[garde(custom(text::title))]
    #[schema(value_type = text::Title)]
    title: Text,
    #[garde(custom(any_length))]
    #[schema(value_type = PostBody)]
    body: Text,
    #[garde(inner(custom(few_tags)))]
    #[schema(value_type = Option<Vec<Tag>>)]
    tags: Option<Vec<Text>>,
    #[garde(skip)]
    status: Option<Status>,
}

/// The body of update-post.
#[derive(Deserialize, Validate, ToSchema)]
pub(crate) struct Update {
    #[garde(inner(custom(text::title)))]
    #[schema(value_type = Option<text::Title>)]
    title: Option<Text>,
    #[garde(inner(custom(any_length)))]
    #[schema(value_type = Option<PostBody>)]
    body: Option<Text>,
    #[garde(inner(custom(few_tags)))]
    #[schema(value_type = Option<Vec<Tag>>)]
    tags: Option<Vec<Text>>,
    #[garde(skip)]
    status: Option<Status>,
}

platform::schema! {
    /// A tag that [`few_tags`] takes, in the document.
    Tag = operation::text(1, LONGEST_TAG)
}

platform::schema! {
    /// A post's text, in the document. Its length counts in bytes.
    PostBody = operation::text(0, MOST_BODY_BYTES)
}

/// What a new post is to be.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Its title.
    pub title: String,
    /// What it says.
    pub body: String,
    /// Its tags, each once.
    pub tags: Vec<String>,
    /// Whether it is published at once: not, if the request says nothing.
    pub status: Status,
}

/// What is to be different. What is left out stays.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Another title.
    pub title: Option<String>,
    /// Another body.
    pub body: Option<String>,
    /// Other tags, each once.
    pub tags: Option<Vec<String>>,
    /// Whether it is published from now on.
    pub status: Option<Status>,
}

impl Wanted {
    /// Reads the body of a request.
    pub fn of(request: &Request) -> Result<Self, Problem> {
        let Create { title, body, tags, status } = http::body(request)?;
        Ok(Self {
            title: title.into_string(),
            body: no_larger(body)?,
            tags: each_once(tags.unwrap_or_default()),
            status: status.unwrap_or_default(),
        })
    }
}

impl Changes {
    /// Reads the body of a request.
    pub fn of(request: &Request) -> Result<Self, Problem> {
        let Update { title, body, tags, status } = http::body(request)?;
        Ok(Self {
            title: title.map(Text::into_string),
            body: body.map(no_larger).transpose()?,
            tags: tags.map(each_once),
            status,
        })
    }
}

/// Its length is checked apart, since it has a code of its own.
fn any_length(body: &Text, _: &()) -> garde::Result {
    text::within(body, 0, usize::MAX)
}

fn no_larger(body: Text) -> Result<String, Problem> {
    let body = body.into_string();
    if body.len() > MOST_BODY_BYTES {
        let detail = format!("A post has at most {MOST_BODY_BYTES} bytes, not {}.", body.len());
        return Err(Problem::from(BODY_TOO_LARGE).detail(detail));
    }
    Ok(body)
}

fn few_tags(tags: &[Text], _: &()) -> garde::Result {
    tags.iter().try_for_each(|tag| text::within(tag, 1, LONGEST_TAG))?;
    let different = tags.iter().map(Text::as_str).collect::<HashSet<_>>().len();
    if different > MOST_TAGS {
        return Err(garde::Error::new(format!("expected at most {MOST_TAGS}, not {different}")));
    }
    Ok(())
}

/// The tags in their order, without those that were there before.
fn each_once(tags: Vec<Text>) -> Vec<String> {
    let mut seen = HashSet::new();
    let tags = tags.into_iter().map(Text::into_string);
    tags.filter(|tag| seen.insert(tag.clone())).collect()
}
