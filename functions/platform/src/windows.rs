//! Batches of a stream that say only what to look at again.
//!
//! Records of counters are not counts: a batch may come twice, late, in part, or
//! to two instances at once. So a batch is taken as a window on what changed,
//! and what is in the table decides. Each thing is brought up to date by itself;
//! if that fails, the first of its records must come again.

use std::collections::BTreeMap;
use std::fmt::Display;

use futures_util::stream::{self, StreamExt};

use crate::events::{Change, Failures};
use crate::problem::Problem;

/// Things that are brought up to date at a time.
const AT_ONCE: usize = 25;

/// What the records of a batch tell of one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window<T> {
    /// What each of them tells.
    pub told: Vec<T>,
    /// The first of them.
    pub first: Option<String>,
}

/// What the records tell, by the thing that `subject` says they are about.
/// Records of nothing are passed over: they will not become any either.
pub fn windows<I: Ord, T>(
    changes: &[Change],
    subject: impl Fn(&Change) -> Option<(I, T)>,
) -> BTreeMap<I, Window<T>> {
    let mut windows = BTreeMap::new();
    for change in changes {
        let Some((id, tells)) = subject(change) else {
            tracing::error!(record = change.id(), "a record of nothing that counts");
            continue;
        };
        let empty = Window { told: Vec::new(), first: None };
        let window: &mut Window<T> = windows.entry(id).or_insert(empty);
        window.first = window.first.take().or(change.sequence_number().map(str::to_owned));
        window.told.push(tells);
    }
    windows
}

/// Does the work of every window, given its thing, its first record, and what
/// brings it up to date. What must come again.
pub async fn settle<I, F>(
    work: impl IntoIterator<Item = (I, Option<String>, F)>,
) -> Result<Failures, Problem>
where
    I: Display,
    F: Future<Output = Result<(), Problem>>,
{
    let work = work.into_iter().map(|(thing, first, work)| async move {
        let Err(problem) = work.await else { return Ok(None) };
        tracing::warn!(%thing, cause = problem.cause(), "it was not brought up to date");
        first.map(Some).ok_or(problem)
    });
    let work: Vec<_> = work.collect();
    let done: Vec<_> = stream::iter(work).buffer_unordered(AT_ONCE).collect().await;
    let mut failures = Failures::default();
    for first in done.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().flatten() {
        failures.add(first);
    }
    Ok(failures)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn change(number: u32, pk: &str) -> Change {
        Change::from_record(json!({
            "eventID": format!("e-{number}"),
            "dynamodb": { "Keys": { "pk": { "S": pk } }, "SequenceNumber": number.to_string() },
        }))
    }

    fn subject(change: &Change) -> Option<(String, usize)> {
        let (thing, stripe) = change.key("pk")?.split_once('#')?;
        Some((thing.to_owned(), stripe.parse().ok()?))
    }

    #[test]
    fn a_window_holds_what_its_records_tell_and_the_first_of_them() {
        let changes = [change(1, "a#0"), change(2, "b#1"), change(3, "x"), change(4, "a#7")];
        let windows = windows(&changes, subject);
        let window = |told: &[usize], first: &str| Window {
            told: told.to_vec(),
            first: Some(first.to_owned()),
        };
        let expected =
            [("a".to_owned(), window(&[0, 7], "1")), ("b".to_owned(), window(&[1], "2"))];
        assert_eq!(windows, expected.into());
    }

    #[tokio::test]
    async fn only_what_failed_comes_again() {
        let work = [("a", Ok(())), ("b", Err(Problem::busy("x"))), ("c", Ok(()))];
        let work = work.into_iter().map(|(thing, outcome)| {
            (thing, Some(format!("first of {thing}")), std::future::ready(outcome))
        });
        assert_eq!(settle(work).await.unwrap().identifiers(), ["first of b"]);
        let unnamed = [("a", None, std::future::ready(Err(Problem::busy("x"))))];
        assert!(settle(unnamed).await.is_err(), "all of it must come again");
    }
}
