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
use super::{LISTS_ARE_REMEMBERED, MOST_POPULAR};
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
    /// The popular posts.
    pub(crate) popular: Vec<Listed>,
    /// How many pages those were.
    pub(crate) pages: u64,
    /// What is wrong with them.
    pub(crate) flaws: Vec<String>,
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
    loop {
        let from = cursor.map_or_else(String::new, |cursor| format!("&cursor={cursor}"));
        let page: Page = get(caller, "list-posts", format!("/posts?limit={PAGE}{from}")).await?;
        let flaw = page.flaw(list.last(), PAGE);
        let is_lost = flaw.is_some();
        pages += 1;
        flaws.extend(flaw);
        list.extend(page.items);
        cursor = page.next_cursor;
        if cursor.is_none() || is_lost || started.elapsed() >= at_most {
            let is_whole = cursor.is_none();
            return Ok(Seen { list, is_whole, popular: Vec::new(), pages, flaws });
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
