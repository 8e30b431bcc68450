//! What users were told: who was admitted when, who had which seats, what became
//! of orders, and what is wrong with answers.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::claims::Claim;

/// What all users were told together.
#[derive(Default)]
pub(crate) struct Ledger(Mutex<Told>);

/// What was told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    /// What each user has been told.
    pub(crate) members: BTreeMap<usize, Member>,
    /// Positions that were told, in all.
    pub(crate) positions: u64,
    /// What is wrong with positions.
    pub(crate) moved_back: Vec<String>,
    /// Entries before the opening, or refused after it.
    pub(crate) mistimed: Vec<String>,
    /// Entries that were refused before the opening.
    pub(crate) early: u64,
    /// Requests that had to be refused and were.
    pub(crate) refused: BTreeMap<&'static str, u64>,
    /// Those that were not, or otherwise.
    pub(crate) let_through: Vec<String>,
    /// What else is wrong with answers.
    pub(crate) flaws: Vec<String>,
}

/// What one user was told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Member {
    /// When it was given its pass, by the clock of the server, in milliseconds
    /// since 1970.
    pub(crate) pass_at_ms: Option<i64>,
    /// What it had.
    pub(crate) claims: Vec<Claim>,
    /// Its orders.
    pub(crate) orders: Vec<Order>,
    /// Whether seats may be held of which it was not told.
    pub(crate) has_unknown: bool,
}

/// An order, as its user was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    /// Its id.
    pub(crate) id: String,
    /// Its seats.
    pub(crate) seats: Vec<String>,
    /// Its status by the last answer. `None` if nobody knows.
    pub(crate) status: Option<&'static str>,
}

impl Ledger {
    /// Takes what a user was told.
    pub(crate) fn note_member(&self, user: usize, member: Member) {
        self.change(|told| told.members.insert(user, member));
    }

    /// Changes what was told.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Told) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// All of it.
    pub(crate) fn told(&self) -> Told {
        self.change(|told| told.clone())
    }
}
