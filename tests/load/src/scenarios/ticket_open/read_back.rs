//! Reads back what a run left behind, as a member sees it who comes when all is
//! over: how many seats are free, which are not, and everybody's orders. Then that
//! member takes seats that somebody had abandoned.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt, stream};
use http::Method;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::ledger::Told;
use super::plan::{MOST_SEATS, Plan};
use crate::call::Request;
use crate::caller::Caller;
use crate::error::Error;

/// What is read at the same time.
const AT_A_TIME: usize = 20;
/// How often to look whether something is there.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// After so many looks it is taken as it is.
const MOST_LOOKS: u32 = 60;
/// Maps may be remembered for a second.
const MAPS_ARE_REMEMBERED: Duration = Duration::from_millis(1_100);

/// What is there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// Each block's seats.
    pub(crate) groups: Vec<Group>,
    /// Seats that are held.
    pub(crate) held: BTreeSet<String>,
    /// Seats that are sold.
    pub(crate) sold: BTreeSet<String>,
    /// How many seats were listed.
    pub(crate) listed: usize,
    /// Every order of the run: status and seats, by its user and its id.
    pub(crate) orders: BTreeMap<(usize, String), (String, Vec<String>)>,
    /// What came of taking abandoned seats: their number and the answer's status.
    /// `None` if there were none.
    pub(crate) taken_over: Option<(usize, u16)>,
}

/// How many seats of a block are what.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct Group {
    /// All.
    pub(crate) seats: u64,
    /// Held.
    pub(crate) held: u64,
    /// Sold.
    pub(crate) sold: u64,
    /// Free.
    pub(crate) free: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct List<T> {
    items: Vec<T>,
    next_cursor: Option<String>,
}

/// Somebody who comes afterwards.
struct Reader<'a> {
    caller: &'a Caller,
    plan: &'a Plan,
    pass: String,
}

/// Reads it.
pub(crate) async fn read(caller: &Caller, plan: &Plan, told: &Told) -> Result<Seen, Error> {
    let reader = Reader { caller, plan, pass: come_in(caller, plan).await? };
    let orders = reader.orders(told).await?;
    let sold = orders.values().filter(|(status, _)| status == "PAID");
    let sold = sold.map(|(_, seats)| seats.len() as u64).sum();
    let groups = reader.groups(sold).await?;
    let seats: Vec<(String, String)> = stream::iter(Plan::blocks())
        .map(|block| reader.seats(block))
        .buffer_unordered(AT_A_TIME)
        .try_concat()
        .await?;
    let of = |state: &str| -> BTreeSet<String> {
        let such = seats.iter().filter(|(_, is)| is == state);
        such.map(|(seat, _)| seat.clone()).collect()
    };
    let (held, sold, listed) = (of("HELD"), of("SOLD"), seats.len());
    let taken_over = reader.take_over(told, &sold).await?;
    Ok(Seen { groups, held, sold, listed, orders, taken_over })
}

/// A pass, as everybody gets one.
async fn come_in(caller: &Caller, plan: &Plan) -> Result<String, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Place {
        ticket: String,
        poll_after_ms: u64,
        #[serde(default)]
        admitted: bool,
    }
    #[derive(Deserialize)]
    struct Pass {
        pass: String,
    }
    let request = |operation, method, rest: &str| {
        Request::new(operation, method, plan.path(rest)).token(plan.reader())
    };
    let mut place: Place = get(caller, request("enter-queue", Method::POST, "queue")).await?;
    while !place.admitted {
        tokio::time::sleep(Duration::from_millis(place.poll_after_ms)).await;
        let look = request("get-position", Method::GET, "queue");
        place = get(caller, look.header("x-queue-ticket", place.ticket)).await?;
    }
    let take = request("take-pass", Method::POST, "queue/pass");
    let pass: Pass = get(caller, take.header("x-queue-ticket", place.ticket)).await?;
    Ok(pass.pass)
}

impl Reader<'_> {
    fn request(&self, operation: &'static str, method: Method, rest: &str) -> Request {
        let request = Request::new(operation, method, self.plan.path(rest));
        request.token(self.plan.reader()).header("x-queue-pass", self.pass.clone())
    }

    /// The orders of everybody who was told of one or may have one.
    async fn orders(
        &self,
        told: &Told,
    ) -> Result<BTreeMap<(usize, String), (String, Vec<String>)>, Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Order {
            order_id: String,
            status: String,
            seats: Vec<String>,
        }
        let buyers = told.members.iter();
        let buyers = buyers.filter(|(_, it)| !it.claims.is_empty() || it.has_unknown);
        let lists = stream::iter(buyers).map(|(user, _)| async move {
            let request = Request::new("list-orders", Method::GET, "/orders?limit=100");
            let list: List<Order> = get(self.caller, request.token(self.plan.token(*user))).await?;
            let orders = list.items.into_iter();
            let orders = orders.map(|it| ((*user, it.order_id), (it.status, it.seats)));
            Ok::<Vec<_>, Error>(orders.collect())
        });
        let all: Vec<_> = lists.buffer_unordered(AT_A_TIME).try_concat().await?;
        Ok(all.into_iter().collect())
    }

    /// The groups, once they show so many seats as sold.
    async fn groups(&self, sold: u64) -> Result<Vec<Group>, Error> {
        tokio::time::sleep(MAPS_ARE_REMEMBERED).await;
        for _ in 0..MOST_LOOKS {
            let groups = self.groups_now().await?;
            if groups.iter().map(|group| group.sold).sum::<u64>() == sold {
                return Ok(groups);
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        self.groups_now().await
    }

    async fn groups_now(&self) -> Result<Vec<Group>, Error> {
        let request = self.request("list-seat-groups", Method::GET, "seat-groups");
        let list: List<Group> = get(self.caller, request).await?;
        Ok(list.items)
    }

    /// The seats of a block, each with its state.
    async fn seats(&self, block: String) -> Result<Vec<(String, String)>, Error> {
        #[derive(Deserialize)]
        struct Seat {
            seat: String,
            state: String,
        }
        let (mut seats, mut cursor) = (Vec::new(), None);
        loop {
            let from = cursor.map_or_else(String::new, |cursor| format!("&cursor={cursor}"));
            let rest = format!("blocks/{block}/seats?limit=100{from}");
            let list: List<Seat> =
                get(self.caller, self.request("list-seats", Method::GET, &rest)).await?;
            seats.extend(list.items.into_iter().map(|it| (it.seat, it.state)));
            cursor = list.next_cursor;
            if cursor.is_none() {
                return Ok(seats);
            }
        }
    }

    /// Holds seats that somebody had and did not buy.
    async fn take_over(
        &self,
        told: &Told,
        sold: &BTreeSet<String>,
    ) -> Result<Option<(usize, u16)>, Error> {
        let claims = told.members.values().flat_map(|member| &member.claims);
        let left = claims.filter(|claim| !claim.is_bought()).flat_map(|claim| &claim.seats);
        let left: BTreeSet<&String> = left.filter(|seat| !sold.contains(*seat)).collect();
        let seats: Vec<&String> = left.into_iter().take(MOST_SEATS as usize).collect();
        if seats.is_empty() {
            return Ok(None);
        }
        let request = self.request("hold-seats", Method::POST, "holds");
        let request = request.idempotency_key(self.plan.match_id.clone());
        let answer = self.caller.send(&request.body(json!({ "seats": seats }))).await;
        let status = answer.map_or(0, |answer| answer.status);
        Ok(Some((seats.len(), status)))
    }
}

async fn get<T: DeserializeOwned>(caller: &Caller, request: Request) -> Result<T, Error> {
    let answer = caller.insist(&request).await?;
    let operation = request.operation;
    answer.json().map_err(|error| Error::NotAsPromised { operation, error })
}
