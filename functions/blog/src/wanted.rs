//! What a post is to be: the bodies of create-post and update-post.

use std::collections::HashSet;

use garde::Validate;
use platform::problem::BODY_TOO_LARGE;
use platform::text::{self, Text};
use platform::{Problem, Request, http};
use serde::Deserialize;

use crate::post::Status;

/// The longest body of a post, in bytes of UTF-8 (300 KB). An item of the table
/// has room for 400 KB
/// ([limit](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html)).
pub const MOST_BODY_BYTES: usize = 300_000;

/// The most different tags of a post.
const MOST_TAGS: usize = 10;
/// The most characters of a tag.
const LONGEST_TAG: usize = 50;

#[derive(Deserialize, Validate)]
struct Create {
    #[garde(custom(text::title))]
    title: Text,
    #[garde(custom(any_length))]
    body: Text,
    #[garde(inner(custom(few_tags)))]
    tags: Option<Vec<Text>>,
    #[garde(skip)]
    status: Option<Status>,
}

#[derive(Deserialize, Validate)]
struct Update {
    #[garde(inner(custom(text::title)))]
    title: Option<Text>,
    #[garde(inner(custom(any_length)))]
    body: Option<Text>,
    #[garde(inner(custom(few_tags)))]
    tags: Option<Vec<Text>>,
    #[garde(skip)]
    status: Option<Status>,
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
