//! Reads back what a run left behind, as everybody sees it: the list from its
//! beginning to its end, and the popular posts.

use std::collections::HashMap;
use std::time::Duration;

use http::Method;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::ledger::Told;
use super::page::{Listed, Page, misranked};
use super::plan::Plan;
use super::{LISTS_ARE_REMEMBERED, MOST_POPULAR, USUAL_PAGE};
use crate::call::Request;
use crate::caller::Caller;
use crate::error::Error;

/// Posts on one page of the list.
const PAGE: usize = 100;
/// How long to walk on through the list. It may have any number of posts.
const WALKS_FOR: Duration = Duration::from_secs(90);
/// How often to look at the views where no page says what waits.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// So many looks in a row that find no more views mean that no more will come.
const SAME_LOOKS: u32 = 5;
/// After so many looks, views are taken as they are.
const MOST_LOOKS: u32 = 90;

/// What everybody sees.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// The list, from its beginning on.
    pub(crate) list: Vec<Listed>,
    /// Whether that is all of it.
    pub(crate) is_whole: bool,
    /// A place far down in it.
    pub(crate) far: Option<Far>,
    /// The popular posts.
    pub(crate) popular: Vec<Listed>,
    /// How many pages those were.
    pub(crate) pages: u64,
    /// What is wrong with them.
    pub(crate) flaws: Vec<String>,
}

/// A place in the list as far down as there are still more posts than a user's
/// page has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Far {
    /// Where the page there begins.
    pub(crate) cursor: String,
    /// How many posts come before it.
    pub(crate) posts: usize,
}

/// Reads it, once nothing older is remembered anywhere.
pub(crate) async fn read(caller: &Caller) -> Result<Seen, Error> {
    tokio::time::sleep(LISTS_ARE_REMEMBERED).await;
    let mut seen = walk(caller, WALKS_FOR).await?;
    let popular: Page = get(caller, "popular-posts", "/posts/popular".to_owned()).await?;
    seen.flaws.extend(misranked(&popular.items, MOST_POPULAR));
    seen.popular = popular.items;
    Ok(seen)
}

/// Walks through the list, page by page.
async fn walk(caller: &Caller, at_most: Duration) -> Result<Seen, Error> {
    let (mut list, mut flaws): (Vec<Listed>, Vec<String>) = (Vec::new(), Vec::new());
    let (mut cursor, mut pages, started) = (None, 1, Instant::now());
    let mut places: Vec<Far> = Vec::new();
    loop {
        let from = cursor.as_ref().map_or_else(String::new, |cursor| format!("&cursor={cursor}"));
        let page: Page = get(caller, "list-posts", format!("/posts?limit={PAGE}{from}")).await?;
        let flaw = page.flaw(list.last(), PAGE);
        let is_lost = flaw.is_some();
        pages += 1;
        flaws.extend(flaw);
        list.extend(page.items);
        cursor = page.next_cursor;
        places.extend(cursor.clone().map(|cursor| Far { cursor, posts: list.len() }));
        if cursor.is_none() || is_lost || started.elapsed() >= at_most {
            let is_whole = cursor.is_none();
            let is_followed = |place: &Far| list.len() - place.posts > USUAL_PAGE;
            let far = places.into_iter().rfind(is_followed);
            return Ok(Seen { list, is_whole, far, popular: Vec::new(), pages, flaws });
        }
    }
}

/// Waits until the views of a run are all there, or become no more.
pub(crate) async fn wait_until_counted(
    caller: &Caller,
    plan: &Plan,
    told: &[Told],
) -> Result<(), Error> {
    let read: u64 = told.iter().map(|told| told.read).sum();
    let (mut last, mut same) = (0, 0);
    for _ in 0..MOST_LOOKS {
        let seen = walk(caller, WALKS_FOR).await?;
        let views: HashMap<_, _> = seen.list.iter().map(|post| (post.id, post.views)).collect();
        let views: u64 = plan.posts().iter().filter_map(|id| views.get(id)).sum();
        same = if views == last { same + 1 } else { 0 };
        last = views;
        if views >= read || same == SAME_LOOKS {
            break;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Ok(())
}

async fn get<T: DeserializeOwned>(
    caller: &Caller,
    operation: &'static str,
    path: String,
) -> Result<T, Error> {
    let answer = caller.insist(&Request::new(operation, Method::GET, path)).await?;
    answer.json().map_err(|error| Error::NotAsPromised { operation, error })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Mutex};

    use async_trait::async_trait;
    use serde_json::json;

    use super::super::plan::tests::{id, plan};
    use super::*;
    use crate::call::{Answer, Call, Lost};
    use crate::record::Recorder;

    /// A list of 250 posts, whose first one has more views at every look.
    struct List {
        /// Those, the last number for ever.
        views: Mutex<Vec<u64>>,
        looks: AtomicUsize,
        /// Whether each page begins with the last post of the one before.
        overlaps: bool,
        /// How long a page takes.
        page_takes: Duration,
    }

    fn list(views: &[u64]) -> List {
        let (views, looks) = (Mutex::new(views.to_vec()), AtomicUsize::new(0));
        List { views, looks, overlaps: false, page_takes: Duration::ZERO }
    }

    #[async_trait]
    impl Call for List {
        async fn call(&self, request: &Request) -> Result<Answer, Lost> {
            tokio::time::sleep(self.page_takes).await;
            let begin: usize =
                request.path.split_once("cursor=").map_or(0, |(_, from)| from.parse().unwrap());
            let mut views = self.views.lock().unwrap();
            if begin == 0 && self.looks.fetch_add(1, Ordering::SeqCst) > 0 && views.len() > 1 {
                views.remove(0);
            }
            let posts = begin..(begin + PAGE).min(250);
            let goes_on = posts.end < 250;
            let next = posts.end - usize::from(self.overlaps);
            let items = posts.map(|place| {
                let published_at = platform::clock::Instant::from_millis(1_000 - place as i64);
                let views = if place == 0 { views[0] } else { 0 };
                json!({ "id": id(place), "publishedAt": published_at.to_string(), "views": views })
            });
            let items: Vec<_> = items.collect();
            let page = if goes_on {
                json!({ "items": items, "nextCursor": next.to_string() })
            } else {
                json!({ "items": items })
            };
            Ok(Answer { status: 200, body: page.to_string().into_bytes() })
        }
    }

    fn caller(list: List) -> (Caller, Arc<List>) {
        let list = Arc::new(list);
        let recorder = Arc::new(Recorder::new().unwrap());
        (Caller::new(Arc::clone(&list) as Arc<dyn Call>, &recorder), list)
    }

    #[tokio::test(start_paused = true)]
    async fn a_walk_comes_by_every_post() {
        let seen = walk(&caller(list(&[0])).0, WALKS_FOR).await.unwrap();
        assert_eq!((seen.list.len(), seen.pages, seen.is_whole), (250, 4, true));
        assert_eq!(seen.far, Some(Far { cursor: "200".to_owned(), posts: 200 }));
        assert!(seen.flaws.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_walk_ends_where_a_post_is_repeated() {
        let seen = walk(&caller(List { overlaps: true, ..list(&[0]) }).0, WALKS_FOR).await.unwrap();
        assert!(!seen.is_whole && seen.flaws.len() == 1, "{:?}", seen.flaws);
    }

    #[tokio::test(start_paused = true)]
    async fn a_walk_that_takes_too_long_is_cut() {
        let slow = List { page_takes: WALKS_FOR * 2 / 3, ..list(&[0]) };
        let seen = walk(&caller(slow).0, WALKS_FOR).await.unwrap();
        assert_eq!((seen.list.len(), seen.is_whole), (200, false));
        assert!(seen.flaws.is_empty());
    }

    async fn looks(views: &[u64], read: u64) -> usize {
        let (caller, list) = caller(list(views));
        let told = [Told { read, unknown: 0 }];
        wait_until_counted(&caller, &plan(0.8, 1), &told).await.unwrap();
        list.looks.load(Ordering::SeqCst)
    }

    #[tokio::test(start_paused = true)]
    async fn views_are_waited_for_until_all_are_there_or_no_more_come() {
        assert_eq!(looks(&[3], 3).await, 1);
        assert_eq!(looks(&[1, 2, 2, 3], 3).await, 4);
        assert_eq!(looks(&[1, 2], 3).await, 2 + SAME_LOOKS as usize);
    }
}
