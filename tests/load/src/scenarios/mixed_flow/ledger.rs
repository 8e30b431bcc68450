//! What each user was told.

use std::sync::{Mutex, PoisonError};

use serde::Deserialize;

use crate::call::Answer;

/// What one user was told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    /// Whether it was let in.
    pub(crate) got_in: bool,
    /// Its schedules, in the order in which it asked for them.
    pub(crate) schedules: Vec<Told>,
    /// Answers of success that do not say what the contract promises.
    pub(crate) unreadable: u32,
}

/// What a user was told of one schedule.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Told {
    /// Its time slot.
    pub(crate) slot: usize,
    /// Its id, once it was created.
    pub(crate) id: Option<String>,
    /// How often it was updated before the last answer.
    pub(crate) updates: u32,
    /// The version in the last answer.
    pub(crate) version: u64,
    /// Whether the outcome of a write is unknown.
    pub(crate) is_open: bool,
}

/// What an answer says of the schedule that was written.
#[derive(Deserialize)]
struct Written {
    id: String,
    version: u64,
}

impl Log {
    /// A schedule is asked for: until there is an answer, nobody knows.
    pub(crate) fn asks_for(&mut self, slot: usize) {
        self.schedules.push(Told { slot, is_open: true, ..Told::default() });
    }

    /// The last schedule is being updated.
    pub(crate) fn updates(&mut self) {
        if let Some(told) = self.schedules.last_mut() {
            told.is_open = true;
        }
    }

    /// The last request was answered.
    pub(crate) fn is_told(&mut self, answer: &Answer) {
        let Some(told) = self.schedules.last_mut() else { return };
        if !answer.is_success() {
            told.is_open = false;
            return;
        }
        match answer.json::<Written>() {
            Ok(written) if told.id.as_ref().is_none_or(|id| *id == written.id) => {
                told.updates += u32::from(told.id.is_some());
                told.id = Some(written.id);
                told.version = written.version;
                told.is_open = false;
            }
            Ok(_) | Err(_) => self.unreadable += 1,
        }
    }

    /// Writes of unknown outcome.
    pub(crate) fn open(&self) -> u64 {
        self.schedules.iter().filter(|told| told.is_open).count() as u64
    }

    /// The last schedule that was created, for an update. `None` if nobody
    /// knows whether it was, or what it says now.
    pub(crate) fn last(&self) -> Option<&Told> {
        self.schedules.last().filter(|told| told.id.is_some() && !told.is_open)
    }
}

/// What all users were told.
pub(crate) struct Ledger(Vec<Mutex<Log>>);

impl Ledger {
    /// Nobody was told anything.
    pub(crate) fn new(users: usize) -> Self {
        Self((0..users).map(|_| Mutex::default()).collect())
    }

    /// Looks at what a user was told, or adds to it.
    pub(crate) fn with<T>(&self, user: usize, look: impl FnOnce(&mut Log) -> T) -> T {
        look(&mut self.0[user].lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What everybody was told.
    pub(crate) fn logs(&self) -> Vec<Log> {
        (0..self.0.len()).map(|user| self.with(user, |log| log.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, body: &str) -> Answer {
        Answer { status, body: body.into() }
    }

    fn created() -> Log {
        let mut log = Log::default();
        log.asks_for(3);
        log.is_told(&answer(201, r#"{"id": "a", "version": 1}"#));
        log
    }

    #[test]
    fn a_schedule_is_open_until_it_is_answered() {
        let mut log = Log::default();
        log.asks_for(3);
        assert!(log.open() == 1 && log.last().is_none());
        log.is_told(&answer(201, r#"{"id": "a", "version": 1}"#));
        let told = Told { slot: 3, id: Some("a".into()), updates: 0, version: 1, is_open: false };
        assert_eq!(log.last(), Some(&told));
        log.updates();
        assert_eq!(log.last(), None);
        log.is_told(&answer(200, r#"{"id": "a", "version": 2}"#));
        assert_eq!(log.last(), Some(&Told { updates: 1, version: 2, ..told }));
    }

    #[test]
    fn a_refusal_changes_nothing() {
        let mut log = created();
        log.updates();
        log.is_told(&answer(409, r#"{"code": "SCHEDULE_CONFLICT"}"#));
        let last = log.last().unwrap();
        assert_eq!((last.updates, last.version), (0, 1));
        log.asks_for(4);
        log.is_told(&answer(409, "{}"));
        assert!(log.last().is_none() && !log.schedules[1].is_open);
    }

    #[test]
    fn a_success_that_names_nothing_or_something_else_is_counted() {
        let mut log = created();
        log.updates();
        log.is_told(&answer(200, r#"{"id": "b", "version": 2}"#));
        log.is_told(&answer(200, "{}"));
        assert_eq!((log.unreadable, log.schedules[0].is_open), (2, true));
    }
}
