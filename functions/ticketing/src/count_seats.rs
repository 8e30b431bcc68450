//! Stream → maps: a block's map says what its seats say.
//!
//! Records only tell whose map to make anew: the seats are read from the table,
//! and the map is written if it is the one that was read before them. So a
//! window may come twice, late, in part, or to two instances at once, and the
//! map never goes back.

use std::collections::BTreeMap;

use futures_util::stream::{self, StreamExt};
use platform::events::{Change, Failures};
use platform::table::{Read, Write, WriteError, n};
use platform::{App, Function, Problem};

use crate::ids::{BlockId, MatchId};
use crate::map::Map;
use crate::{TABLE, keys, maps, matches};

/// The function.
pub static FUNCTION: Function = Function::stream("count-seats", |a, c| Box::pin(handle(a, c)));

/// Blocks that are counted at a time.
const AT_ONCE: usize = 16;

/// How often a map is made anew because another instance was faster.
const TRIES: u32 = 5;

async fn handle(app: &App, changes: Vec<Change>) -> Result<Failures, Problem> {
    let work = blocks(&changes).into_iter().map(|((match_id, block), first)| async move {
        let Err(problem) = bring_up_to_date(app, &match_id, &block).await else {
            return Ok(None);
        };
        tracing::warn!(%match_id, %block, cause = problem.cause(), "seats were not counted");
        first.map(Some).ok_or(problem)
    });
    let done: Vec<Result<_, Problem>> =
        stream::iter(work).buffer_unordered(AT_ONCE).collect().await;
    let mut failures = Failures::default();
    for first in done.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().flatten() {
        failures.add(first);
    }
    Ok(failures)
}

/// The blocks that the records tell of, each with the first of its records.
fn blocks(changes: &[Change]) -> BTreeMap<(MatchId, BlockId), Option<String>> {
    let mut blocks = BTreeMap::new();
    for change in changes {
        let Some(block) = change.key("pk").and_then(keys::parse_block_partition) else {
            tracing::error!(record = change.id(), "a record of no seat");
            continue; // it will not become one either
        };
        let first = || change.sequence_number().map(str::to_owned);
        blocks.entry(block).or_insert_with(first);
    }
    blocks
}

async fn bring_up_to_date(app: &App, match_id: &MatchId, id: &BlockId) -> Result<(), Problem> {
    let found = matches::get(app, match_id).await?;
    let Ok(block) = found.block(id) else {
        tracing::error!(%match_id, block = %id, "a seat of no block");
        return Ok(());
    };
    for _ in 0..TRIES {
        // The map is read before the seats: if it is another by the time that it
        // is written, somebody may have seen later seats.
        let item = app.table(TABLE).get(keys::map(match_id, id), Read::Consistent).await?;
        let seen = item.and_then(|item| Map::of(block, &item));
        let seen = seen.unwrap_or_else(|| Map::empty(block));
        let mut next = maps::count(app, match_id, block).await?;
        if next.agrees_with(&seen) {
            return Ok(());
        }
        next.version = seen.version + 1;
        match app.table(TABLE).update(replace(match_id, id, &seen, &next)).await {
            Ok(()) => return Ok(()),
            Err(WriteError::Refused(_)) => {} // another instance, or a lost answer: look again
            Err(error) => return Err(error.into()),
        }
    }
    Err(Problem::busy("the map keeps changing"))
}

/// The write of a map in the place of the one that was seen.
fn replace(match_id: &MatchId, block: &BlockId, seen: &Map, next: &Map) -> Write {
    let update = "SET #version = :version, counted_at_ms = :counted_at_ms, #until = :until";
    let mut write = Write::update(keys::map(match_id, block), update)
        .name("#version", "version")
        .name("#until", "until");
    for (name, value) in next.to_attributes() {
        write = write.bind(&format!(":{name}"), value);
    }
    match seen.version {
        0 => write.when("attribute_not_exists(#version)"),
        version => write.when("#version = :seen").bind(":seen", n(version)),
    }
}
