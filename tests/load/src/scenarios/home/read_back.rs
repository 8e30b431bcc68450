//! Reads back what a run left behind: what each member has, and what everybody
//! sees counted.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt, stream};
use http::Method;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::ledger::Told;
use super::plan::Plan;
use super::user::{Checklist, Entry};
use crate::call::Request;
use crate::caller::Caller;
use crate::error::Error;

/// Members who are read back at the same time.
const AT_A_TIME: usize = 20;
/// How often to look whether something is there.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// After so many looks it is taken as it is.
const MOST_LOOKS: u32 = 60;

/// What is there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// Favorites and views of each announcement, by its place.
    pub(crate) counts: BTreeMap<usize, Counts>,
    /// The places of what each member has marked.
    pub(crate) marks: BTreeMap<usize, BTreeSet<usize>>,
    /// What is checked of a member's checklist for a place.
    pub(crate) checked: BTreeMap<(usize, usize), Vec<String>>,
}

/// What everybody sees of an announcement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct Counts {
    /// How many have marked it.
    pub(crate) favorites: u64,
    /// How often it was read.
    pub(crate) views: u64,
}

/// Reads it.
pub(crate) async fn read(caller: &Caller, plan: &Plan, told: &Told) -> Result<Seen, Error> {
    let counts = counts(caller, plan).await?;
    let marks = stream::iter(told.members.keys())
        .map(|user| async move { Ok::<_, Error>((*user, marks(caller, plan, *user).await?)) })
        .buffer_unordered(AT_A_TIME)
        .try_collect()
        .await?;
    let lists = told
        .members
        .iter()
        .flat_map(|(user, member)| member.checked.keys().map(move |place| (*user, *place)));
    let checked = stream::iter(lists)
        .map(|(user, place)| async move {
            let path = format!("/announcements/{}/checklist", plan.id(place));
            let request = Request::new("get-checklist", Method::GET, path);
            let list: Checklist = get(caller, request.token(plan.token(user))).await?;
            Ok::<_, Error>(((user, place), list.checked))
        })
        .buffer_unordered(AT_A_TIME)
        .try_collect()
        .await?;
    Ok(Seen { counts, marks, checked })
}

/// The announcements of the run, as lists show them.
async fn counts(caller: &Caller, plan: &Plan) -> Result<BTreeMap<usize, Counts>, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Page {
        items: Vec<Listed>,
        next_cursor: Option<String>,
    }
    #[derive(Deserialize)]
    struct Listed {
        id: String,
        #[serde(flatten)]
        counts: Counts,
    }
    let (mut counts, mut cursor) = (BTreeMap::new(), None);
    loop {
        let from = cursor.map_or_else(String::new, |cursor| format!("&cursor={cursor}"));
        let path = format!("/announcements?category={}&limit=100{from}", plan.category());
        let request = Request::new("list-announcements", Method::GET, path);
        // With a token it is read anew.
        let page: Page = get(caller, request.token(plan.staff())).await?;
        let items = page.items.into_iter();
        counts.extend(items.filter_map(|it| Some((plan.place(&it.id)?, it.counts))));
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(counts);
        }
    }
}

async fn marks(caller: &Caller, plan: &Plan, user: usize) -> Result<BTreeSet<usize>, Error> {
    #[derive(Deserialize)]
    struct Page {
        items: Vec<Entry>,
    }
    let request = Request::new("list-favorites", Method::GET, "/favorites?limit=100");
    let page: Page = get(caller, request.token(plan.token(user))).await?;
    Ok(page.items.iter().filter_map(|it| plan.place(&it.id)).collect())
}

/// Waits until the favorites of a run are all counted.
pub(crate) async fn wait_until_counted(
    caller: &Caller,
    plan: &Plan,
    told: &Told,
) -> Result<(), Error> {
    let marked = told.members.values().filter_map(super::ledger::Member::marks);
    let marked: usize = marked.map(|marks| marks.len()).sum();
    let read: u64 = told.read.values().sum();
    for _ in 0..MOST_LOOKS {
        let counts = counts(caller, plan).await?;
        let favorites: u64 = counts.values().map(|it| it.favorites).sum();
        let views: u64 = counts.values().map(|it| it.views).sum();
        if favorites == marked as u64 && views >= read {
            break;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Ok(())
}

async fn get<T: DeserializeOwned>(caller: &Caller, request: Request) -> Result<T, Error> {
    let answer = caller.insist(&request).await?;
    let operation = request.operation;
    answer.json().map_err(|error| Error::NotAsPromised { operation, error })
}
