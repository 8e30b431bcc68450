//! What a page costs, by the status page: the same wherever it stands and however
//! many posts there are.

use std::time::Duration;

use blog::keys::{LIST_SHARDS, RANK_SHARDS};
use http::Method;

use super::read_back::Far;
use super::{LISTS_ARE_REMEMBERED, MOST_POPULAR, USUAL_PAGE};
use crate::call::Request;
use crate::caller::Caller;
use crate::error::Error;
use crate::invariants::Invariant;
use crate::status::{Status, Usage};

/// What a query consumes for every 4 KB that it begins, eventually consistent
/// ([source](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html)).
const UNITS_PER_BLOCK: f64 = 0.5;
const BLOCK_KB: f64 = 4.0;
/// More than a post of these runs takes in a list.
const ENTRY_KB: f64 = 1.0;

/// So many requests are sent at most until one is not disturbed.
const TRIES: u32 = 20;

const UNSEEN: &str = "only the status page of a local cloud tells, if nobody else asks it";

/// What three requests cost, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Costs {
    first: Usage,
    /// Of a page far down the list, if it is long enough, after so many posts.
    far: Option<(usize, Usage)>,
    popular: Usage,
}

/// Asks for pages that nobody remembers. `None` if nobody says what they cost.
pub(crate) async fn measure(caller: &Caller, far: Option<&Far>) -> Result<Option<Costs>, Error> {
    tokio::time::sleep(LISTS_ARE_REMEMBERED).await;
    let page = format!("/posts?limit={USUAL_PAGE}");
    let Some(first) = cost(caller, "list-posts", page.clone()).await? else {
        return Ok(None);
    };
    let far = match far {
        Some(Far { cursor, posts }) => {
            let page = cost(caller, "list-posts", format!("{page}&cursor={cursor}")).await?;
            page.map(|page| (*posts, page))
        }
        None => None,
    };
    let popular = cost(caller, "popular-posts", "/posts/popular".to_owned()).await?;
    Ok(popular.map(|popular| Costs { first, far, popular }))
}

/// What a request costs. One in which a call failed, and so was sent again, tells
/// nothing, and another one is sent.
async fn cost(
    caller: &Caller,
    operation: &'static str,
    path: String,
) -> Result<Option<Usage>, Error> {
    for _ in 0..TRIES {
        let before = Status::read(caller.call()).await;
        caller.insist(&Request::new(operation, Method::GET, path.clone())).await?;
        let Some((before, after)) = before.zip(Status::read(caller.call()).await) else {
            return Ok(None);
        };
        let usage = after.of(operation).since(&before.of(operation));
        if usage.requests != 1 {
            return Ok(None);
        }
        let limited = after.limited_since(&before);
        if limited.is_none_or(|limited| limited.has_let_pass_all()) {
            return Ok(Some(usage));
        }
        tokio::time::sleep(LISTS_ARE_REMEMBERED).await;
    }
    Ok(None)
}

/// Checks what was measured.
pub(crate) fn all(costs: Option<&Costs>) -> Vec<Invariant> {
    vec![wherever(costs), however_many(costs)]
}

/// A page far down the list costs what the first one does, but for a block that
/// a query may begin because posts differ in length.
fn wherever(costs: Option<&Costs>) -> Invariant {
    const NAME: &str = "a page costs the same wherever it stands";
    let Some(Costs { first, far, .. }) = costs else {
        return Invariant::unchecked(NAME, UNSEEN);
    };
    let Some((posts, far)) = far else {
        return Invariant::unchecked(NAME, "the list has few pages");
    };
    let most = first.read_units + first.calls as f64 * UNITS_PER_BLOCK;
    let held = far.calls == first.calls && far.read_units <= most;
    let page = posts / USUAL_PAGE + 1;
    let detail = format!("page 1: {}; page {page}: {}", said(first), said(far));
    Invariant::new(NAME, held, detail)
}

/// Neither page nor ranking costs more than one query of each partition for as
/// many posts as are shown.
fn however_many(costs: Option<&Costs>) -> Invariant {
    const NAME: &str = "a page and the ranking cost the same however many posts there are";
    let Some(Costs { first, popular, .. }) = costs else {
        return Invariant::unchecked(NAME, UNSEEN);
    };
    let is_flat = |usage: &Usage, queries: u32, entries: usize| {
        let blocks = (entries as f64 * ENTRY_KB / BLOCK_KB).ceil();
        let most = f64::from(queries) * blocks * UNITS_PER_BLOCK;
        usage.calls == u64::from(queries) && usage.read_units <= most
    };
    let held =
        is_flat(first, LIST_SHARDS, USUAL_PAGE + 1) && is_flat(popular, RANK_SHARDS, MOST_POPULAR);
    Invariant::new(NAME, held, format!("page: {}; ranking: {}", said(first), said(popular)))
}

fn said(usage: &Usage) -> String {
    format!("{} calls, {} read units", usage.calls, usage.read_units)
}

/// Each environment reads the ranking at most once a second, however many ask
/// for it. `ranking` is what a run of that length did to it.
pub(crate) fn ranking_is_remembered(
    ranking: Option<Usage>,
    asked: u64,
    length: Duration,
) -> Invariant {
    const NAME: &str = "the ranking costs eight queries a second and environment";
    let Some(Usage { requests, calls, environments, .. }) =
        ranking.filter(|ranking| ranking.requests == asked)
    else {
        return Invariant::unchecked(NAME, UNSEEN);
    };
    let queries = u64::from(RANK_SHARDS);
    let most = queries * environments * (length.as_secs() + 1);
    let detail = format!(
        "{calls} calls for {requests} requests, at most {most} by {environments} environments"
    );
    if requests * queries <= most {
        return Invariant::unchecked(NAME, format!("too few requests to tell: {detail}"));
    }
    Invariant::new(NAME, calls <= most, detail)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use async_trait::async_trait;
    use serde_json::{Value, json};

    use super::*;
    use crate::call::{Answer, Call, Lost};
    use crate::record::Recorder;

    fn usage(calls: u64, read_units: f64) -> Usage {
        Usage { requests: 1, calls, read_units, ..Usage::default() }
    }

    fn costs() -> Costs {
        Costs { first: usage(4, 6.0), far: Some((99_900, usage(4, 7.5))), popular: usage(8, 12.0) }
    }

    /// Which of the two hold after `change`.
    fn held(change: impl FnOnce(&mut Costs)) -> [Option<bool>; 2] {
        let mut costs = costs();
        change(&mut costs);
        let held: Vec<_> = all(Some(&costs)).iter().map(|invariant| invariant.held).collect();
        held.try_into().unwrap()
    }

    #[test]
    fn a_page_that_costs_more_far_down_is_noticed() {
        assert_eq!(held(|_| {}), [Some(true), Some(true)]);
        let far = |usage| move |costs: &mut Costs| costs.far = Some((99_900, usage));
        assert_eq!(held(far(usage(4, 8.5))), [Some(false), Some(true)]);
        assert_eq!(held(far(usage(5, 6.0))), [Some(false), Some(true)]);
        assert_eq!(held(|costs| costs.far = None), [None, Some(true)]);
        assert!(all(None).iter().all(|invariant| invariant.held.is_none()));
        assert!(wherever(Some(&costs())).detail.contains("page 4996: 4 calls, 7.5 read units"));
    }

    #[test]
    fn pages_that_grow_with_the_posts_are_noticed() {
        let first = |usage| move |costs: &mut Costs| costs.first = usage;
        let popular = |usage| move |costs: &mut Costs| costs.popular = usage;
        assert_eq!(held(first(usage(4, 12.0))), [Some(true), Some(true)]);
        assert_eq!(held(first(usage(4, 12.5))), [Some(true), Some(false)]);
        assert_eq!(held(popular(usage(8, 20.0))), [Some(true), Some(true)]);
        assert_eq!(held(popular(usage(8, 20.5))), [Some(true), Some(false)]);
        assert_eq!(held(popular(usage(9, 12.0))), [Some(true), Some(false)]);
        // Nothing was read: somebody remembered it, and it proves nothing.
        assert_eq!(held(popular(usage(0, 0.0))), [Some(true), Some(false)]);
    }

    #[test]
    fn a_ranking_that_is_read_too_often_is_noticed() {
        let held = |requests, calls, asked| {
            let usage = Usage { environments: 2, ..usage(calls, 0.0) };
            let length = Duration::from_millis(9_900);
            ranking_is_remembered(Some(Usage { requests, ..usage }), asked, length).held
        };
        assert_eq!(held(1_000, 160, 1_000), Some(true));
        assert_eq!(held(1_000, 161, 1_000), Some(false));
        assert_eq!(held(20, 160, 20), None, "as many calls without any memory");
        assert_eq!(held(1_001, 161, 1_000), None, "somebody else asks, too");
        assert_eq!(ranking_is_remembered(None, 0, Duration::ZERO).held, None);
    }

    /// A cloud whose functions cost what the length of the path is.
    struct Api {
        usage: Mutex<Value>,
        has_status: bool,
    }

    #[async_trait]
    impl Call for Api {
        async fn call(&self, request: &Request) -> Result<Answer, Lost> {
            let mut usage = self.usage.lock().unwrap();
            let operation = request.operation;
            if operation == "status" {
                let status = if self.has_status { 200 } else { 404 };
                let body = json!({ "functions": *usage }).to_string().into_bytes();
                return Ok(Answer { status, body });
            }
            let so_far = |field: &str| usage[operation][field].as_u64().unwrap_or(7);
            let now = json!({
                "requests": so_far("requests") + 1,
                "calls": so_far("calls") + request.path.len() as u64,
            });
            usage[operation] = now;
            Ok(Answer { status: 200, body: b"{}".to_vec() })
        }
    }

    async fn measured(has_status: bool, far: Option<&Far>) -> Option<Costs> {
        let api = Api { usage: Mutex::new(json!({})), has_status };
        let recorder = Arc::new(Recorder::new().unwrap());
        let caller = Caller::new(Arc::new(api), &recorder);
        // What was counted before is not this request's.
        caller.insist(&Request::new("list-posts", Method::GET, "/posts")).await.unwrap();
        caller.insist(&Request::new("popular-posts", Method::GET, "/posts")).await.unwrap();
        measure(&caller, far).await.unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn each_page_is_measured_by_itself() {
        let far = Far { cursor: "abc".to_owned(), posts: 100 };
        let Costs { first, far, popular } = measured(true, Some(&far)).await.unwrap();
        let length = |path: &str| path.len() as u64;
        assert_eq!((first.requests, first.calls), (1, length("/posts?limit=20")));
        assert_eq!(far.unwrap().1.calls, length("/posts?limit=20&cursor=abc"));
        assert_eq!(popular.calls, length("/posts/popular"));
        assert!(measured(true, None).await.unwrap().far.is_none());
        assert!(measured(false, None).await.is_none());
    }
}
