//! A match as the table keeps it and as clients see it, and reading one by way
//! of what the environment remembers.
//!
//! Everything about a sale that the clock decides is decided here, from the
//! match and the time: no job opens or closes anything.

use std::sync::Arc;

use platform::cache::Cache;
use platform::clock::Instant;
use platform::table::{Item, Read, read};
use platform::{App, Problem};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::ids::{BlockId, MatchId, Seat};
use crate::layout::Block;
use crate::refusal::Refusal;
use crate::turns::Pace;
use crate::{TABLE, keys};

/// How long an environment may go on with a match that it has read, in
/// milliseconds.
pub const LIFETIME_MS: i64 = 5_000;

/// The longest that one run of a function takes: the timeout in the template,
/// in milliseconds.
pub const TIMEOUT_MS: i64 = 15_000;

/// After so many milliseconds no run of any function goes by an older match.
pub const SETTLED_MS: i64 = LIFETIME_MS + TIMEOUT_MS;

/// The fewest lanes of a queue, and the most. A lane takes a thousand entries a
/// second, so four take what a new table does.
const LANES: (u32, u32) = (4, 16);

/// So many are admitted each second by a lane of a queue with more than the fewest:
/// the fewer lanes there are, the more evenly they fill.
const RATE_OF_LANE: u32 = 5;

/// How many lanes the queue of a match has: never more than it admits each second,
/// so that each of them does.
pub fn lanes(admit_per_second: u32) -> u32 {
    let (fewest, most) = LANES;
    (admit_per_second / RATE_OF_LANE).clamp(fewest, most).min(admit_per_second)
}

/// A match.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Match {
    /// Its id.
    pub match_id: MatchId,
    /// Who plays at home.
    pub home: String,
    /// Who visits.
    pub away: String,
    /// Where.
    pub venue: String,
    /// When it starts.
    pub starts_at_ms: i64,
    /// When its sale opens.
    pub sale_opens_at_ms: i64,
    /// When its sale closes.
    pub sale_closes_at_ms: i64,
    /// Its seats.
    pub blocks: Vec<Block>,
    /// Members who are admitted to the sale each second.
    pub admit_per_second: u32,
    /// Lanes of its queue.
    pub lanes: u32,
    /// The rates that it had on sale and has, if that has changed.
    #[serde(default)]
    pub paces: Vec<Pace>,
    /// How long a pass is good for.
    pub pass_minutes: u32,
    /// How long seats are held.
    pub hold_minutes: u32,
    /// How long an order may stay unpaid.
    pub pay_minutes: u32,
    /// Seats that one member may hold, have ordered and have bought together.
    pub max_seats_per_member: u32,
    /// Counts changes.
    pub version: u64,
}

/// What the clock says about a sale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SaleStatus {
    /// It opens later.
    Upcoming,
    /// It is going on.
    Open,
    /// It is over.
    Closed,
}

/// The status of a sale at `now`: open from its opening to just before its
/// closing.
pub fn sale_status(opens_at_ms: i64, closes_at_ms: i64, now: Instant) -> SaleStatus {
    match now.as_millis() {
        now_ms if now_ms < opens_at_ms => SaleStatus::Upcoming,
        now_ms if now_ms < closes_at_ms => SaleStatus::Open,
        _ => SaleStatus::Closed,
    }
}

impl Match {
    /// The item, with its key and its place in the list.
    pub fn to_item(&self) -> Result<Item, Problem> {
        let mut item = platform::table::item(keys::match_(&self.match_id), self)?;
        item.extend(keys::listed(self.starts_at_ms, &self.match_id));
        Ok(item)
    }

    /// The status of its sale.
    pub fn sale_status(&self, now: Instant) -> SaleStatus {
        sale_status(self.sale_opens_at_ms, self.sale_closes_at_ms, now)
    }

    /// Refuses whatever needs an open sale while it is not.
    pub fn require_open(&self, now: Instant) -> Result<(), Refusal> {
        match self.sale_status(now) {
            SaleStatus::Open => Ok(()),
            SaleStatus::Upcoming => {
                let opens_at = Instant::from_millis(self.sale_opens_at_ms);
                Err(Refusal::SaleNotOpen { opens_at, now })
            }
            SaleStatus::Closed => {
                let closed_at = Instant::from_millis(self.sale_closes_at_ms);
                Err(Refusal::SaleClosed { closed_at, now })
            }
        }
    }

    /// A block of it.
    pub fn block(&self, id: &BlockId) -> Result<&Block, Refusal> {
        self.blocks.iter().find(|block| block.block == *id).ok_or(Refusal::BlockNotFound)
    }

    /// The block of a seat, which is there.
    pub fn block_of(&self, seat: &Seat) -> Result<&Block, Refusal> {
        let block = self.blocks.iter().find(|block| block.block == seat.block);
        let block = block.filter(|block| block.has(seat));
        block.ok_or_else(|| Refusal::SeatNotFound { seat: seat.clone() })
    }

    /// What `seats` cost together, all of them being there.
    pub fn amount(&self, seats: &[Seat]) -> Result<u64, Refusal> {
        seats.iter().map(|seat| Ok(self.block_of(seat)?.price)).sum()
    }
}

/// Matches that this environment has read.
struct Known(Cache<MatchId, Arc<Match>>);

impl Default for Known {
    fn default() -> Self {
        Self(Cache::new(1_000, LIFETIME_MS))
    }
}

/// A match, at most [`LIFETIME_MS`] old.
pub async fn get(app: &App, id: &MatchId) -> Result<Arc<Match>, Problem> {
    match app.memory::<Known>().0.get(id, app.clock.now()) {
        Some(found) => Ok(found),
        None => get_fresh(app, id).await?.ok_or_else(|| Refusal::MatchNotFound.into()),
    }
}

/// A match as it is now.
pub async fn get_fresh(app: &App, id: &MatchId) -> Result<Option<Arc<Match>>, Problem> {
    let now = app.clock.now();
    let item = app.table(TABLE).get(keys::match_(id), Read::Consistent).await?;
    let found: Option<Arc<Match>> = item.map(read).transpose()?.map(Arc::new);
    if let Some(found) = &found {
        app.memory::<Known>().0.put(id.clone(), now, Arc::clone(found));
    }
    Ok(found)
}

/// What a list shows of a match: all but its blocks and rules.
#[derive(Clone, Debug, Deserialize)]
pub struct Entry {
    /// Its id.
    pub match_id: MatchId,
    home: String,
    away: String,
    venue: String,
    /// When it starts.
    pub starts_at_ms: i64,
    sale_opens_at_ms: i64,
    sale_closes_at_ms: i64,
}

/// A match in a list as JSON.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MatchEntry)]
pub struct EntryView {
    match_id: MatchId,
    home: String,
    away: String,
    venue: String,
    starts_at: Instant,
    sale_opens_at: Instant,
    sale_closes_at: Instant,
    sale_status: SaleStatus,
}

/// A match in a list, in the document's examples.
pub(crate) fn entry_example() -> Value {
    json!({
        "matchId": "final",
        "home": "Reds",
        "away": "Blues",
        "venue": "City Stadium",
        "startsAt": "2030-06-01T18:00:00Z",
        "saleOpensAt": "2030-05-01T09:00:00Z",
        "saleClosesAt": "2030-06-01T17:00:00Z",
        "saleStatus": "OPEN",
    })
}

/// What staff say of a match, in the document's examples.
pub(crate) fn wanted_example() -> Value {
    json!({
        "home": "Reds",
        "away": "Blues",
        "venue": "City Stadium",
        "startsAt": "2030-06-01T18:00:00Z",
        "saleOpensAt": "2030-05-01T09:00:00Z",
        "saleClosesAt": "2030-06-01T17:00:00Z",
        "blocks": [{
            "section": "North", "block": "A", "grade": 1, "price": 9000,
            "rows": 10, "seatsPerRow": 20,
        }],
        "admitPerSecond": 100,
        "passMinutes": 15,
        "holdMinutes": 5,
        "payMinutes": 10,
        "maxSeatsPerMember": 4,
    })
}

/// A match in the document's examples.
pub(crate) fn example() -> Value {
    let mut example = wanted_example();
    example["matchId"] = json!("final");
    example["saleStatus"] = json!("OPEN");
    example["version"] = json!(3);
    example
}

impl Entry {
    /// What clients see at `now`.
    pub fn view(&self, now: Instant) -> EntryView {
        EntryView {
            match_id: self.match_id.clone(),
            home: self.home.clone(),
            away: self.away.clone(),
            venue: self.venue.clone(),
            starts_at: Instant::from_millis(self.starts_at_ms),
            sale_opens_at: Instant::from_millis(self.sale_opens_at_ms),
            sale_closes_at: Instant::from_millis(self.sale_closes_at_ms),
            sale_status: sale_status(self.sale_opens_at_ms, self.sale_closes_at_ms, now),
        }
    }
}

/// A match as JSON.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MatchView {
    #[serde(flatten)]
    entry: EntryView,
    blocks: Vec<Block>,
    admit_per_second: u32,
    pass_minutes: u32,
    hold_minutes: u32,
    pay_minutes: u32,
    max_seats_per_member: u32,
    version: u64,
}

impl Match {
    /// What clients see at `now`.
    pub fn view(&self, now: Instant) -> MatchView {
        let entry = Entry {
            match_id: self.match_id.clone(),
            home: self.home.clone(),
            away: self.away.clone(),
            venue: self.venue.clone(),
            starts_at_ms: self.starts_at_ms,
            sale_opens_at_ms: self.sale_opens_at_ms,
            sale_closes_at_ms: self.sale_closes_at_ms,
        };
        MatchView {
            entry: entry.view(now),
            blocks: self.blocks.clone(),
            admit_per_second: self.admit_per_second,
            pass_minutes: self.pass_minutes,
            hold_minutes: self.hold_minutes,
            pay_minutes: self.pay_minutes,
            max_seats_per_member: self.max_seats_per_member,
            version: self.version,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::layout::tests::block;

    pub(crate) fn a_match() -> Match {
        Match {
            match_id: "final".parse().unwrap(),
            home: "Reds".into(),
            away: "Blues".into(),
            venue: "Old Ground".into(),
            starts_at_ms: 9_000_000,
            sale_opens_at_ms: 1_000_000,
            sale_closes_at_ms: 2_000_000,
            blocks: vec![block("A", 2, 10), block("B", 3, 5)],
            admit_per_second: 100,
            lanes: lanes(100),
            paces: Vec::new(),
            pass_minutes: 10,
            hold_minutes: 5,
            pay_minutes: 10,
            max_seats_per_member: 4,
            version: 1,
        }
    }

    #[test]
    fn a_sale_is_open_from_its_opening_to_just_before_its_closing() {
        let status = |ms| a_match().sale_status(Instant::from_millis(ms));
        assert_eq!(status(999_999), SaleStatus::Upcoming);
        assert_eq!(status(1_000_000), SaleStatus::Open);
        assert_eq!(status(1_999_999), SaleStatus::Open);
        assert_eq!(status(2_000_000), SaleStatus::Closed);
    }

    #[test]
    fn a_queue_has_as_many_lanes_as_its_rate_can_keep_even() {
        let rates = [1, 3, 4, 20, 29, 30, 80, 100_000];
        assert_eq!(rates.map(lanes), [1, 3, 4, 4, 5, 6, 16, 16]);
    }

    #[test]
    fn seats_cost_what_their_block_says() {
        let seats = |names: &[&str]| -> Vec<Seat> {
            names.iter().map(|name| name.parse().unwrap()).collect()
        };
        assert_eq!(a_match().amount(&seats(&["A-1-1", "B-3-5"])).unwrap(), 10_000);
        for not_there in ["A-3-1", "C-1-1"] {
            let refusal = a_match().amount(&seats(&["A-1-1", not_there])).unwrap_err();
            assert!(
                matches!(refusal, Refusal::SeatNotFound { seat } if seat.to_string() == not_there)
            );
        }
    }

    #[test]
    fn a_match_survives_the_table() {
        let item = a_match().to_item().unwrap();
        assert_eq!(read::<Match>(item).unwrap(), a_match());
    }
}
