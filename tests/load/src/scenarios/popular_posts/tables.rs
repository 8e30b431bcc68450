//! Looks into the table of the blog: what the API says is checked against it.

use std::collections::HashMap;
use std::str::FromStr;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::DisplayErrorContext;
use blog::post::Status;
use blog::{PostId, TABLE, keys};
use platform::table::{Item, s};

use crate::error::Error;

/// Items of a page. Without a limit, the local database looks at everything that
/// is left for each page.
const PAGE: i32 = 1_000;

/// A published post, as the table has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Post {
    /// Its id.
    pub(crate) id: PostId,
    /// When it was published.
    pub(crate) published_at_ms: i64,
    /// Its views, as far as they were added up.
    pub(crate) views: u64,
    /// The sum of its stripes.
    pub(crate) counted: u64,
    /// How many stripes it has.
    pub(crate) stripes: u32,
}

/// Every published post, in no order.
pub(crate) async fn read(client: &Client) -> Result<Vec<Post>, Error> {
    let scan = client
        .scan()
        .table_name(TABLE.default)
        .filter_expression("sk = :meta OR sk = :views")
        .expression_attribute_values(":meta", s(keys::META))
        .expression_attribute_values(":views", s(keys::VIEWS))
        .projection_expression("pk, sk, published_at_ms, view_stripes, #status, #views")
        .expression_attribute_names("#status", "status")
        .expression_attribute_names("#views", "views")
        .limit(PAGE)
        .consistent_read(true);
    let mut items = scan.into_paginator().items().send();
    let mut found = Found::default();
    while let Some(item) = items.next().await {
        let item = item.map_err(|error| Error::Tables(DisplayErrorContext(error).to_string()))?;
        found.add(&item).ok_or_else(|| Error::Tables(format!("an item of no post: {item:?}")))?;
    }
    Ok(found.posts())
}

#[derive(Default)]
struct Found {
    posts: Vec<Post>,
    counted: HashMap<PostId, u64>,
}

impl Found {
    /// Takes an item. `None` if it is not what it should be.
    fn add(&mut self, item: &Item) -> Option<()> {
        let text = |name: &str| item.get(name)?.as_s().ok();
        if text("sk")? == keys::VIEWS {
            let (id, _) = keys::parse_views(text("pk")?)?;
            *self.counted.entry(id).or_default() += number::<u64>(item, "views")?;
        } else if text("status")? == Status::Published.as_str() {
            self.posts.push(Post {
                id: keys::parse_post(text("pk")?)?,
                published_at_ms: number(item, "published_at_ms")?,
                views: number(item, "views")?,
                counted: 0,
                stripes: number(item, "view_stripes")?,
            });
        }
        Some(())
    }

    fn posts(self) -> Vec<Post> {
        let Self { mut posts, counted } = self;
        for post in &mut posts {
            post.counted = counted.get(&post.id).copied().unwrap_or_default();
        }
        posts
    }
}

fn number<T: FromStr>(item: &Item, name: &str) -> Option<T> {
    item.get(name)?.as_n().ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use blog::post::Post as Written;
    use blog::wanted::Wanted;
    use platform::clock::Instant;
    use platform::table::{Key, n};

    use super::super::plan::tests::id;
    use super::*;

    fn stripe(number: usize, stripe: u32, views: u64) -> Item {
        let Key { pk, sk } = keys::views(id(number), stripe);
        [("pk", s(pk)), ("sk", s(sk)), ("views", n(views))].map(|(k, v)| (k.to_owned(), v)).into()
    }

    fn meta(number: usize, status: Status) -> Item {
        let (title, body) = ("Hi".to_owned(), "Hello".to_owned());
        let wanted = Wanted { title, body, tags: Vec::new(), status };
        let post = Written::new(id(number), "m", wanted, Instant::from_millis(7));
        post.meta.to_item().unwrap()
    }

    #[test]
    fn a_post_is_read_as_the_blog_writes_it_with_the_sum_of_its_stripes() {
        let mut found = Found::default();
        let items = [
            stripe(1, 0, 3),
            meta(1, Status::Published),
            stripe(1, 63, 4),
            meta(2, Status::Draft),
            stripe(9, 0, 5),
        ];
        assert!(items.iter().all(|item| found.add(item).is_some()));
        let post = Post { id: id(1), published_at_ms: 7, views: 0, counted: 7, stripes: 1 };
        assert_eq!(found.posts(), [post]);
        assert!(Found::default().add(&Item::new()).is_none());
    }
}
