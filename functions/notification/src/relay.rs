//! Stream → queue: every table's changes become events.
//!
//! Records are translated and sent in their order: at most one of a thing's
//! events is on its way at a time, so that a batch that is taken in part never
//! turns two around. The first record that was not sent is reported, and the
//! stream hands over that one and all after it again. What cannot be translated
//! is parked whole among the dead letters and holds nobody up.

use std::collections::HashSet;

use futures_util::future::join_all;
use platform::events::{Change, Event, Failures, Source};
use platform::queue::{BATCH, Entry, Queue, QueueError};
use platform::{App, Function, Problem};

use crate::dead_letter::{Envelope, Parked};
use crate::{DEAD_LETTERS, EVENTS, SOURCES};

/// The function.
pub static FUNCTION: Function = Function::stream("relay", |a, c| Box::pin(relay(a, c, SOURCES)));

/// A record that has something to send.
#[derive(Debug)]
struct Unsent {
    /// Its place in the batch.
    place: usize,
    to: To,
    entry: Entry,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum To {
    Events,
    DeadLetters,
}

/// Sends what `changes` tell by `sources`.
pub async fn relay(
    app: &App,
    changes: Vec<Change>,
    sources: &[Source],
) -> Result<Failures, Problem> {
    let (events, dead_letters) = (app.queue(EVENTS)?, app.queue(DEAD_LETTERS)?);
    let mut unsent = Vec::new();
    for (place, change) in changes.iter().enumerate() {
        unsent.extend(to_send(app, place, change, sources)?);
    }
    while !unsent.is_empty() {
        let (wave, mut later) = first_of_each_group(unsent);
        let mut batches = Vec::new();
        // A record that is parked may be as large as a batch.
        for (to, queue, most) in [(To::Events, events, BATCH), (To::DeadLetters, dead_letters, 1)] {
            let of_queue: Vec<&Unsent> = wave.iter().filter(|unsent| unsent.to == to).collect();
            batches.extend(of_queue.chunks(most).map(|batch| send(queue, batch.to_vec())));
        }
        let mut untaken = None;
        for (unsent, is_final) in join_all(batches).await.into_iter().flatten() {
            let place = unsent.place;
            match is_final && unsent.to == To::Events {
                true => later.push(park(place, &changes[place], "the queue does not take it")?),
                false => untaken = Some(untaken.map_or(place, |first: usize| first.min(place))),
            }
        }
        if let Some(place) = untaken {
            // Whatever else has not been sent yet may stand before it.
            let waiting = later.iter().map(|unsent| unsent.place).min();
            return from(&changes[waiting.map_or(place, |waiting| waiting.min(place))]);
        }
        unsent = later;
    }
    Ok(Failures::default())
}

/// The message that `change` becomes, if any.
fn to_send(
    app: &App,
    place: usize,
    change: &Change,
    sources: &[Source],
) -> Result<Option<Unsent>, Problem> {
    match translate(app, change, sources) {
        Ok(None) => Ok(None),
        Ok(Some(event)) => {
            let record_id = id_of(change)?;
            let envelope = Envelope { record_id: record_id.to_owned(), event };
            let entry = envelope.to_entry(record_id).map_err(Problem::internal)?;
            Ok(Some(Unsent { place, to: To::Events, entry }))
        }
        Err(problem) => {
            park(place, change, problem.cause().unwrap_or("it cannot be read")).map(Some)
        }
    }
}

/// The message that parks `change` among the dead letters, whole.
fn park(place: usize, change: &Change, cause: &str) -> Result<Unsent, Problem> {
    let record_id = id_of(change)?;
    tracing::error!(record_id, cause, "a record is parked among the dead letters");
    let parked = Parked { parked_record: change.record().clone(), cause: cause.to_owned() };
    let entry = parked.to_entry(record_id).map_err(Problem::internal)?;
    Ok(Unsent { place, to: To::DeadLetters, entry })
}

fn id_of(change: &Change) -> Result<&str, Problem> {
    change.id().ok_or_else(|| Problem::internal("a stream record without an id"))
}

/// The event that `change` tells of, if any. An error means that it tells of
/// something, but nobody knows what.
pub fn translate(app: &App, change: &Change, sources: &[Source]) -> Result<Option<Event>, Problem> {
    if change.is_expiry() {
        return Ok(None);
    }
    let source = sources.iter().find(|source| source.is_of(app, change));
    let source = source.ok_or_else(|| Problem::internal("a record of an unknown table"))?;
    (source.translate)(change)
}

/// Those that are first of their group, and those that have to wait for them.
fn first_of_each_group(unsent: Vec<Unsent>) -> (Vec<Unsent>, Vec<Unsent>) {
    let mut groups = HashSet::new();
    unsent.into_iter().partition(|unsent| groups.insert(unsent.entry.group.clone()))
}

/// Sends a batch: what was not taken for certain, and whether it never will be.
async fn send<'u>(queue: Queue<'_>, batch: Vec<&'u Unsent>) -> Vec<(&'u Unsent, bool)> {
    let entries: Vec<Entry> = batch.iter().map(|unsent| unsent.entry.clone()).collect();
    match queue.send(&entries).await {
        Ok(untaken) => {
            let untaken = untaken.into_iter();
            untaken.filter_map(|it| Some((*batch.get(it.place)?, it.is_final))).collect()
        }
        Err(error) => {
            log(&error);
            batch.into_iter().map(|unsent| (unsent, false)).collect()
        }
    }
}

fn log(error: &QueueError) {
    tracing::warn!(%error, "a batch was not sent");
}

/// Everything from `change` on must come again.
fn from(change: &Change) -> Result<Failures, Problem> {
    let number = change.sequence_number();
    let number = number.ok_or_else(|| Problem::internal("a stream record without a number"))?;
    let mut failures = Failures::default();
    failures.add(number);
    Ok(failures)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unsent(place: usize, group: &str) -> Unsent {
        let entry = Entry {
            group: group.to_owned(),
            deduplication_id: place.to_string(),
            body: String::new(),
        };
        Unsent { place, to: To::Events, entry }
    }

    #[test]
    fn a_wave_has_one_of_each_group_and_keeps_the_order() {
        let all = ["a", "b", "a", "c", "b", "a"].iter().enumerate();
        let mut waiting: Vec<Unsent> = all.map(|(place, group)| unsent(place, group)).collect();
        let mut waves = Vec::new();
        while !waiting.is_empty() {
            let (wave, later) = first_of_each_group(waiting);
            waves.push(wave.iter().map(|unsent| unsent.place).collect::<Vec<_>>());
            waiting = later;
        }
        assert_eq!(waves, [vec![0, 1, 3], vec![2, 4], vec![5]]);
    }
}
