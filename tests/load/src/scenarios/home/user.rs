//! What a user does: opens home, marks announcements and takes marks back, reads
//! them, and keeps checklists. Each answer must show what the user did before.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use http::Method;
use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;

use super::ledger::{Ledger, Member};
use super::plan::{DOCUMENTS, Plan, Step};
use crate::call::{Answer, Request};
use crate::caller::Caller;
use crate::users::{Script, Stop};

/// How long a user waits that got no answer.
const PAUSE: Duration = Duration::from_secs(1);

/// What every user does.
pub(crate) struct Living {
    plan: Arc<Plan>,
    ledger: Arc<Ledger>,
    seed: u64,
    time: Duration,
    next: AtomicUsize,
    ends_at: OnceLock<Instant>,
}

/// An announcement, in a list or by itself.
#[derive(Deserialize)]
pub(crate) struct Entry {
    /// Its id.
    pub(crate) id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Home {
    closing_soon: Vec<Entry>,
    newest: Vec<Entry>,
    built_at: Option<String>,
    favorites: Option<Vec<Entry>>,
}

/// A checklist.
#[derive(Deserialize)]
pub(crate) struct Checklist {
    /// What is checked.
    pub(crate) checked: Vec<String>,
}

/// A user at work.
struct User<'a> {
    living: &'a Living,
    caller: &'a Caller,
    stop: &'a Stop,
    number: usize,
    did: Member,
}

impl Living {
    /// Users who do for some time what `plan` says and note in `ledger` what they
    /// are told.
    pub(crate) fn new(plan: &Arc<Plan>, ledger: &Arc<Ledger>, seed: u64, time: Duration) -> Self {
        let (plan, ledger) = (Arc::clone(plan), Arc::clone(ledger));
        let (next, ends_at) = (AtomicUsize::new(0), OnceLock::new());
        Self { plan, ledger, seed, time, next, ends_at }
    }
}

impl User<'_> {
    /// Sends a request, with the user's token. `None` without a success. Who
    /// cannot reach the server does not try again at once.
    async fn send(&self, request: Request) -> Option<Answer> {
        self.ask(request.token(self.living.plan.token(self.number))).await
    }

    async fn ask(&self, request: Request) -> Option<Answer> {
        let outcome = self.caller.send(&request).await;
        if outcome.is_err() {
            self.stop.sleep(PAUSE).await;
        }
        outcome.ok().filter(Answer::is_success)
    }

    fn path(&self, place: usize) -> String {
        format!("/announcements/{}", self.living.plan.id(place))
    }

    fn note_flaw(&self, flaw: &str) {
        self.living.ledger.note_flaw(format!("user {}: {flaw}", self.number));
    }

    async fn home(&self, is_guest: bool) {
        let request = Request::new("get-home", Method::GET, "/home");
        let answer = if is_guest { self.ask(request).await } else { self.send(request).await };
        let Some(answer) = answer else { return };
        let home: Home = match answer.json() {
            Ok(home) => home,
            Err(error) => return self.note_flaw(&format!("home: {error}")),
        };
        let is_empty = home.closing_soon.is_empty() || home.newest.is_empty();
        match home.built_at {
            Some(_) if is_empty => self.note_flaw("home is empty"),
            Some(built_at) => self.living.ledger.note_build(built_at),
            None => {} // nobody had the time to build it yet
        }
        match home.favorites {
            Some(favorites) if !is_guest => self.must_be_own(&favorites),
            None if is_guest => {}
            _ => self.note_flaw("home of somebody else"),
        }
    }

    /// What one marked is in one's next home, and nothing else is.
    fn must_be_own(&self, favorites: &[Entry]) {
        let places = favorites.iter().map(|it| self.living.plan.place(&it.id));
        let places: Option<BTreeSet<usize>> = places.collect();
        if let Some(marks) = self.did.marks()
            && places.as_ref() != Some(&marks)
        {
            self.note_flaw(&format!("home shows {places:?} instead of {marks:?}"));
        }
    }

    async fn mark(&mut self, place: usize) {
        let path = format!("{}/favorite", self.path(place));
        let is_marked = self.did.marked.get(&place).copied().flatten().unwrap_or_default();
        let (operation, method) = match is_marked {
            true => ("remove-favorite", Method::DELETE),
            false => ("add-favorite", Method::PUT),
        };
        let answer = self.send(Request::new(operation, method, path)).await;
        self.did.marked.insert(place, answer.map(|_| !is_marked));
    }

    async fn read(&self, place: usize) {
        let request = Request::new("get-announcement", Method::GET, self.path(place));
        let answer = self.send(request).await;
        let entry = answer.as_ref().and_then(|answer| answer.json::<Entry>().ok());
        self.living.ledger.note_read(answer.is_some().then_some(place));
        if answer.is_some() && entry.is_none_or(|it| it.id != self.living.plan.id(place)) {
            self.note_flaw(&format!("another announcement than {place}"));
        }
    }

    async fn check(&mut self, place: usize, random: &mut fastrand::Rng) {
        let checked = DOCUMENTS.into_iter().filter(|_| random.bool()).map(str::to_owned);
        let checked: Vec<String> = checked.collect();
        let path = format!("{}/checklist", self.path(place));
        let request = Request::new("put-checklist", Method::PUT, path);
        let answer = self.send(request.body(json!({ "checked": checked }))).await;
        if let Some(answer) = &answer {
            self.must_be(place, answer, &checked);
        }
        self.did.checked.insert(place, answer.map(|_| checked));
    }

    async fn recheck(&self, place: usize) {
        let path = format!("{}/checklist", self.path(place));
        let Some(answer) = self.send(Request::new("get-checklist", Method::GET, path)).await else {
            return;
        };
        match self.did.checked.get(&place) {
            None => self.must_be(place, &answer, &[]),
            Some(None) => {} // nobody knows
            Some(Some(checked)) => self.must_be(place, &answer, checked),
        }
    }

    fn must_be(&self, place: usize, answer: &Answer, checked: &[String]) {
        match answer.json::<Checklist>() {
            Ok(checklist) if checklist.checked == checked => {}
            Ok(Checklist { checked: is }) => {
                self.note_flaw(&format!("checklist {place} has {is:?} instead of {checked:?}"));
            }
            Err(error) => self.note_flaw(&format!("checklist {place}: {error}")),
        }
    }
}

#[async_trait]
impl Script for Living {
    async fn play(&self, caller: &Caller, stop: &Stop) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let ends_at = *self.ends_at.get_or_init(|| Instant::now() + self.time);
        let mut random = fastrand::Rng::with_seed(self.seed.wrapping_add(number as u64));
        let mut user = User { living: self, caller, stop, number, did: Member::default() };
        while !stop.is_set() && Instant::now() < ends_at {
            match self.plan.next(&mut random) {
                Step::Home { is_guest } => user.home(is_guest).await,
                Step::Mark(place) => user.mark(place).await,
                Step::Read(place) => user.read(place).await,
                Step::Check(place) => user.check(place, &mut random).await,
                Step::Recheck(place) => user.recheck(place).await,
            }
        }
        self.ledger.note_member(number, user.did);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Mutex;

    use serde_json::Value;

    use super::super::plan::tests::plan;
    use super::*;
    use crate::call::{Call, Lost};
    use crate::record::Recorder;

    /// Answers after ten milliseconds, as one user sees it.
    #[derive(Default)]
    struct Api {
        marked: Mutex<BTreeSet<String>>,
        checked: Mutex<BTreeMap<String, Value>>,
        /// Whether it forgets what was done.
        forgets: bool,
    }

    impl Api {
        fn answer(&self, request: &Request) -> Value {
            let entry = |id: &str| json!({ "id": id });
            let parts: Vec<&str> = request.path.split('/').skip(1).collect();
            let (mut marked, mut checked) =
                (self.marked.lock().unwrap(), self.checked.lock().unwrap());
            match (request.method.as_str(), parts.as_slice()) {
                ("GET", ["home"]) => {
                    let favorites: Vec<Value> = marked.iter().map(|id| entry(id)).collect();
                    let some = json!([entry("load-1-0")]);
                    json!({
                        "closingSoon": some,
                        "newest": some,
                        "mostFavorited": [],
                        "builtAt": "2030-01-01T00:00:00Z",
                        "favorites": request.token.is_some().then_some(favorites),
                    })
                }
                ("PUT", [_, id, "favorite"]) if !self.forgets => {
                    marked.insert((*id).to_owned()).into()
                }
                ("DELETE", [_, id, "favorite"]) => marked.remove(*id).into(),
                ("PUT", [_, id, "checklist"]) => {
                    let list = request.body.clone().unwrap();
                    if !self.forgets {
                        checked.insert((*id).to_owned(), list.clone());
                    }
                    list
                }
                ("GET", [_, id, "checklist"]) => {
                    checked.get(*id).cloned().unwrap_or(json!({ "checked": [] }))
                }
                ("GET", [_, id]) if !self.forgets => entry(id),
                _ => entry("x"),
            }
        }
    }

    #[async_trait]
    impl Call for Api {
        async fn call(&self, request: &Request) -> Result<Answer, Lost> {
            tokio::time::sleep(Duration::from_millis(10)).await;
            let body = self.answer(request).to_string().into_bytes();
            Ok(Answer { status: 200, body })
        }
    }

    async fn play(api: Api) -> (super::super::ledger::Told, BTreeMap<&'static str, u64>) {
        let (plan, ledger) = (Arc::new(plan(1)), Arc::new(Ledger::default()));
        let recorder = Arc::new(Recorder::new().unwrap());
        let caller = Caller::new(Arc::new(api), &recorder);
        let living = Living::new(&plan, &ledger, 1, Duration::from_secs(20));
        living.play(&caller, &Stop::new()).await;
        (ledger.told(), recorder.samples().operations)
    }

    #[tokio::test(start_paused = true)]
    async fn a_user_does_everything_for_its_time_and_finds_what_it_did() {
        let (told, operations) = play(Api::default()).await;
        let asked: u64 = operations.values().sum();
        assert!((1_600..=2_000).contains(&asked) && operations.len() == 6, "{operations:?}");
        assert!(told.flaws.is_empty(), "{:?}", told.flaws);
        assert_eq!(told.read.values().sum::<u64>(), operations["get-announcement"]);
        let member = &told.members[&0];
        let added = operations["add-favorite"] - operations["remove-favorite"];
        assert_eq!(member.marks().unwrap().len() as u64, added);
        assert!(!member.checked.is_empty() && told.builds.len() == 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_user_notices_what_was_forgotten() {
        let (told, _) = play(Api { forgets: true, ..Api::default() }).await;
        for flaw in ["home shows", "another announcement", "checklist"] {
            assert!(told.flaws.iter().any(|found| found.contains(flaw)), "{flaw}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_user_who_gets_no_answer_waits_and_knows_nothing() {
        struct Nobody;
        #[async_trait]
        impl Call for Nobody {
            async fn call(&self, _: &Request) -> Result<Answer, Lost> {
                Err(Lost("refused".into()))
            }
        }
        let (plan, ledger) = (Arc::new(plan(1)), Arc::new(Ledger::default()));
        let recorder = Arc::new(Recorder::new().unwrap());
        let caller = Caller::new(Arc::new(Nobody), &recorder);
        Living::new(&plan, &ledger, 1, Duration::from_secs(20)).play(&caller, &Stop::new()).await;
        assert_eq!(recorder.samples().lost, 20);
        assert!(ledger.told().unread > 0 && ledger.told().members[&0].marks().is_none());
    }
}
