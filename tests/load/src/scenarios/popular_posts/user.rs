//! What a user does: reads posts, and looks at the list and at what is popular
//! now and then.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use blog::PostId;
use http::Method;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::ledger::Ledger;
use super::page::{Listed, Page, misranked};
use super::plan::{Plan, Step};
use super::{MOST_POPULAR, USUAL_PAGE};
use crate::call::{Answer, Lost, Request};
use crate::caller::Caller;
use crate::users::{Script, Stop};

/// One of so many who look at the list again go on where they were; the others
/// begin with what is new.
const GOES_ON: u32 = 3;

/// How long a user waits that got no answer.
const PAUSE: Duration = Duration::from_secs(1);

/// What every user does.
pub(crate) struct Reading {
    plan: Arc<Plan>,
    ledger: Arc<Ledger>,
    seed: u64,
    time: Duration,
    next: AtomicU64,
    ends_at: OnceLock<Instant>,
}

/// Where a user is in the list.
struct Bookmark {
    cursor: String,
    last: Listed,
}

#[derive(Deserialize)]
struct Post {
    id: PostId,
}

impl Reading {
    /// Users who read for some time what `plan` says and note in `ledger` what
    /// they are told.
    pub(crate) fn new(plan: &Arc<Plan>, ledger: &Arc<Ledger>, seed: u64, time: Duration) -> Self {
        let (plan, ledger) = (Arc::clone(plan), Arc::clone(ledger));
        let (next, ends_at) = (AtomicU64::new(0), OnceLock::new());
        Self { plan, ledger, seed, time, next, ends_at }
    }

    async fn read(&self, caller: &Caller, stop: &Stop, place: usize) {
        let id = self.plan.posts()[place];
        let request = Request::new("get-post", Method::GET, format!("/posts/{id}"));
        let outcome = send(caller, stop, &request).await;
        self.ledger.note_read(place, &outcome);
        let Some(answer) = outcome.ok().filter(Answer::is_success) else { return };
        if answer.json().ok().map(|post: Post| post.id) != Some(id) {
            self.ledger.note_flaw(format!("another post was answered than {id}"));
        }
    }

    async fn list(&self, caller: &Caller, stop: &Stop, from: Option<Bookmark>) -> Option<Bookmark> {
        let path = match &from {
            Some(from) => format!("/posts?cursor={}", from.cursor),
            None => "/posts".to_owned(),
        };
        let page: Page = self.get(caller, stop, "list-posts", path).await?;
        self.ledger.note_page(page.flaw(from.as_ref().map(|from| &from.last), USUAL_PAGE));
        let last = *page.items.last()?;
        page.next_cursor.map(|cursor| Bookmark { cursor, last })
    }

    async fn popular(&self, caller: &Caller, stop: &Stop) {
        let page =
            self.get::<Page>(caller, stop, "popular-posts", "/posts/popular".to_owned()).await;
        if let Some(page) = page {
            self.ledger.note_page(misranked(&page.items, MOST_POPULAR));
        }
    }

    async fn get<T: DeserializeOwned>(
        &self,
        caller: &Caller,
        stop: &Stop,
        operation: &'static str,
        path: String,
    ) -> Option<T> {
        let request = Request::new(operation, Method::GET, path);
        let outcome = send(caller, stop, &request).await;
        let answer = outcome.ok().filter(Answer::is_success)?;
        let read = answer.json();
        read.map_err(|error| self.ledger.note_flaw(format!("{operation}: {error}"))).ok()
    }
}

/// Sends a request. Who cannot reach the server does not try again at once.
async fn send(caller: &Caller, stop: &Stop, request: &Request) -> Result<Answer, Lost> {
    let outcome = caller.send(request).await;
    if outcome.is_err() {
        stop.sleep(PAUSE).await;
    }
    outcome
}

#[async_trait]
impl Script for Reading {
    async fn play(&self, caller: &Caller, stop: &Stop) {
        let user = self.next.fetch_add(1, Ordering::Relaxed);
        let ends_at = *self.ends_at.get_or_init(|| Instant::now() + self.time);
        let mut random = fastrand::Rng::with_seed(self.seed.wrapping_add(user));
        let mut bookmark = None;
        while !stop.is_set() && Instant::now() < ends_at {
            match self.plan.next(&mut random) {
                Step::Read(place) => self.read(caller, stop, place).await,
                Step::List => {
                    let from = bookmark.take().filter(|_| random.u32(0..GOES_ON) == 0);
                    bookmark = self.list(caller, stop, from).await;
                }
                Step::Popular => self.popular(caller, stop).await,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use serde_json::{Value, json};

    use super::super::plan::tests::{id, plan};
    use super::*;
    use crate::call::Call;
    use crate::record::Recorder;

    /// Answers after ten milliseconds: any post, a list of 50, a ranking.
    #[derive(Default)]
    struct Api {
        asked: Mutex<Vec<String>>,
        is_wrong: bool,
    }

    fn listed(number: usize) -> Value {
        let published_at = platform::clock::Instant::from_millis(number as i64).to_string();
        json!({ "id": id(number), "publishedAt": published_at, "views": 0 })
    }

    impl Api {
        fn answer(&self, path: &str) -> Value {
            if path == "/posts/popular" {
                let numbers: Vec<usize> = if self.is_wrong { vec![2, 1] } else { vec![1, 2] };
                return json!({ "items": numbers.into_iter().map(listed).collect::<Vec<_>>() });
            }
            if let Some(id) = path.strip_prefix("/posts/") {
                return json!({ "id": if self.is_wrong { "x" } else { id } });
            }
            let from = path.split_once("cursor=").map_or(50, |(_, from)| from.parse().unwrap());
            let end = from - 20_usize.min(from);
            let items: Vec<Value> = (end..from).rev().map(listed).collect();
            let items = if self.is_wrong { items.into_iter().rev().collect() } else { items };
            if end == 0 {
                json!({ "items": items })
            } else {
                json!({ "items": items, "nextCursor": end.to_string() })
            }
        }
    }

    #[async_trait]
    impl Call for Api {
        async fn call(&self, request: &Request) -> Result<Answer, Lost> {
            tokio::time::sleep(Duration::from_millis(10)).await;
            self.asked.lock().unwrap().push(request.path.clone());
            let body = self.answer(&request.path).to_string().into_bytes();
            Ok(Answer { status: 200, body })
        }
    }

    async fn play(api: Api) -> (Vec<String>, Arc<Ledger>, Arc<Recorder>) {
        let (plan, ledger) = (Arc::new(plan(0.8, 50)), Arc::new(Ledger::new(50)));
        let recorder = Arc::new(Recorder::new().unwrap());
        let api = Arc::new(api);
        let caller = Caller::new(Arc::clone(&api) as Arc<dyn Call>, &recorder);
        let reading = Reading::new(&plan, &ledger, 1, Duration::from_secs(20));
        reading.play(&caller, &Stop::new()).await;
        let asked = api.asked.lock().unwrap().clone();
        (asked, ledger, recorder)
    }

    #[tokio::test(start_paused = true)]
    async fn a_user_reads_for_its_time_and_looks_around_now_and_then() {
        let (asked, ledger, recorder) = play(Api::default()).await;
        assert!((1_600..=2_000).contains(&asked.len()), "{}", asked.len());
        let operations = recorder.samples().operations;
        assert_eq!(ledger.told().iter().map(|told| told.read).sum::<u64>(), operations["get-post"]);
        let (pages, flaws) = ledger.pages();
        assert_eq!(pages, operations["list-posts"] + operations["popular-posts"]);
        assert!(pages > 100 && flaws.is_empty(), "{pages} {flaws:?}");
        assert!(asked.iter().any(|path| path == "/posts?cursor=30"));
        assert!(asked.iter().any(|path| path == "/posts?cursor=10"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_user_notices_wrong_answers() {
        let (_, ledger, _) = play(Api { is_wrong: true, ..Api::default() }).await;
        let (_, flaws) = ledger.pages();
        for flaw in ["another post", "in the list", "in the ranking"] {
            assert!(flaws.iter().any(|found| found.contains(flaw)), "{flaw}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_user_who_gets_no_answer_waits_before_it_asks_again() {
        struct Nobody;
        #[async_trait]
        impl Call for Nobody {
            async fn call(&self, _: &Request) -> Result<Answer, Lost> {
                Err(Lost("refused".into()))
            }
        }
        let recorder = Arc::new(Recorder::new().unwrap());
        let caller = Caller::new(Arc::new(Nobody), &recorder);
        let (plan, ledger) = (Arc::new(plan(1.0, 50)), Arc::new(Ledger::new(50)));
        let reading = Reading::new(&plan, &ledger, 1, Duration::from_secs(20));
        reading.play(&caller, &Stop::new()).await;
        assert_eq!(recorder.samples().lost, 20);
        let unknown: u64 = ledger.told().iter().map(|told| told.unknown).sum();
        assert!((10..=20).contains(&unknown), "{unknown}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_user_who_is_told_to_stop_does_so() {
        let recorder = Arc::new(Recorder::new().unwrap());
        let api = Arc::new(Api::default());
        let caller = Caller::new(Arc::clone(&api) as Arc<dyn Call>, &recorder);
        let (plan, ledger) = (Arc::new(plan(0.8, 50)), Arc::new(Ledger::new(50)));
        let stop = Stop::new();
        stop.set();
        Reading::new(&plan, &ledger, 1, Duration::from_secs(20)).play(&caller, &stop).await;
        assert!(api.asked.lock().unwrap().is_empty());
    }
}
