//! What users were told: what each of them marked and checked last, how often
//! each announcement was read, and what is wrong with answers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

/// What all users were told together.
#[derive(Default)]
pub(crate) struct Ledger(Mutex<Told>);

/// What was told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    /// What each user did last.
    pub(crate) members: BTreeMap<usize, Member>,
    /// Reads that were answered with the announcement at a place.
    pub(crate) read: BTreeMap<usize, u64>,
    /// Reads of which nobody knows whether they were counted.
    pub(crate) unread: u64,
    /// When the shared part was built of which homes were answered.
    pub(crate) builds: BTreeSet<String>,
    /// What is wrong with answers.
    pub(crate) flaws: Vec<String>,
}

/// What a user did last with each announcement. `None` after a request of which
/// nobody knows what it did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Member {
    /// Whether it is marked, by its place.
    pub(crate) marked: BTreeMap<usize, Option<bool>>,
    /// What is checked, by its place.
    pub(crate) checked: BTreeMap<usize, Option<Vec<String>>>,
}

impl Member {
    /// The places of what is marked. `None` if nobody knows.
    pub(crate) fn marks(&self) -> Option<BTreeSet<usize>> {
        let known: Option<Vec<(usize, bool)>> =
            self.marked.iter().map(|(place, is_marked)| Some((*place, (*is_marked)?))).collect();
        let marked = known?.into_iter().filter(|(_, is_marked)| *is_marked);
        Some(marked.map(|(place, _)| place).collect())
    }
}

impl Ledger {
    /// Takes what a user did.
    pub(crate) fn note_member(&self, user: usize, member: Member) {
        self.change(|told| told.members.insert(user, member));
    }

    /// The announcement at a place was answered, or nobody knows.
    pub(crate) fn note_read(&self, place: Option<usize>) {
        self.change(|told| match place {
            Some(place) => *told.read.entry(place).or_default() += 1,
            None => told.unread += 1,
        });
    }

    /// A home was answered that was built then.
    pub(crate) fn note_build(&self, built_at: String) {
        self.change(|told| told.builds.insert(built_at));
    }

    /// Something that was answered is wrong.
    pub(crate) fn note_flaw(&self, flaw: String) {
        self.change(|told| told.flaws.push(flaw));
    }

    /// All of it.
    pub(crate) fn told(&self) -> Told {
        self.change(|told| told.clone())
    }

    fn change<T>(&self, change: impl FnOnce(&mut Told) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_known_unless_one_is_not() {
        let marked = [(3, Some(true)), (5, Some(false)), (9, Some(true))];
        let mut member = Member { marked: marked.into(), checked: BTreeMap::new() };
        assert_eq!(member.marks(), Some([3, 9].into()));
        member.marked.insert(5, None);
        assert_eq!(member.marks(), None);
        assert_eq!(Member::default().marks(), Some(BTreeSet::new()));
    }
}
