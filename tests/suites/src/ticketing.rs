//! Ticketing, spoken in its own words.

use std::collections::{BTreeMap, BTreeSet};

use platform::signed::Signer;
use platform::table::{Item, Key, read};
use serde_json::{Value, json};
use ticketing::account::Account;
use ticketing::hold::Hold;
use ticketing::ids::Seat;
use ticketing::order::{Order, Status};
use ticketing::pass::Pass;
use ticketing::seats::State;
use ticketing::{TABLE, keys, signature};

use crate::{Answer, Caller, World};

/// A match whose sale opened at 2029-12-31 and closes at 2030-06-01: blocks A
/// (grade 1, 5 rows of 10 at 9,000) and B (grade 2, 10 rows of 10 at 5,000); at
/// most 4 seats a member, 10 admissions a second; passes of 30 minutes, holds of
/// 5, and 10 to pay.
pub fn match_body() -> Value {
    json!({
        "home": "Reds",
        "away": "Blues",
        "venue": "Old Ground",
        "startsAt": "2030-06-01T18:00:00Z",
        "saleOpensAt": "2029-12-31T00:00:00Z",
        "saleClosesAt": "2030-06-01T17:00:00Z",
        "blocks": [block("A", 1, 9_000, 5, 10), block("B", 2, 5_000, 10, 10)],
        "admitPerSecond": 10,
        "passMinutes": 30,
        "holdMinutes": 5,
        "payMinutes": 10,
        "maxSeatsPerMember": 4,
    })
}

/// A block in the section that its id begins with.
pub fn block(id: &str, grade: u32, price: u64, rows: u32, seats_per_row: u32) -> Value {
    json!({
        "section": id.chars().next().expect("an id").to_string(),
        "block": id,
        "grade": grade,
        "price": price,
        "rows": rows,
        "seatsPerRow": seats_per_row,
    })
}

/// [`match_body`] with some fields changed.
pub fn match_with(changes: &Value) -> Value {
    let mut body = match_body();
    for (field, value) in changes.as_object().expect("an object") {
        body[field] = value.clone();
    }
    body
}

impl World {
    /// Creates the match `id` with some fields of [`match_body`] changed.
    pub async fn a_match(&self, id: &str, changes: Value) {
        let path = format!("/matches/{id}");
        self.as_staff().put(&path, match_with(&changes)).await.expect(201);
    }

    /// A pass for the match that is good for half an hour, as if the queue had
    /// given it to the member.
    pub fn pass(&self, match_id: &str, member_id: &str) -> String {
        let secret = self.cloud.secret("QUEUE_KEYS");
        let signer = Signer::of(&secret.as_str().into(), "pass").expect("a signer");
        let pass = Pass {
            match_id: match_id.parse().expect("an id"),
            member_id: member_id.to_owned(),
            nonce: "n".to_owned(),
            expires_at_ms: self.clock.now().plus_millis(30 * 60 * 1000).as_millis(),
        };
        signer.write_json(&pass).expect("a pass")
    }

    /// A member who was admitted to the sale of a match.
    pub fn admitted(&self, match_id: &str, member_id: &str) -> Caller<'_> {
        self.as_member(member_id).with("X-Queue-Pass", &self.pass(match_id, member_id))
    }
}

/// Holds and orders, by those who have a pass.
impl Caller<'_> {
    /// `POST /matches/{id}/holds`.
    pub async fn hold<S: AsRef<str>>(&self, match_id: &str, seats: &[S]) -> Answer {
        let seats: Vec<&str> = seats.iter().map(AsRef::as_ref).collect();
        self.post(&format!("/matches/{match_id}/holds"), json!({ "seats": seats })).await
    }

    /// `DELETE /holds/{id}`.
    pub async fn release(&self, hold_id: &str) -> Answer {
        self.delete(&format!("/holds/{hold_id}")).await
    }

    /// `POST /orders`.
    pub async fn order(&self, hold_id: &str) -> Answer {
        self.post("/orders", json!({ "holdId": hold_id })).await
    }

    /// `DELETE /orders/{id}`.
    pub async fn cancel(&self, order_id: &str) -> Answer {
        self.delete(&format!("/orders/{order_id}")).await
    }

    /// Holds seats: the hold's id.
    pub async fn held<S: AsRef<str>>(&self, match_id: &str, seats: &[S]) -> String {
        text(&self.hold(match_id, seats).await.expect(201).json["holdId"])
    }

    /// Holds and orders seats: the order's id.
    pub async fn ordered<S: AsRef<str>>(&self, match_id: &str, seats: &[S]) -> String {
        let hold_id = self.held(match_id, seats).await;
        text(&self.order(&hold_id).await.expect(201).json["orderId"])
    }

    /// The status of an order of the caller.
    pub async fn status(&self, order_id: &str) -> String {
        text(&self.get(&format!("/orders/{order_id}")).await.expect(200).json["status"])
    }
}

fn text(json: &Value) -> String {
    json.as_str().expect("text").to_owned()
}

/// Payments, and what must be true of seats whatever happened.
impl World {
    /// Tells of a payment for an order, as whoever takes payments does.
    pub async fn pay(&self, order_id: &str, payment_id: &str, amount: u64) -> Answer {
        let paid_at = self.clock.now().to_string();
        let body = json!({ "paymentId": payment_id, "amount": amount, "paidAt": paid_at });
        self.pay_with(order_id, &body).await
    }

    /// Tells of a payment with any body, signed.
    pub async fn pay_with(&self, order_id: &str, body: &Value) -> Answer {
        let body = body.to_string();
        let signature = signature::sign(&self.cloud.secret("PAYMENT_KEYS"), body.as_bytes());
        let sender = self.as_nobody().with("X-Signature", &signature);
        sender.send_raw("POST", &format!("/orders/{order_id}/payment"), body).await
    }

    /// Everything in the table, as it is now.
    async fn ticketing(&self) -> Ticketing {
        let mut all = Ticketing::default();
        let mut start = None;
        loop {
            let scan = self.cloud.client().scan().table_name(TABLE.default).consistent_read(true);
            let page = scan.set_exclusive_start_key(start).send().await.expect("the table is read");
            page.items.unwrap_or_default().into_iter().for_each(|item| all.add(item));
            start = page.last_evaluated_key;
            if start.is_none() {
                return all;
            }
        }
    }

    /// Who has which seat of a match now: the id of the hold or of the order.
    pub async fn bearers(&self, match_id: &str) -> BTreeMap<String, String> {
        let (all, now) = (self.ticketing().await, self.clock.now());
        let of_match = all.seats.into_iter().filter(|((id, _), _)| id == match_id);
        let taken = of_match.filter(|(_, state)| !state.is_free(now));
        taken.map(|((_, seat), state)| (seat, bearer(&state))).collect()
    }

    /// Whatever happened: no seat is in two live holds or orders, what is live or
    /// paid has all of its seats, no other seat is taken, and nobody has more than
    /// the limit or two things open.
    pub async fn assert_seats_sound(&self, most_per_member: usize) {
        let (all, now) = (self.ticketing().await, self.clock.now().as_millis());
        let mut expected = BTreeMap::new();
        let mut open: BTreeMap<(String, String), (usize, usize)> = BTreeMap::new();
        let live_holds = all.holds.iter().filter(|(_, h)| h.held_until_ms > now);
        for (member, hold) in live_holds.filter(|(_, hold)| hold.order_id.is_none()) {
            let has = open.entry((hold.match_id.to_string(), member.clone())).or_default();
            *has = (has.0 + 1, has.1 + hold.seats.len());
            for seat in &hold.seats {
                let key = (hold.match_id.to_string(), seat.to_string());
                let before = expected.insert(key, (hold.hold_id.to_string(), false));
                assert_eq!(before, None, "{seat} is had twice");
            }
        }
        let mut bought: BTreeMap<(String, String), BTreeSet<Seat>> = BTreeMap::new();
        for order in &all.orders {
            let is_pending = order.status == Status::PendingPayment && order.pay_by_ms > now;
            let account = (order.match_id.to_string(), order.member_id.clone());
            let has = open.entry(account.clone()).or_default();
            match order.status {
                Status::Paid => bought.entry(account).or_default().extend(order.seats.clone()),
                _ if is_pending => *has = (has.0 + 1, has.1),
                _ => continue,
            }
            has.1 += order.seats.len();
            for seat in &order.seats {
                let key = (order.match_id.to_string(), seat.to_string());
                let before = expected.insert(key, (order.order_id.to_string(), !is_pending));
                assert_eq!(before, None, "{seat} is had twice");
            }
        }
        for (account, (opened, seats)) in &open {
            assert!(*opened <= 1, "{account:?} has {opened} things open");
            assert!(*seats <= most_per_member, "{account:?} has {seats} seats");
        }
        let taken = all.seats.iter().filter(|(_, state)| !state.is_free(self.clock.now()));
        let taken = taken.map(|(key, state)| (key.clone(), (bearer(state), state.sold)));
        assert_eq!(taken.collect::<BTreeMap<_, _>>(), expected);
        for (key, account) in &all.accounts {
            let bought = bought.remove(key).unwrap_or_default();
            assert_eq!(account.bought as usize, bought.len(), "{key:?}");
            assert_eq!(account.bought_seats, bought, "{key:?}");
        }
        assert!(bought.is_empty(), "bought without an account: {bought:?}");
    }
}

fn bearer(state: &State) -> String {
    let hold = state.hold_id.as_ref().map(ToString::to_string);
    let order = state.order_id.as_ref().map(ToString::to_string);
    match (hold, order) {
        (Some(id), None) | (None, Some(id)) => id,
        both => panic!("a seat bears {both:?}"),
    }
}

/// What the table of ticketing holds.
#[derive(Default)]
struct Ticketing {
    seats: BTreeMap<(String, String), State>,
    holds: Vec<(String, Hold)>,
    orders: Vec<Order>,
    accounts: BTreeMap<(String, String), Account>,
}

impl Ticketing {
    fn add(&mut self, item: Item) {
        let Key { pk, sk } = Key::of(&item).expect("a key");
        if let (Some((id, block)), Some((row, number))) =
            (keys::parse_block_partition(&pk), keys::parse_seat(&sk))
        {
            let seat = Seat { block, row, number };
            self.seats.insert((id.to_string(), seat.to_string()), read(item).expect("a seat"));
        } else if sk.starts_with("HOLD#") {
            let member = pk.strip_prefix("MEMBER#").expect("a member");
            self.holds.push((member.to_owned(), read(item).expect("a hold")));
        } else if sk.starts_with("ORDER#") {
            self.orders.push(read(item).expect("an order"));
        } else if sk == "ACCOUNT" {
            let key = pk.strip_prefix("MATCH#").and_then(|rest| rest.split_once("#MEMBER#"));
            let (id, member) = key.expect("a match and a member");
            let key = (id.to_owned(), member.to_owned());
            self.accounts.insert(key, read(item).expect("an account"));
        }
    }
}
