//! Seats that a member holds for a while, and the one transaction that takes
//! them: all of them, or none.
//!
//! Nothing is read first. The conditions that fail bring back what they met, and
//! that says why.

use platform::clock::Instant;
use platform::idempotency::Idempotency;
use platform::table::{Item, Patience, Read, Refusals, Write, WriteError, item, read};
use platform::{App, Problem, Reply};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::account::{self, Account};
use crate::ids::{HoldId, MatchId, OrderId, Seat, SeatName};
use crate::matches::Match;
use crate::refusal::Refusal;
use crate::served::served;
use crate::{TABLE, keys, seats};

/// How long a hold is known after its end, in milliseconds: until then a member
/// is told that it is over, and not that there never was one.
pub const KEPT_MS: i64 = 24 * 60 * 60 * 1000;

/// Seats that are held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// Its id.
    pub hold_id: HoldId,
    /// Of which match.
    pub match_id: MatchId,
    /// Which seats.
    pub seats: Vec<Seat>,
    /// What they cost together.
    pub amount: u64,
    /// When it ends.
    pub held_until_ms: i64,
    /// The order that came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order_id: Option<OrderId>,
    /// When it is forgotten.
    pub expires_at_s: i64,
}

/// A hold as JSON.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Hold)]
pub struct View<'a> {
    hold_id: &'a HoldId,
    match_id: &'a MatchId,
    #[schema(value_type = Vec<SeatName>)]
    seats: &'a [Seat],
    amount: u64,
    held_until: Instant,
}

/// A hold in the document's examples.
pub(crate) fn example() -> Value {
    json!({
        "holdId": "01941f29-7c00-7000-8000-0000000000c2",
        "matchId": "final",
        "seats": ["A-1-1", "A-1-2"],
        "amount": 18000,
        "heldUntil": "2030-05-01T09:05:00Z",
    })
}

impl Hold {
    /// A new hold of seats that are there.
    fn new(app: &App, the_match: &Match, seats: &[Seat]) -> Result<Self, Refusal> {
        let until = app.clock.now().plus_millis(i64::from(the_match.hold_minutes) * 60 * 1000);
        Ok(Self {
            hold_id: HoldId::new(app),
            match_id: the_match.match_id.clone(),
            seats: seats.to_vec(),
            amount: the_match.amount(seats)?,
            held_until_ms: until.as_millis(),
            order_id: None,
            expires_at_s: until.plus_millis(KEPT_MS).as_seconds(),
        })
    }

    /// The hold of an item, unless it is forgotten by `now`.
    pub fn known(item: Option<Item>, now: Instant) -> Result<Option<Self>, Problem> {
        let hold: Option<Self> = item.map(read).transpose()?;
        Ok(hold.filter(|hold| hold.expires_at_s > now.as_seconds()))
    }

    /// What clients see.
    pub fn view(&self) -> View<'_> {
        View {
            hold_id: &self.hold_id,
            match_id: &self.match_id,
            seats: &self.seats,
            amount: self.amount,
            held_until: Instant::from_millis(self.held_until_ms),
        }
    }
}

/// Whose seats, of which match.
#[derive(Clone, Copy)]
pub struct Taker<'a> {
    /// Where.
    pub app: &'a App,
    /// The match.
    pub the_match: &'a Match,
    /// Who gets them.
    pub member_id: &'a str,
    /// Keeps the answer if the seats are held, and only then.
    pub idempotency: Option<&'a Idempotency>,
}

/// Why no seat is held.
#[derive(Debug)]
pub enum NotHeld {
    /// Somebody else has these of them. Others may be free.
    Taken(Vec<Seat>),
    /// Other seats would not help.
    Refused(Problem),
}

impl From<NotHeld> for Problem {
    fn from(error: NotHeld) -> Self {
        match error {
            NotHeld::Taken(seats) => Refusal::SeatTaken { seats }.into(),
            NotHeld::Refused(problem) => problem,
        }
    }
}

impl From<Problem> for NotHeld {
    fn from(problem: Problem) -> Self {
        Self::Refused(problem)
    }
}

impl From<Refusal> for NotHeld {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal.into())
    }
}

/// Writes of the transaction, in order: then come the seats, and the kept answer.
const ACCOUNT: usize = 0;
const HOLD: usize = 1;
const FIRST_SEAT: usize = 2;

impl Taker<'_> {
    /// Holds `wanted`, all different, and gives the answer that `answer` makes of
    /// the hold; or the one that this very request got when it was first served.
    ///
    /// `NotHeld::Taken` is definite: nothing is held, and no answer kept.
    pub async fn take(
        &self,
        wanted: &[Seat],
        answer: impl Fn(&Hold) -> Result<Reply, Problem>,
    ) -> Result<Reply, NotHeld> {
        if let Err(refusal) = self.the_match.require_open(self.app.clock.now()) {
            let served = served(self.app, self.idempotency).await?;
            return served.ok_or_else(|| refusal.into());
        }
        let hold = Hold::new(self.app, self.the_match, wanted)?;
        let reply = answer(&hold)?;
        let mut patience = Patience::default();
        loop {
            let now = self.app.clock.now();
            let account = keys::account(&hold.match_id, self.member_id);
            let Some(account) = account::open(account, &hold, self.the_match, now) else {
                return self.refuse_too_many(&hold).await;
            };
            let writes = self.writes(account, &hold, &reply, now)?;
            match self.app.table(TABLE).transact(writes, &mut patience).await {
                Ok(()) => return Ok(reply),
                Err(WriteError::Refused(refusals)) => {
                    if let Some(reply) = self.explain(refusals, &hold, reply.clone(), now)? {
                        return Ok(reply);
                    }
                }
                Err(WriteError::Conflict(_)) => {} // taken only if it ends that way
                Err(error) => return Err(Problem::from(error).into()),
            }
            if !patience.pause(self.app).await {
                return Err(Problem::busy("the seats are contended past the budget").into());
            }
        }
    }

    fn writes(
        &self,
        account: Write,
        hold: &Hold,
        reply: &Reply,
        now: Instant,
    ) -> Result<Vec<Write>, Problem> {
        let until = Instant::from_millis(hold.held_until_ms);
        let mut writes = vec![
            account,
            Write::put(item(keys::hold(self.member_id, &hold.hold_id), hold)?)
                .when("attribute_not_exists(pk)"),
        ];
        let take = |seat| seats::hold(&hold.match_id, seat, &hold.hold_id, until, now);
        writes.extend(hold.seats.iter().map(take));
        if let Some(idempotency) = self.idempotency {
            writes.push(idempotency.write(reply, now)?);
        }
        Ok(writes)
    }

    /// Why conditions failed, by the items that they met; or the answer, if they
    /// met what this request has written. `None` if it is worth another try.
    fn explain(
        &self,
        mut refusals: Refusals,
        hold: &Hold,
        reply: Reply,
        now: Instant,
    ) -> Result<Option<Reply>, NotHeld> {
        if let Some(kept) = refusals.take(FIRST_SEAT + hold.seats.len()) {
            return Ok(self.replay(kept)?);
        }
        if refusals.includes(HOLD) {
            return Ok(Some(reply)); // nobody else has this id: it was sent before, and arrived late
        }
        if let Some(account) = refusals.take(ACCOUNT).flatten() {
            let account: Account = read(account)?;
            return match account.refusal(self.the_match, hold.seats.len(), now) {
                Some(refusal) => Err(refusal.into()),
                None => Err(Problem::internal("an account refused without a reason").into()),
            };
        }
        let places = (FIRST_SEAT..).zip(&hold.seats);
        let taken = places.filter(|(place, _)| refusals.includes(*place));
        Err(NotHeld::Taken(taken.map(|(_, seat)| seat.clone()).collect()))
    }

    /// Refuses more seats than anybody may have, unless something else comes
    /// first. No condition has told, so it is read.
    async fn refuse_too_many(&self, hold: &Hold) -> Result<Reply, NotHeld> {
        let account_key = keys::account(&self.the_match.match_id, self.member_id);
        let kept_key = self.idempotency.map(Idempotency::key);
        let table = self.app.table(TABLE);
        let read_both = table.get_beside(account_key, kept_key, Read::Consistent).await;
        let (account, kept) = read_both.map_err(Problem::from)?;
        if let Some(served) = self.replay(kept)? {
            return Ok(served);
        }
        let account: Account = account.map(read).transpose()?.unwrap_or_default();
        let refusal = account.refusal(self.the_match, hold.seats.len(), self.app.clock.now());
        Err(refusal.unwrap_or(Refusal::SeatLimitExceeded { left: 0 }).into())
    }

    fn replay(&self, kept: Option<Item>) -> Result<Option<Reply>, Problem> {
        match (self.idempotency, kept) {
            (Some(idempotency), Some(kept)) => idempotency.replay(kept, self.app.clock.now()),
            _ => Ok(None),
        }
    }
}
