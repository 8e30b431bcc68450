//! The maps of a match, by way of what the environment remembers of them.
//!
//! They are read once a second, all with one call, and lag the seats by the
//! stream. Who meets a seat that is taken although its map says it is free reads
//! that block's seats themselves, and remembers what it saw until the map tells
//! of a later moment.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::join;
use platform::cache::Cache;
use platform::table::{Item, Key, Query, Read, read, s};
use platform::{App, Problem};

use crate::ids::{BlockId, MatchId, Seat};
use crate::layout::Block;
use crate::map::{Map, Taken};
use crate::matches::Match;
use crate::{TABLE, account, keys};

/// How long maps are remembered, in milliseconds.
const LIFETIME_MS: i64 = 1_000;

/// How long seats that were read themselves are believed rather than an older
/// map, in milliseconds.
const SEEN_LIFETIME_MS: i64 = 5_000;

/// The maps of a match, by block.
pub type Maps = HashMap<BlockId, Arc<Map>>;

struct Known {
    /// Maps as count-seats wrote them.
    read: Cache<MatchId, Arc<Maps>>,
    /// Blocks whose seats this environment has read or taken itself.
    seen: Mutex<HashMap<(MatchId, BlockId), Arc<Map>>>,
}

impl Default for Known {
    fn default() -> Self {
        Self { read: Cache::new(100, LIFETIME_MS), seen: Mutex::default() }
    }
}

/// What is known of every block of a match.
pub async fn get(app: &App, of: &Match) -> Result<Maps, Problem> {
    let (known, now) = (app.memory::<Known>(), app.clock.now());
    let read = match known.read.get(&of.match_id, now) {
        Some(maps) => maps,
        None => {
            let maps = Arc::new(read_maps(app, of).await?);
            known.read.put(of.match_id.clone(), now, Arc::clone(&maps));
            maps
        }
    };
    let mut maps = (*read).clone();
    let mut seen = known.seen.lock().unwrap_or_else(PoisonError::into_inner);
    seen.retain(|_, map| now.as_millis() - map.counted_at_ms < SEEN_LIFETIME_MS);
    for ((match_id, block), map) in seen.iter() {
        let is_later = |read: &Arc<Map>| map.counted_at_ms > read.counted_at_ms;
        if *match_id == of.match_id && maps.get(block).is_none_or(is_later) {
            maps.insert(block.clone(), Arc::clone(map));
        }
    }
    Ok(maps)
}

/// What is known of every block of a match, and what a member did themselves, which
/// no map may know yet.
pub async fn seen_by(app: &App, of: &Match, member_id: &str) -> Result<Maps, Problem> {
    let (maps, own) = join(get(app, of), account::get(app, &of.match_id, member_id)).await;
    let (mut maps, own) = (maps?, own?);
    for block in &of.blocks {
        if let Some(map) = maps.get_mut(&block.block) {
            *map = own.noted_on(map, block, app.clock.now());
        }
    }
    Ok(maps)
}

async fn read_maps(app: &App, of: &Match) -> Result<Maps, Problem> {
    let wanted = of.blocks.iter().map(|block| keys::map(&of.match_id, &block.block));
    let items = app.table(TABLE).batch_get(wanted.collect(), Read::Eventual).await?;
    let items: HashMap<String, Item> =
        items.into_iter().filter_map(|item| Some((Key::of(&item)?.pk, item))).collect();
    let maps = of.blocks.iter().map(|block| {
        let item = items.get(&keys::block_partition(&of.match_id, &block.block));
        let map = item.and_then(|item| Map::of(block, item));
        (block.block.clone(), Arc::new(map.unwrap_or_else(|| Map::empty(block))))
    });
    Ok(maps.collect())
}

/// Reads the seats of a block themselves, and remembers what it saw.
pub async fn look(app: &App, match_id: &MatchId, block: &Block) -> Result<Arc<Map>, Problem> {
    let map = Arc::new(count(app, match_id, block).await?);
    remember(app, match_id, &block.block, &map);
    Ok(map)
}

/// Remembers that `seats` were held just now, until the maps tell it.
pub fn note_held(app: &App, of: &Match, maps: &Maps, seats: &[Seat]) {
    let now = app.clock.now();
    let until_ms = now.plus_millis(i64::from(of.hold_minutes) * 60 * 1000).as_millis();
    let held = Taken { sold: false, held_until_ms: Some(until_ms) };
    for block in &of.blocks {
        let own = || seats.iter().filter(|seat| seat.block == block.block);
        let Some(map) = maps.get(&block.block).filter(|_| own().next().is_some()) else {
            continue;
        };
        let mut map = (**map).clone();
        map.counted_at_ms = now.as_millis();
        for seat in own() {
            map.note(block.place(seat.row, seat.number), &held);
        }
        remember(app, &of.match_id, &block.block, &Arc::new(map));
    }
}

fn remember(app: &App, match_id: &MatchId, block: &BlockId, map: &Arc<Map>) {
    let known = app.memory::<Known>();
    let mut seen = known.seen.lock().unwrap_or_else(PoisonError::into_inner);
    seen.insert((match_id.clone(), block.clone()), Arc::clone(map));
}

/// The map of a block's seats as they are now.
pub async fn count(app: &App, match_id: &MatchId, block: &Block) -> Result<Map, Problem> {
    let mut map = Map::empty(block);
    map.counted_at_ms = app.clock.now().as_millis();
    let query = Query {
        condition: "pk = :pk AND begins_with(sk, :seats)".into(),
        values: vec![
            (":pk", s(keys::block_partition(match_id, &block.block))),
            (":seats", s(keys::SEAT_PREFIX)),
        ],
        limit: block.seats() as usize,
        consistent: true,
        ..Query::default()
    };
    for item in app.table(TABLE).query(query).await? {
        let place = Key::of(&item).and_then(|key| keys::parse_seat(&key.sk));
        let (row, number) = place.ok_or_else(|| Problem::internal("a seat with no place"))?;
        map.note(block.place(row, number), &read::<Taken>(item)?);
    }
    Ok(map)
}
