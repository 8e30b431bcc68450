//! What users were told: answers of each post, and what is wrong with others.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::call::{Answer, Lost};

/// What all users were told together.
pub(crate) struct Ledger {
    posts: Vec<Counts>,
    pages: AtomicU64,
    flaws: Mutex<Vec<String>>,
}

#[derive(Default)]
struct Counts {
    read: AtomicU64,
    unknown: AtomicU64,
}

/// What was told of one post.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    /// Reads that were answered with it.
    pub(crate) read: u64,
    /// Reads of which nobody knows whether they were counted.
    pub(crate) unknown: u64,
}

impl Ledger {
    /// Of so many posts.
    pub(crate) fn new(posts: usize) -> Self {
        let posts = std::iter::repeat_with(Counts::default).take(posts).collect();
        Self { posts, pages: AtomicU64::new(0), flaws: Mutex::default() }
    }

    /// The post at `place` was asked for.
    pub(crate) fn note_read(&self, place: usize, outcome: &Result<Answer, Lost>) {
        let counts = &self.posts[place];
        match outcome {
            Ok(answer) if answer.is_success() => counts.read.fetch_add(1, Ordering::Relaxed),
            Ok(answer) if !answer.is_server_error() => return,
            Ok(_) | Err(_) => counts.unknown.fetch_add(1, Ordering::Relaxed),
        };
    }

    /// A page of a list was checked.
    pub(crate) fn note_page(&self, flaw: Option<String>) {
        self.pages.fetch_add(1, Ordering::Relaxed);
        flaw.into_iter().for_each(|flaw| self.note_flaw(flaw));
    }

    /// Something that was answered is wrong.
    pub(crate) fn note_flaw(&self, flaw: String) {
        self.flaws.lock().unwrap_or_else(PoisonError::into_inner).push(flaw);
    }

    /// What was told of each post, by its place.
    pub(crate) fn told(&self) -> Vec<Told> {
        let posts = self.posts.iter().map(|counts| Told {
            read: counts.read.load(Ordering::Relaxed),
            unknown: counts.unknown.load(Ordering::Relaxed),
        });
        posts.collect()
    }

    /// How many pages were checked, and what is wrong with them and with posts.
    pub(crate) fn pages(&self) -> (u64, Vec<String>) {
        let flaws = self.flaws.lock().unwrap_or_else(PoisonError::into_inner).clone();
        (self.pages.load(Ordering::Relaxed), flaws)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_post_that_came_is_a_view_and_nobody_knows_of_failures() {
        let ledger = Ledger::new(2);
        for status in [200, 200, 404, 500, 503] {
            ledger.note_read(1, &Ok(Answer { status, body: Vec::new() }));
        }
        ledger.note_read(1, &Err(Lost("reset".into())));
        assert_eq!(ledger.told(), [Told::default(), Told { read: 2, unknown: 3 }]);
    }

    #[test]
    fn pages_are_counted_whether_or_not_they_have_a_flaw() {
        let ledger = Ledger::new(0);
        ledger.note_page(None);
        ledger.note_page(Some("short".into()));
        assert_eq!(ledger.pages(), (2, vec!["short".to_owned()]));
    }
}
