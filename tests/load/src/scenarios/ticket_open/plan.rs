//! The match of a run, who wants seats of it, and what each of them does.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use platform::auth::Role;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::call::Request;
use crate::caller::Caller;
use crate::cloud::Cloud;
use crate::error::Error;
use crate::users::STARTED_PER_SECOND;

/// Blocks of the match.
const BLOCKS: u32 = 40;
/// Sections that they belong to, each of a grade of its own.
const SECTIONS: [&str; 4] = ["North", "South", "East", "West"];
/// The most seats of a row.
const ROW: u32 = 20;
/// The most seats that one member may have.
pub(crate) const MOST_SEATS: u32 = 4;
/// How long a hold lasts, and how long an order may stay unpaid.
pub(crate) const MINUTE: Duration = Duration::from_secs(60);
/// How long a pass is good for, in milliseconds.
pub(crate) const PASS_MS: i64 = 60 * 60_000;
/// The shortest time between the first user at the door and the opening.
const DOOR: Duration = Duration::from_secs(5);
/// Members who really signed up: each takes a password hash. Users share them to
/// look at who they are.
const PROFILES: usize = 20;

/// How large a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Seats of the match.
    pub(crate) seats: u32,
    /// Members who are admitted each second.
    pub(crate) rate: u32,
}

impl Shape {
    /// The fewest and the most seats: there are so many blocks, each with one
    /// seat or more.
    pub(crate) const SEATS: std::ops::RangeInclusive<u32> = BLOCKS..=BLOCKS * 5_000;
}

/// The match of a run, and its users.
pub(crate) struct Plan {
    /// How large it is.
    pub(crate) shape: Shape,
    /// When the sale opens, by the clock of this process.
    pub(crate) opens_at: Instant,
    /// The same, in milliseconds since 1970.
    pub(crate) opens_at_ms: i64,
    /// The match.
    pub(crate) match_id: String,
    members: Vec<Arc<str>>,
    reader: Arc<str>,
    profiles: Vec<Arc<str>>,
    payment_key: Option<String>,
}

/// What a user does, beside waiting for its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Intent {
    /// Tries to enter a second before the sale opens.
    pub(crate) is_early: bool,
    /// Tries to hold a seat while waiting.
    pub(crate) sneaks: bool,
    /// Enters the queue a second time.
    pub(crate) enters_again: bool,
    /// Leaves the queue before the turn comes.
    pub(crate) leaves_queue: bool,
    /// Wants so many seats.
    pub(crate) seats: u32,
    /// Lets the system hold what it recommends.
    pub(crate) trusts: bool,
    /// What becomes of the seats.
    pub(crate) end: End,
}

/// What a user does with seats that are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Orders and pays.
    Pays,
    /// Likewise, and then wants more than allowed.
    WantsMore,
    /// Orders, and cancels the order.
    Cancels,
    /// Orders, and never pays.
    LeavesOrder,
    /// Releases the hold.
    Releases,
    /// Forgets the hold.
    LeavesHold,
}

impl Intent {
    /// What the next user does.
    pub(crate) fn next(random: &mut fastrand::Rng) -> Self {
        let mut one_of = |all: u32| random.u32(0..all) == 0;
        let (is_early, sneaks) = (one_of(20), one_of(20));
        let (enters_again, leaves_queue, trusts) = (one_of(50), one_of(20), one_of(2));
        let end = match random.u32(0..20) {
            0..=12 => End::Pays,
            13 => End::WantsMore,
            14 => End::Cancels,
            15 | 16 => End::LeavesOrder,
            17 => End::Releases,
            _ => End::LeavesHold,
        };
        let seats = random.u32(1..=MOST_SEATS);
        Self { is_early, sneaks, enters_again, leaves_queue, seats, trusts, end }
    }
}

impl Plan {
    /// Puts a match there whose sale opens when everybody is at the door, and
    /// signs up those whom users look at.
    pub(crate) async fn prepare(
        cloud: &Cloud,
        caller: &Caller,
        shape: Shape,
        users: usize,
    ) -> Result<Self, Error> {
        let run = format!("load-{:016x}", fastrand::u64(..));
        let members = (0..users).map(|user| cloud.token(&format!("{run}-{user}"), Role::Member));
        let members = members.collect::<Result<Vec<_>, _>>()?;
        let profiles = sign_up(cloud, caller, &run).await?;
        let arrival = Duration::from_secs((users / STARTED_PER_SECOND) as u64);
        let (now, now_ms) = (Instant::now(), cloud.now().as_millis());
        let lead_ms = i64::try_from((arrival + DOOR).as_millis()).unwrap_or(i64::MAX);
        let opens_at_ms = (now_ms + lead_ms).div_euclid(1_000) * 1_000 + 1_000;
        let opens_in = Duration::from_millis((opens_at_ms - now_ms).unsigned_abs());
        let path = format!("/matches/{run}");
        let put = Request::new("put-match", Method::PUT, path).token(&cloud.staff_token()?);
        caller.insist(&put.body(body(shape, opens_at_ms))).await?;
        Ok(Self {
            shape,
            opens_at: now + opens_in,
            opens_at_ms,
            reader: cloud.token(&format!("{run}-reader"), Role::Member)?,
            match_id: run,
            members,
            profiles,
            payment_key: cloud.payment_key(),
        })
    }

    /// The token of a user.
    pub(crate) fn token(&self, user: usize) -> &Arc<str> {
        &self.members[user]
    }

    /// The token of the member whom a user looks at.
    pub(crate) fn profile(&self, user: usize) -> &Arc<str> {
        &self.profiles[user % self.profiles.len()]
    }

    /// The token of a member who comes afterwards.
    pub(crate) fn reader(&self) -> &Arc<str> {
        &self.reader
    }

    /// The time now, as it is told.
    pub(crate) fn now(&self) -> String {
        let ms = |time: Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
        let (now, opens_at) = (Instant::now(), self.opens_at);
        let after = ms(now.saturating_duration_since(opens_at));
        let before = ms(opens_at.saturating_duration_since(now));
        platform::clock::Instant::from_millis(self.opens_at_ms + after - before).to_string()
    }

    /// A path of the match.
    pub(crate) fn path(&self, rest: &str) -> String {
        format!("/matches/{}/{rest}", self.match_id)
    }

    /// The ids of all blocks.
    pub(crate) fn blocks() -> impl Iterator<Item = String> {
        (1..=BLOCKS).map(|block| format!("B{block}"))
    }

    /// A payment of an order, if there is a key to sign it.
    pub(crate) fn payment(&self, order_id: &str, amount: u64, paid_at: &str) -> Option<Request> {
        let key = self.payment_key.as_ref()?;
        let body = json!({ "paymentId": order_id, "amount": amount, "paidAt": paid_at });
        let signature = ticketing::signature::sign(key, body.to_string().as_bytes());
        let path = format!("/orders/{order_id}/payment");
        let request = Request::new("pay-order", Method::POST, path).body(body);
        Some(request.header(ticketing::signature::HEADER, signature))
    }
}

/// Signs up those whom users look at.
async fn sign_up(cloud: &Cloud, caller: &Caller, run: &str) -> Result<Vec<Arc<str>>, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Member {
        member_id: String,
    }
    let mut profiles = Vec::new();
    for number in 0..PROFILES {
        let request = Request::new("sign-up", Method::POST, "/members")
            .idempotency_key(format!("{run}-{number}"))
            .body(json!({
                "loginId": format!("{run}-{number}"),
                "password": format!("load password {run} {number}"),
                "name": "Load",
            }));
        let answer = caller.insist(&request).await?;
        let member: Member =
            answer.json().map_err(|error| Error::NotAsPromised { operation: "sign-up", error })?;
        profiles.push(cloud.token(&member.member_id, Role::Member)?);
    }
    Ok(profiles)
}

/// The match.
fn body(shape: Shape, opens_at_ms: i64) -> Value {
    let at = |hours: i64| {
        platform::clock::Instant::from_millis(opens_at_ms + hours * 60 * 60_000).to_string()
    };
    let blocks = Plan::blocks().zip(0..).map(|(id, number)| {
        let (rows, seats_per_row) = rows(share(shape.seats, number));
        let grade = number as usize % SECTIONS.len();
        json!({
            "section": SECTIONS[grade],
            "block": id,
            "grade": grade + 1,
            "price": 10_000 - 2_000 * grade,
            "rows": rows,
            "seatsPerRow": seats_per_row,
        })
    });
    json!({
        "home": "Reds",
        "away": "Blues",
        "venue": "Old Ground",
        "startsAt": at(24 * 30),
        "saleOpensAt": at(0),
        "saleClosesAt": at(24),
        "blocks": blocks.collect::<Vec<_>>(),
        "admitPerSecond": shape.rate,
        "passMinutes": PASS_MS / 60_000,
        "holdMinutes": 1,
        "payMinutes": 1,
        "maxSeatsPerMember": MOST_SEATS,
    })
}

/// How many of all seats a block has.
fn share(seats: u32, block: u32) -> u32 {
    seats / BLOCKS + u32::from(block < seats % BLOCKS)
}

/// Rows of so many seats: as long ones as fit exactly.
fn rows(seats: u32) -> (u32, u32) {
    let per_row = (1..=ROW).rev().find(|per_row| seats.is_multiple_of(*per_row)).unwrap_or(1);
    (seats / per_row, per_row)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn plan(users: usize, shape: Shape) -> Plan {
        Plan {
            shape,
            opens_at: Instant::now() + Duration::from_secs(5),
            opens_at_ms: 1_893_456_005_000,
            match_id: "load-1".to_owned(),
            reader: "reader".into(),
            members: (0..users).map(|user| format!("token-{user}").into()).collect(),
            profiles: vec!["profile".into()],
            payment_key: Some("0123456789abcdef0123456789abcdef".to_owned()),
        }
    }

    #[test]
    fn the_blocks_have_all_seats_together() {
        for seats in [40, 41, 79, 8_000, 8_017, 200_000] {
            let body = body(Shape { seats, rate: 1 }, 0);
            let blocks = body["blocks"].as_array().unwrap();
            let number = |block: &Value, name: &str| block[name].as_u64().unwrap();
            let sum: u64 =
                blocks.iter().map(|b| number(b, "rows") * number(b, "seatsPerRow")).sum();
            assert_eq!((blocks.len(), sum), (40, u64::from(seats)));
        }
        assert_eq!(rows(200), (10, 20));
        assert_eq!(rows(7), (1, 7));
    }

    #[test]
    fn most_pay_and_some_do_everything_else() {
        let mut random = fastrand::Rng::with_seed(1);
        let intents: Vec<Intent> = (0..10_000).map(|_| Intent::next(&mut random)).collect();
        let count = |of: &dyn Fn(&Intent) -> bool| intents.iter().filter(|it| of(it)).count();
        assert!((6_200..6_800).contains(&count(&|it| it.end == End::Pays)));
        for end in [End::WantsMore, End::Cancels, End::Releases] {
            assert!((400..600).contains(&count(&|it| it.end == end)), "{end:?}");
        }
        for end in [End::LeavesOrder, End::LeavesHold] {
            assert!((850..1_150).contains(&count(&|it| it.end == end)), "{end:?}");
        }
        assert!((400..600).contains(&count(&|it| it.leaves_queue)));
        assert!((400..600).contains(&count(&|it| it.sneaks)));
        assert!((4_700..5_300).contains(&count(&|it| it.trusts)));
        let seats: u32 = intents.iter().map(|it| it.seats).sum();
        assert!((24_000..26_000).contains(&seats), "two and a half each");
    }
}
