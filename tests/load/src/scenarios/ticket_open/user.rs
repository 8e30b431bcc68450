//! What a user does: waits for the opening, stands in the queue, takes a pass,
//! looks at the groups of seats, has some recommended, holds them, and orders, or
//! not.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use http::Method;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::claims::Claim;
use super::ledger::{Ledger, Member, Order};
use super::plan::{End, Intent, MINUTE, MOST_SEATS, PASS_MS, Plan};
use crate::call::{Answer, Request};
use crate::caller::Caller;
use crate::record::Recorder;
use crate::users::{Script, Stop};

/// How long before the opening those try who are early.
const EARLY: Duration = Duration::from_secs(1);
/// How long somebody waits who is told that it is not open yet.
const KNOCK_AGAIN: Duration = Duration::from_millis(100);
/// Whoever sends so long after the opening, or later, must be let in: clocks of
/// one machine agree, but a request that was sent on the millisecond may not.
const ON_TIME: Duration = Duration::from_millis(5);
/// How often somebody chooses again whose seats were taken meanwhile.
const CHOICES: usize = 5;
/// A user looks at who it is with one of so many looks at the position.
const LOOKS_PER_PROFILE: u32 = 2;

/// What every user does.
pub(crate) struct Buying {
    plan: Arc<Plan>,
    ledger: Arc<Ledger>,
    provoked: Arc<Recorder>,
    seed: u64,
    next: AtomicUsize,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Place {
    ticket: String,
    position: u64,
    poll_after_ms: u64,
    #[serde(default)]
    admitted: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pass {
    pass: String,
    expires_at: platform::clock::Instant,
}

#[derive(Deserialize)]
struct Recommendation {
    seats: Vec<String>,
    hold: Option<Hold>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Hold {
    hold_id: String,
    seats: Vec<String>,
    amount: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Ordered {
    order_id: String,
    status: String,
}

/// A user at work.
struct User<'a> {
    buying: &'a Buying,
    caller: &'a Caller,
    stop: &'a Stop,
    number: usize,
    intent: Intent,
    random: fastrand::Rng,
    keys: u32,
    told: Member,
}

impl Buying {
    /// Users who do what `plan` says and note in `ledger` what they are told.
    /// What must be refused is recorded apart, in `provoked`.
    pub(crate) fn new(
        plan: &Arc<Plan>,
        ledger: &Arc<Ledger>,
        provoked: &Arc<Recorder>,
        seed: u64,
    ) -> Self {
        let (plan, ledger) = (Arc::clone(plan), Arc::clone(ledger));
        Self { plan, ledger, provoked: Arc::clone(provoked), seed, next: AtomicUsize::new(0) }
    }
}

impl User<'_> {
    fn plan(&self) -> &Plan {
        &self.buying.plan
    }

    fn request(&self, operation: &'static str, method: Method, path: String) -> Request {
        Request::new(operation, method, path).token(self.plan().token(self.number))
    }

    /// Sends until it is known what became of it. `None` if nobody ever said.
    async fn send(&self, request: &Request) -> Option<Answer> {
        self.caller.until_known(request, self.stop).await
    }

    /// What an answer says, if it is a success in the promised form.
    fn read<T: DeserializeOwned>(&self, what: &str, answer: Option<&Answer>) -> Option<T> {
        let answer = answer.filter(|answer| answer.is_success())?;
        match answer.json() {
            Ok(read) => Some(read),
            Err(error) => {
                let flaw = format!("user {}: {what}: {error}", self.number);
                self.buying.ledger.change(|told| told.flaws.push(flaw));
                None
            }
        }
    }

    /// A key under which this user sends one thing once.
    fn key(&mut self) -> String {
        self.keys += 1;
        format!("{}-{}-{}", self.plan().match_id, self.number, self.keys)
    }

    /// Sends a request that must be refused with `code`.
    async fn provoke(&self, code: &'static str, or: &[&str], request: Request) -> Option<Answer> {
        let caller = self.caller.recording(&self.buying.provoked);
        let answer = caller.until_known(&request, self.stop).await?;
        let got = answer.code().unwrap_or_default();
        self.buying.ledger.change(|told| {
            if got == code || or.contains(&got.as_str()) {
                *told.refused.entry(code).or_default() += 1;
            } else {
                let number = self.number;
                told.let_through.push(format!("user {number}: {} {got} for {code}", answer.status));
            }
        });
        Some(answer)
    }

    /// From the door to the end.
    async fn visit(&mut self) {
        let Some(place) = self.enter_at_opening().await else { return };
        let Some(ticket) = self.wait(place).await else { return };
        let Some(pass) = self.take_pass(&ticket).await else { return };
        self.look_around(&pass).await;
        let Some(hold) = self.hold(&pass).await else { return };
        self.end(&pass, hold).await;
    }

    async fn sleep_until(&self, time: Instant) {
        self.stop.sleep(time.saturating_duration_since(Instant::now())).await;
    }

    async fn enter_at_opening(&mut self) -> Option<Place> {
        let opens_at = self.plan().opens_at;
        if self.intent.is_early {
            self.sleep_until(opens_at - EARLY).await;
            if let Some(place) = self.enter().await {
                return Some(place);
            }
        }
        self.sleep_until(opens_at).await;
        while !self.stop.is_set() {
            if let Some(place) = self.enter().await {
                return Some(place);
            }
            self.stop.sleep(KNOCK_AGAIN).await;
        }
        None
    }

    /// Enters the queue, or is refused because it is too early.
    async fn enter(&self) -> Option<Place> {
        let (opens_at, sent) = (self.plan().opens_at, Instant::now());
        let path = self.plan().path("queue");
        let answer = self.send(&self.request("enter-queue", Method::POST, path)).await?;
        let is_early = Instant::now() < opens_at;
        self.buying.ledger.change(|told| {
            let number = self.number;
            if answer.is_success() && is_early {
                told.mistimed.push(format!("user {number} was let in before the opening"));
            } else if !answer.is_success() && sent >= opens_at + ON_TIME {
                told.mistimed.push(format!("user {number} was refused after the opening"));
            } else if !answer.is_success() {
                told.early += 1;
            }
        });
        self.read("enter-queue", Some(&answer))
    }

    /// Polls as told until the turn has come: the ticket then.
    async fn wait(&mut self, mut place: Place) -> Option<String> {
        let mut looks = 0_u32;
        while !place.admitted && !self.stop.is_set() {
            self.stop.sleep(Duration::from_millis(place.poll_after_ms)).await;
            if looks == 0 {
                if self.intent.leaves_queue {
                    return None;
                }
                if self.intent.sneaks {
                    self.sneak().await;
                }
                if self.intent.enters_again {
                    place = self.enter_again(place.position).await?;
                    looks += 1;
                    continue;
                }
            }
            looks += 1;
            place = self.look(place).await?;
            if self.random.u32(0..LOOKS_PER_PROFILE) == 0 {
                self.look_at_profile().await;
            }
        }
        place.admitted.then_some(place.ticket)
    }

    /// Enters once more: that changes nothing about the place.
    async fn enter_again(&self, was: u64) -> Option<Place> {
        let place = self.enter().await?;
        let (number, is) = (self.number, place.position);
        self.buying.ledger.change(|told| {
            told.positions += 1;
            if is > was {
                told.moved_back.push(format!("user {number}: {is} after {was}, entering again"));
            }
        });
        Some(place)
    }

    async fn look(&self, before: Place) -> Option<Place> {
        let path = self.plan().path("queue");
        let request = self.request("get-position", Method::GET, path);
        let request = request.header("x-queue-ticket", before.ticket.clone());
        let answer = self.send(&request).await;
        if answer.as_ref().is_some_and(|answer| answer.status == 429) {
            return Some(before); // sent again too soon after a failure
        }
        let place: Place = self.read("get-position", answer.as_ref())?;
        let (number, was, is) = (self.number, before.position, place.position);
        self.buying.ledger.change(|told| {
            told.positions += 1;
            if is > was || place.admitted != (is == 0) {
                told.moved_back.push(format!("user {number}: {is} after {was}"));
            }
        });
        Some(place)
    }

    /// Tries to hold a seat without a pass.
    async fn sneak(&mut self) {
        let key = self.key();
        let path = self.plan().path("holds");
        let request = self.request("hold-seats", Method::POST, path).idempotency_key(key);
        let request = request.body(json!({ "seats": ["B1-1-1"] }));
        self.provoke("PASS_REQUIRED", &[], request).await;
    }

    async fn look_at_profile(&self) {
        let request = Request::new("get-me", Method::GET, "/auth/me");
        self.send(&request.token(self.plan().profile(self.number))).await;
    }

    async fn take_pass(&mut self, ticket: &str) -> Option<String> {
        let path = self.plan().path("queue/pass");
        let request = self.request("take-pass", Method::POST, path);
        let answer = self.send(&request.header("x-queue-ticket", ticket)).await;
        let pass: Pass = self.read("take-pass", answer.as_ref())?;
        self.told.pass_at_ms = Some(pass.expires_at.as_millis() - PASS_MS);
        Some(pass.pass)
    }

    async fn look_around(&self, pass: &str) {
        let path = self.plan().path("seat-groups");
        let request = self.request("list-seat-groups", Method::GET, path);
        let answer = self.send(&request.header("x-queue-pass", pass)).await;
        let _: Option<Value> = self.read("list-seat-groups", answer.as_ref());
        self.look_at_profile().await;
    }

    /// Has seats recommended, and holds them. If there are not so many left, one
    /// will do.
    async fn hold(&mut self, pass: &str) -> Option<Hold> {
        let mut wanted = self.intent.seats;
        for _ in 0..CHOICES {
            let (answer, sent) = self.recommend(pass, wanted, self.intent.trusts).await?;
            if answer.code().as_deref() == Some("SOLD_OUT") {
                if wanted == 1 {
                    return None;
                }
                wanted = 1;
                continue;
            }
            let recommended: Recommendation = self.read("recommend-seats", Some(&answer))?;
            if let Some(hold) = recommended.hold {
                return Some(self.held(hold, sent));
            }
            let sent = Instant::now();
            let key = self.key();
            let request = self.request("hold-seats", Method::POST, self.plan().path("holds"));
            let request = request.idempotency_key(key).header("x-queue-pass", pass);
            let request = request.body(json!({ "seats": recommended.seats }));
            let Some(answer) = self.send(&request).await else {
                self.told.has_unknown = true;
                return None;
            };
            if let Some(hold) = self.read("hold-seats", Some(&answer)) {
                return Some(self.held(hold, sent));
            }
        }
        None
    }

    async fn recommend(&mut self, pass: &str, seats: u32, hold: bool) -> Option<(Answer, Instant)> {
        let (key, sent) = (self.key(), Instant::now());
        let path = self.plan().path("recommendations");
        let request = self.request("recommend-seats", Method::POST, path).idempotency_key(key);
        let request = request.header("x-queue-pass", pass);
        let request = request.body(json!({ "seats": seats, "hold": hold }));
        let answer = self.send(&request).await;
        self.told.has_unknown |= hold && answer.is_none();
        answer.map(|answer| (answer, sent))
    }

    /// Notes a hold whose request was sent at `sent`.
    fn held(&mut self, hold: Hold, sent: Instant) -> Hold {
        let now = Instant::now();
        let claim = Claim {
            seats: hold.seats.clone(),
            from: now,
            until: Some(sent + MINUTE),
            over_by: Some(now + MINUTE),
        };
        self.told.claims.push(claim);
        hold
    }

    async fn end(&mut self, pass: &str, hold: Hold) {
        match self.intent.end {
            End::LeavesHold => {}
            End::Releases => {
                let path = format!("/holds/{}", hold.hold_id);
                let request = self.request("release-hold", Method::DELETE, path);
                self.give_back(request.header("x-queue-pass", pass)).await;
            }
            End::Pays | End::WantsMore | End::Cancels | End::LeavesOrder => {
                self.order(pass, hold).await;
            }
        }
    }

    /// Sends a request that frees what the user had last. It is free at the
    /// earliest when that is sent.
    async fn give_back(&mut self, request: Request) -> Option<Answer> {
        if let Some(claim) = self.told.claims.last_mut() {
            claim.until = Some(Instant::now());
        }
        let answer = self.send(&request).await;
        if let Some(claim) = self.told.claims.last_mut()
            && answer.as_ref().is_some_and(Answer::is_success)
        {
            claim.over_by = Some(Instant::now());
        }
        answer
    }

    async fn order(&mut self, pass: &str, hold: Hold) {
        let sent = Instant::now();
        let key = self.key();
        let request = self.request("place-order", Method::POST, "/orders".to_owned());
        let request = request.idempotency_key(key).header("x-queue-pass", pass);
        let body = json!({ "holdId": hold.hold_id });
        let answer = self.send(&request.body(body)).await;
        if let Some(claim) = self.told.claims.last_mut() {
            claim.over_by = Some(Instant::now() + MINUTE);
        }
        let Some(placed) = self.read::<Ordered>("place-order", answer.as_ref()) else {
            self.told.has_unknown |= answer.is_none();
            return;
        };
        if let Some(claim) = self.told.claims.last_mut() {
            claim.until = Some(sent + MINUTE);
        }
        let id = placed.order_id.clone();
        let status = Some("PENDING_PAYMENT");
        self.told.orders.push(Order { id, seats: hold.seats.clone(), status });
        match self.intent.end {
            End::Pays => self.pay(&placed.order_id, hold.amount).await,
            End::WantsMore => {
                self.pay(&placed.order_id, hold.amount).await;
                self.want_more(pass).await;
            }
            End::Cancels => self.cancel(&placed.order_id).await,
            End::LeavesOrder | End::Releases | End::LeavesHold => {}
        }
    }

    async fn pay(&mut self, order_id: &str, amount: u64) {
        let paid_at = self.plan().now();
        let Some(request) = self.plan().payment(order_id, amount, &paid_at) else { return };
        let answer = self.send(&request).await;
        let paid: Option<Ordered> = self.read("pay-order", answer.as_ref());
        let status = paid.and_then(|paid| known(&paid.status));
        if let Some(claim) = self.told.claims.last_mut() {
            match status {
                Some("PAID") => (claim.until, claim.over_by) = (None, None),
                Some(_) => {}
                None => claim.over_by = None, // it may be for ever
            }
        }
        self.note_status(status);
    }

    async fn cancel(&mut self, order_id: &str) {
        let path = format!("/orders/{order_id}");
        let request = self.request("cancel-order", Method::DELETE, path);
        let answer = self.give_back(request).await;
        let is_cancelled = answer.as_ref().is_some_and(Answer::is_success);
        self.note_status(is_cancelled.then_some("CANCELLED"));
    }

    fn note_status(&mut self, status: Option<&'static str>) {
        if let Some(order) = self.told.orders.last_mut() {
            order.status = status;
        }
    }

    /// Wants as many seats as one may have, having some already.
    async fn want_more(&mut self, pass: &str) {
        if !self.told.claims.last().is_some_and(Claim::is_bought) {
            return;
        }
        let key = self.key();
        let path = self.plan().path("recommendations");
        let request = self.request("recommend-seats", Method::POST, path).idempotency_key(key);
        let request = request.header("x-queue-pass", pass);
        let request = request.body(json!({ "seats": MOST_SEATS, "hold": true }));
        let sent = Instant::now();
        let answer = self.provoke("SEAT_LIMIT_EXCEEDED", &["SOLD_OUT"], request).await;
        let got: Option<Recommendation> = self.read("recommend-seats", answer.as_ref());
        if let Some(hold) = got.and_then(|got| got.hold) {
            self.held(hold, sent);
        }
    }
}

/// A status that an order can have after a payment.
fn known(status: &str) -> Option<&'static str> {
    ["PAID", "REFUND_DUE"].into_iter().find(|known| *known == status)
}

#[async_trait]
impl Script for Buying {
    async fn play(&self, caller: &Caller, stop: &Stop) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut random = fastrand::Rng::with_seed(self.seed.wrapping_add(number as u64));
        let intent = Intent::next(&mut random);
        let told = Member::default();
        let mut user = User { buying: self, caller, stop, number, intent, random, keys: 0, told };
        user.visit().await;
        self.ledger.note_member(number, user.told);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::sync::Mutex;

    use futures_util::future::join_all;

    use super::super::claims::given_twice;
    use super::super::ledger::Told;
    use super::super::plan::Shape;
    use super::super::plan::tests::plan;
    use super::*;
    use crate::call::{Call, Lost};

    /// What is wrong with an API.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Flaw {
        Nothing,
        OpensEarly,
        OpensLate,
        MovesBack,
        GivesPlaceAnew,
        AsksNoPass,
        KnowsNoLimit,
        GivesTwice,
    }

    /// Answers after ten milliseconds, as users see it.
    struct Api {
        opens_at: Instant,
        flaw: Flaw,
        state: Mutex<State>,
    }

    #[derive(Default)]
    struct State {
        seats: u32,
        entered: BTreeSet<String>,
        bought: BTreeMap<String, usize>,
        holds: BTreeMap<String, Vec<String>>,
    }

    fn problem(status: u16, code: &str) -> (u16, Value) {
        (status, json!({ "code": code }))
    }

    impl Api {
        fn is_open(&self) -> bool {
            let second = Duration::from_secs(1);
            match self.flaw {
                Flaw::OpensEarly => Instant::now() >= self.opens_at - second,
                Flaw::OpensLate => Instant::now() >= self.opens_at + second,
                _ => Instant::now() >= self.opens_at,
            }
        }

        fn answer(&self, request: &Request) -> (u16, Value) {
            let path = request.path.trim_start_matches("/matches/load-1/");
            let header = |name| {
                let found = request.headers.iter().find(|(it, _)| *it == name);
                found.map(|(_, value)| value.clone()).unwrap_or_default()
            };
            let member = request.token.as_ref().map(|token| (**token).to_owned());
            let member = member.unwrap_or_default();
            let ticket = header("x-queue-ticket");
            let state = &mut *self.state.lock().unwrap();
            match (request.method.as_str(), path) {
                ("POST", "queue") if !self.is_open() => problem(409, "SALE_NOT_OPEN"),
                ("POST", "queue") => {
                    let is_again = !state.entered.insert(member);
                    let is_anew = is_again && self.flaw == Flaw::GivesPlaceAnew;
                    let position = if is_anew { 9 } else { 3 };
                    let ticket = position.to_string();
                    let place =
                        json!({ "ticket": ticket, "position": position, "pollAfterMs": 1_000 });
                    (201, place)
                }
                ("GET", "queue") => self.look(&ticket),
                ("POST", "queue/pass") => {
                    (201, json!({ "pass": "p", "expiresAt": "2030-01-01T01:00:05Z" }))
                }
                ("POST", "holds") if header("x-queue-pass").is_empty() => match self.flaw {
                    Flaw::AsksNoPass => self.hold(state, 1),
                    _ => problem(403, "PASS_REQUIRED"),
                },
                ("POST", "holds") => {
                    let body = request.body.as_ref().unwrap();
                    let seats = body["seats"].as_array().unwrap().len();
                    self.hold(state, seats)
                }
                ("POST", "recommendations") => self.recommend(state, request, &member),
                ("POST", "/orders") => {
                    let body = request.body.as_ref().unwrap();
                    let id = body["holdId"].as_str().unwrap();
                    let seats = state.holds[id].len();
                    *state.bought.entry(member).or_default() += seats;
                    (201, json!({ "orderId": id, "status": "PENDING_PAYMENT" }))
                }
                ("POST", path) if path.ends_with("/payment") => {
                    let body = request.body.as_ref().unwrap();
                    let id = body["paymentId"].as_str().unwrap();
                    (200, json!({ "orderId": id, "status": "PAID" }))
                }
                ("DELETE", _) => (204, Value::Null),
                _ => (200, json!({})),
            }
        }

        fn look(&self, ticket: &str) -> (u16, Value) {
            let position = ticket.parse::<u64>().unwrap() - 1;
            let told = if self.flaw == Flaw::MovesBack && position > 0 { 9 } else { position };
            let ticket = position.to_string();
            let admitted = position == 0;
            (
                200,
                json!({
                    "ticket": ticket,
                    "position": told,
                    "pollAfterMs": 1_000,
                    "admitted": admitted,
                }),
            )
        }

        fn recommend(&self, state: &mut State, request: &Request, member: &str) -> (u16, Value) {
            let body = request.body.as_ref().unwrap();
            let seats = usize::try_from(body["seats"].as_u64().unwrap()).unwrap();
            let bought = state.bought.get(member).copied().unwrap_or_default();
            if bought + seats > 4 && self.flaw != Flaw::KnowsNoLimit {
                return problem(409, "SEAT_LIMIT_EXCEEDED");
            }
            if body["hold"] == true {
                let (status, hold) = self.hold(state, seats);
                return (status, json!({ "seats": hold["seats"], "hold": hold }));
            }
            (200, json!({ "seats": vec!["any"; seats] }))
        }

        fn hold(&self, state: &mut State, seats: usize) -> (u16, Value) {
            let seats: Vec<String> = (0..seats)
                .map(|place| {
                    state.seats += 1;
                    let is_twice = self.flaw == Flaw::GivesTwice && place == 0;
                    if is_twice { "B1-1-1".to_owned() } else { format!("B2-1-{}", state.seats) }
                })
                .collect();
            let id = format!("hold-{}", state.seats);
            state.holds.insert(id.clone(), seats.clone());
            (201, json!({ "holdId": id, "seats": seats, "amount": 10 }))
        }
    }

    #[async_trait]
    impl Call for Api {
        async fn call(&self, request: &Request) -> Result<Answer, Lost> {
            tokio::time::sleep(Duration::from_millis(10)).await;
            let (status, body) = self.answer(request);
            Ok(Answer { status, body: body.to_string().into_bytes() })
        }
    }

    /// What so many users are told.
    async fn play(users: usize, flaw: Flaw) -> (Told, BTreeMap<&'static str, u64>) {
        let plan = Arc::new(plan(users, Shape { seats: 40, rate: 10 }));
        let (ledger, provoked) = (Arc::new(Ledger::default()), Arc::new(Recorder::new().unwrap()));
        let recorder = Arc::new(Recorder::new().unwrap());
        let state = Mutex::new(State::default());
        let api = Api { opens_at: plan.opens_at, flaw, state };
        let caller = Caller::new(Arc::new(api), &recorder);
        let (buying, stop) = (Buying::new(&plan, &ledger, &provoked, 1), Stop::new());
        join_all((0..users).map(|_| buying.play(&caller, &stop))).await;
        (ledger.told(), recorder.samples().operations)
    }

    #[tokio::test(start_paused = true)]
    async fn users_do_everything_and_find_nothing_wrong() {
        let (told, operations) = play(400, Flaw::Nothing).await;
        assert!(told.flaws.is_empty() && told.moved_back.is_empty(), "{told:?}");
        assert!(told.mistimed.is_empty() && told.let_through.is_empty(), "{told:?}");
        assert_eq!(told.members.len(), 400);
        assert!(told.early > 5, "{}", told.early);
        let refused: Vec<_> = told.refused.keys().copied().collect();
        assert_eq!(refused, ["PASS_REQUIRED", "SEAT_LIMIT_EXCEEDED"]);
        for operation in ["get-me", "release-hold", "cancel-order", "pay-order", "hold-seats"] {
            assert!(operations.get(operation).is_some_and(|count| *count > 5), "{operation}");
        }
        let claims: Vec<&Claim> = told.members.values().flat_map(|it| &it.claims).collect();
        let bought = claims.iter().filter(|claim| claim.is_bought()).count();
        assert!((220..340).contains(&bought) && claims.len() > bought + 40, "{bought}");
        assert_eq!(given_twice(claims.iter().map(|claim| (0, *claim))), Vec::<String>::new());
        let admitted = told.members.values().filter(|it| it.pass_at_ms == Some(1_893_456_005_000));
        assert!(admitted.count() > 350);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_wrong_is_noticed() {
        for (flaw, noticed) in [
            (Flaw::OpensEarly, (|told: &Told| !told.mistimed.is_empty()) as fn(&Told) -> bool),
            (Flaw::OpensLate, |told| !told.mistimed.is_empty()),
            (Flaw::MovesBack, |told| !told.moved_back.is_empty()),
            (Flaw::GivesPlaceAnew, |told| !told.moved_back.is_empty()),
            (Flaw::AsksNoPass, |told| !told.let_through.is_empty()),
            (Flaw::KnowsNoLimit, |told| !told.let_through.is_empty()),
            (Flaw::GivesTwice, |told| {
                let claims = told.members.iter();
                let claims = claims.flat_map(|(user, it)| it.claims.iter().map(|c| (*user, c)));
                !given_twice(claims).is_empty()
            }),
        ] {
            assert!(noticed(&play(100, flaw).await.0), "{flaw:?}");
        }
    }
}
