//! Random sequences of everything that can be done with seats, against a model
//! that keeps it all in memory: the same answers, the same orders, and the same
//! seats in the same hands after every step.
//!
//! The sequences come from seeds, so that one that fails can be run again.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use serde_json::{Value, json};
use suites::ticketing::{block, match_with};
use suites::{Answer, World};

const MATCHES: [&str; 2] = ["final", "semi-final"];
const MEMBERS: [&str; 3] = ["a", "b", "c"];
const SEATS: [&str; 7] = ["N-1-1", "N-1-2", "N-1-3", "N-1-4", "S-1-1", "S-1-2", "S-1-3"];
const LIMIT: usize = 3;
const HOLD_MS: i64 = 5 * 60_000;
const PAY_MS: i64 = 10 * 60_000;
const STEPS: usize = 90;

fn price(seat: &str) -> u64 {
    if seat.starts_with('N') { 700 } else { 300 }
}

/// A hold, and the order that came of it.
struct Taken {
    member: usize,
    in_match: usize,
    seats: Vec<&'static str>,
    hold_id: String,
    held_until_ms: i64,
    is_released: bool,
    order: Option<Order>,
}

struct Order {
    id: String,
    status: &'static str,
    pay_by_ms: i64,
    /// The payment, and the status that it was answered with.
    payment: Option<(String, &'static str)>,
}

impl Taken {
    fn amount(&self) -> u64 {
        self.seats.iter().map(|seat| price(seat)).sum()
    }

    fn is_live(&self, now: i64) -> bool {
        match &self.order {
            None => !self.is_released && self.held_until_ms > now,
            Some(order) => order.status == "PENDING_PAYMENT" && order.pay_by_ms > now,
        }
    }

    fn is_paid(&self) -> bool {
        self.order.as_ref().is_some_and(|order| order.status == "PAID")
    }

    /// The id that its seats bear.
    fn bearer(&self) -> String {
        self.order.as_ref().map_or(&self.hold_id, |order| &order.id).clone()
    }
}

#[derive(Default)]
struct Model {
    now: i64,
    all: Vec<Taken>,
    /// Who took a seat of a match last, unless it was given back.
    last: BTreeMap<(usize, &'static str), usize>,
    /// Payments, and which of `all` they were for.
    payments: BTreeMap<String, usize>,
}

/// What a step should be answered with: a status, and a code or a status of the
/// order.
type Expected = (u16, &'static str);

impl Model {
    fn has(&self, in_match: usize, seat: &'static str) -> Option<&Taken> {
        let taken = &self.all[*self.last.get(&(in_match, seat))?];
        (taken.is_live(self.now) || taken.is_paid()).then_some(taken)
    }

    /// The seats that a member has bought, and those that are open.
    fn count(&self, member: usize, in_match: usize) -> (usize, usize) {
        let of = self.all.iter().filter(|t| t.member == member && t.in_match == in_match);
        of.fold((0, 0), |(bought, open), taken| {
            let n = taken.seats.len();
            (
                bought + if taken.is_paid() { n } else { 0 },
                open + if taken.is_live(self.now) { n } else { 0 },
            )
        })
    }

    fn hold(&self, member: usize, in_match: usize, seats: &[&'static str]) -> Expected {
        let (bought, open) = self.count(member, in_match);
        if open > 0 {
            return (409, "HOLD_EXISTS");
        }
        if bought + seats.len() > LIMIT {
            return (409, "SEAT_LIMIT_EXCEEDED");
        }
        let taken = seats.iter().any(|seat| self.has(in_match, seat).is_some());
        if taken { (409, "SEAT_TAKEN") } else { (201, "") }
    }

    fn order(&self, member: usize, at: usize) -> Expected {
        let taken = &self.all[at];
        match &taken.order {
            _ if taken.member != member || taken.is_released => (404, "HOLD_NOT_FOUND"),
            None if taken.held_until_ms <= self.now => (409, "HOLD_LAPSED"),
            None => (201, "PENDING_PAYMENT"),
            Some(order) => match order.status {
                "PENDING_PAYMENT" if order.pay_by_ms <= self.now => (201, "LAPSED"),
                "PENDING_PAYMENT" => (201, "PENDING_PAYMENT"),
                "PAID" => (409, "ORDER_PAID"),
                _ => (409, "ORDER_CANCELLED"),
            },
        }
    }

    fn pay(&mut self, at: usize, payment: &str, amount: u64) -> Expected {
        let taken = &self.all[at];
        let order = taken.order.as_ref().unwrap();
        if taken.amount() != amount {
            return (409, "AMOUNT_MISMATCH");
        }
        match &order.payment {
            Some((id, status)) if id == payment => return (200, status),
            Some(_) => return (409, "ORDER_PAID"),
            None if self.payments.contains_key(payment) => return (409, "PAYMENT_REUSED"),
            None => {}
        }
        let has_seats =
            taken.seats.iter().all(|s| self.last.get(&(taken.in_match, *s)) == Some(&at));
        let (bought, open) = self.count(taken.member, taken.in_match);
        let own = if taken.is_live(self.now) { taken.seats.len() } else { 0 };
        let is_within = bought + open - own + taken.seats.len() <= LIMIT;
        let is_sold = order.status == "PENDING_PAYMENT" && has_seats && is_within;
        let status = if is_sold { "PAID" } else { "REFUND_DUE" };
        self.payments.insert(payment.to_owned(), at);
        let order = self.all[at].order.as_mut().unwrap();
        order.status = status;
        order.payment = Some((payment.to_owned(), status));
        (200, status)
    }

    fn release(&mut self, member: usize, at: usize) -> Expected {
        let taken = &mut self.all[at];
        if taken.member != member || taken.is_released || taken.order.is_some() {
            return (404, "HOLD_NOT_FOUND");
        }
        taken.is_released = true;
        self.free(at);
        (204, "")
    }

    fn cancel(&mut self, member: usize, at: usize) -> Expected {
        let taken = &mut self.all[at];
        if taken.member != member {
            return (404, "ORDER_NOT_FOUND");
        }
        let order = taken.order.as_mut().unwrap();
        order.status = match order.status {
            "PENDING_PAYMENT" => "CANCELLED",
            "PAID" => "REFUND_DUE",
            _ => return (204, ""),
        };
        self.free(at);
        (204, "")
    }

    fn free(&mut self, at: usize) {
        self.last.retain(|_, last| *last != at);
    }

    fn bearers(&self, in_match: usize) -> BTreeMap<String, String> {
        let seats = SEATS.iter().filter_map(|seat| {
            let taken = self.has(in_match, seat)?;
            Some(((*seat).to_owned(), taken.bearer()))
        });
        seats.collect()
    }
}

/// One sequence.
struct Run {
    world: World,
    random: Rng,
    model: Model,
    /// How many of [`MEMBERS`] there are: several, or one alone, whose seats nobody
    /// takes, and who pays and cancels only late.
    members: usize,
    payments: usize,
    /// What happened, to be sure that everything does.
    met: BTreeSet<String>,
}

impl Run {
    async fn start(seed: u64) -> Self {
        let world = World::with_environments(2).await;
        for id in MATCHES {
            let blocks = [block("N", 1, 700, 1, 4), block("S", 2, 300, 1, 3)];
            let body = match_with(&json!({ "blocks": blocks, "maxSeatsPerMember": LIMIT }));
            world.as_staff().put(&format!("/matches/{id}"), body).await.expect(201);
        }
        let (random, met) = (Rng::with_seed(seed), BTreeSet::new());
        let model = Model { now: world.clock.now().as_millis(), ..Model::default() };
        let members = if seed.is_multiple_of(2) { MEMBERS.len() } else { 1 };
        Self { world, random, model, members, payments: 0, met }
    }

    fn any<T>(&mut self, things: &[T]) -> usize {
        self.random.usize(..things.len().max(1))
    }

    /// One of those that were taken, with an order or without: mostly the latest.
    fn some(&mut self, is_ordered: bool) -> Option<usize> {
        let all = self.model.all.iter().enumerate();
        let fit = all.filter(|(_, taken)| taken.order.is_some() == is_ordered);
        let fit: Vec<usize> = fit.map(|(at, _)| at).rev().take(5).collect();
        let at = if self.random.u8(..3) > 0 { 0 } else { self.any(&fit) };
        fit.get(at).copied()
    }

    /// The owner, or now and then somebody else.
    fn who(&mut self, at: usize) -> usize {
        if self.random.u8(..8) == 0 {
            self.random.usize(..self.members)
        } else {
            self.model.all[at].member
        }
    }

    #[track_caller]
    fn check(&mut self, step: &str, answer: &Answer, expected: Expected) {
        let (status, word) = expected;
        assert_eq!(answer.status, status, "{step}: {}, expected {word}", answer.json);
        let field = if status >= 400 { "code" } else { "status" };
        assert_eq!(answer.json[field].as_str().unwrap_or_default(), word, "{step}");
        self.met.insert(format!("{step} {status} {word}"));
    }

    async fn step(&mut self) {
        match self.random.u8(..20) {
            0..6 => self.hold().await,
            6..10 => {
                let is_ordered = self.random.u8(..4) == 0;
                if let Some(at) = self.some(is_ordered) {
                    self.order(at).await;
                }
            }
            10..15 if self.members == 1 => self.hold().await,
            10..13 => {
                if let Some(at) = self.some(true) {
                    self.pay(at).await;
                }
            }
            13..15 => self.cancel().await,
            15..16 => self.release().await,
            _ => {
                let steps = [1, 60_000, HOLD_MS - 1, HOLD_MS, PAY_MS - 1, PAY_MS];
                let ms = steps[self.any(&steps)];
                self.advance(ms);
            }
        }
    }

    fn advance(&mut self, ms: i64) {
        self.world.clock.advance(ms);
        self.model.now += ms;
    }

    async fn hold(&mut self) {
        let (member, in_match) = (self.random.usize(..self.members), self.random.usize(..4) / 3);
        let mut seats = SEATS.to_vec();
        self.random.shuffle(&mut seats);
        seats.truncate([1, 1, 2, 2, 3, 4][self.random.usize(..6)]);
        let expected = self.model.hold(member, in_match, &seats);
        let caller = self.world.admitted(MATCHES[in_match], MEMBERS[member]);
        let answer = caller.hold(MATCHES[in_match], &seats).await;
        self.check("hold", &answer, expected);
        if expected == (409, "SEAT_TAKEN") {
            let taken = seats.iter().filter(|seat| self.model.has(in_match, seat).is_some());
            assert_eq!(answer.json["seats"], json!(taken.collect::<Vec<_>>()));
        }
        if expected.0 != 201 {
            return;
        }
        let at = self.model.all.len();
        self.model.last.extend(seats.iter().map(|seat| ((in_match, *seat), at)));
        let held_until_ms = self.model.now + HOLD_MS;
        let (is_released, order) = (false, None);
        let hold_id = text(&answer.json["holdId"]);
        let taken = Taken { member, in_match, seats, hold_id, held_until_ms, is_released, order };
        assert_eq!(answer.json["amount"], taken.amount());
        self.model.all.push(taken);
        if self.random.bool() {
            self.order(at).await;
        }
    }

    async fn order(&mut self, at: usize) {
        let member = self.who(at);
        let expected = self.model.order(member, at);
        let taken = &self.model.all[at];
        let caller = self.world.admitted(MATCHES[taken.in_match], MEMBERS[member]);
        let answer = caller.order(&taken.hold_id).await;
        self.check("order", &answer, expected);
        if expected.0 != 201 {
            return;
        }
        let id = text(&answer.json["orderId"]);
        let pay_by_ms = self.model.now + PAY_MS;
        let new = || Order { id: id.clone(), status: "PENDING_PAYMENT", pay_by_ms, payment: None };
        let order = self.model.all[at].order.get_or_insert_with(new);
        assert_eq!(order.id, id, "one hold makes one order");
    }

    /// The latest orders that were not paid, in any order.
    fn unpaid(&mut self) -> Vec<usize> {
        let all = self.model.all.iter().enumerate().rev();
        let ordered = all.filter_map(|(at, taken)| Some((at, taken.order.as_ref()?)));
        let unpaid = ordered.filter(|(_, order)| order.payment.is_none()).take(6);
        let mut unpaid: Vec<usize> = unpaid.map(|(at, _)| at).collect();
        self.random.shuffle(&mut unpaid);
        unpaid
    }

    async fn pay(&mut self, at: usize) {
        let taken = &self.model.all[at];
        let order = taken.order.as_ref().unwrap();
        let (id, amount) = (order.id.clone(), taken.amount());
        let own = order.payment.as_ref().map(|(id, _)| id.clone());
        let payment = match (self.random.u8(..8), own) {
            (0..3, Some(payment)) => payment,
            (3, _) if self.payments > 0 => format!("p-{}", self.random.usize(..self.payments)),
            _ => {
                self.payments += 1;
                format!("p-{}", self.payments - 1)
            }
        };
        let amount = if self.random.u8(..8) == 0 { amount + 1 } else { amount };
        let expected = self.model.pay(at, &payment, amount);
        let answer = self.world.pay(&id, &payment, amount).await;
        self.check("pay", &answer, expected);
    }

    async fn cancel(&mut self) {
        let Some(at) = self.some(true) else { return };
        let member = self.who(at);
        let id = self.model.all[at].order.as_ref().unwrap().id.clone();
        let answer = self.world.as_member(MEMBERS[member]).cancel(&id).await;
        let expected = self.model.cancel(member, at);
        self.check("cancel", &answer, expected);
    }

    async fn release(&mut self) {
        let is_ordered = self.random.u8(..4) == 0;
        let Some(at) = self.some(is_ordered) else { return };
        let member = self.who(at);
        let taken = &self.model.all[at];
        let caller = self.world.admitted(MATCHES[taken.in_match], MEMBERS[member]);
        let answer = caller.release(&taken.hold_id).await;
        let expected = self.model.release(member, at);
        self.check("release", &answer, expected);
    }

    /// Everything that can be seen is what the model says.
    async fn compare(&self) {
        for (in_match, id) in MATCHES.iter().enumerate() {
            assert_eq!(self.world.bearers(id).await, self.model.bearers(in_match), "{id}");
        }
        for (member, id) in MEMBERS.iter().enumerate() {
            let of_member = self.model.all.iter().filter(|taken| taken.member == member);
            let expected = of_member.filter_map(|taken| {
                let order = taken.order.as_ref()?;
                let is_over =
                    order.status == "PENDING_PAYMENT" && order.pay_by_ms <= self.model.now;
                let status = if is_over { "LAPSED" } else { order.status };
                Some((order.id.clone(), (status.to_owned(), json!(taken.seats))))
            });
            let listed = self.world.as_member(id).list("/orders", 100).await;
            let listed = listed.into_iter().map(|order| {
                (text(&order["orderId"]), (text(&order["status"]), order["seats"].clone()))
            });
            let expected: BTreeMap<_, _> = expected.collect();
            assert_eq!(listed.collect::<BTreeMap<_, _>>(), expected, "the orders of {id}");
        }
        self.world.assert_seats_sound(LIMIT).await;
    }
}

fn text(json: &Value) -> String {
    json.as_str().expect("text").to_owned()
}

#[tokio::test]
async fn whatever_is_done_seats_are_in_the_hands_that_the_model_says() {
    let mut met = BTreeSet::new();
    for seed in 0..6 {
        let mut run = Run::start(seed).await;
        for step in 0..STEPS {
            run.step().await;
            run.compare().await;
            if step % 30 == 29 {
                // As if nobody came for a while: what is open lapses, and then
                // payments come late.
                run.advance(PAY_MS);
                for at in run.unpaid() {
                    run.pay(at).await;
                    run.compare().await;
                }
                for _ in 0..4 {
                    run.cancel().await;
                    run.compare().await;
                }
            }
        }
        met.append(&mut run.met);
    }
    for outcome in [
        "cancel 204 ",
        "cancel 404 ORDER_NOT_FOUND",
        "hold 201 ",
        "hold 409 HOLD_EXISTS",
        "hold 409 SEAT_LIMIT_EXCEEDED",
        "hold 409 SEAT_TAKEN",
        "order 201 LAPSED",
        "order 201 PENDING_PAYMENT",
        "order 404 HOLD_NOT_FOUND",
        "order 409 HOLD_LAPSED",
        "order 409 ORDER_CANCELLED",
        "order 409 ORDER_PAID",
        "pay 200 PAID",
        "pay 200 REFUND_DUE",
        "pay 409 AMOUNT_MISMATCH",
        "pay 409 ORDER_PAID",
        "pay 409 PAYMENT_REUSED",
        "release 204 ",
        "release 404 HOLD_NOT_FOUND",
    ] {
        assert!(met.contains(outcome), "{outcome:?} never happened");
    }
}
