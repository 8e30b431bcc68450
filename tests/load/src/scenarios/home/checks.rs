//! The invariants of `home`: what users were told against what is there.

use std::collections::BTreeMap;

use super::ledger::Told;
use super::plan::Plan;
use super::read_back::Seen;
use crate::invariants::Invariant;
use crate::record::{Latency, Samples};

/// How many times as long as the median home the slowest of a hundred may take.
const MOST_SPREAD: f64 = 10.0;
/// So many refreshes must have been seen to tell that.
const LEAST_REFRESHES: usize = 3;
/// And so many homes.
const LEAST_HOMES: u64 = 500;

/// What the run knows.
pub(crate) struct Expected<'a> {
    /// Which announcements there are.
    pub(crate) plan: &'a Plan,
    /// What was told.
    pub(crate) told: &'a Told,
    /// Views that the system itself says it may not have counted.
    pub(crate) uncounted: u64,
}

/// Checks all of them.
pub(crate) fn all(expected: &Expected<'_>, seen: &Seen, samples: &Samples) -> Vec<Invariant> {
    let home = samples.latency_by_operation().get("get-home").copied();
    vec![
        no_error(samples),
        counted_is_held(expected, seen),
        held_is_told(expected, seen),
        checklists_are_the_last(expected, seen),
        views_are_reads(expected, seen),
        own_is_seen(expected.told),
        nobody_waits(expected.told, home),
    ]
}

/// Every request was answered with success.
fn no_error(samples: &Samples) -> Invariant {
    let failed = samples.statuses.iter().filter(|(status, _)| !(200..300).contains(*status));
    let mut broken: Vec<String> =
        failed.map(|(status, count)| format!("{count} × {status}")).collect();
    if samples.lost > 0 {
        broken.push(format!("{} without an answer", samples.lost));
    }
    if samples.succeeded() == 0 {
        broken.push("nothing was asked".to_owned());
    }
    Invariant::unless("no error", &broken, format!("{} requests", samples.succeeded()))
}

/// What everybody sees counted is what members have.
fn counted_is_held(expected: &Expected<'_>, seen: &Seen) -> Invariant {
    let mut held: BTreeMap<usize, u64> = BTreeMap::new();
    for place in seen.marks.values().flatten() {
        *held.entry(*place).or_default() += 1;
    }
    let mut broken = Vec::new();
    for place in 0..expected.plan.places() {
        let counted = seen.counts.get(&place).map(|counts| counts.favorites);
        let held = held.get(&place).copied().unwrap_or_default();
        if counted != Some(held) {
            broken.push(format!("announcement {place}: {held} hold it, {counted:?} are counted"));
        }
    }
    let all: u64 = held.values().sum();
    let most = held.values().max().copied().unwrap_or_default();
    let detail = format!("{all} favorites, {most} of one announcement");
    Invariant::unless("favorites counted = favorites held", &broken, detail)
}

/// What members have is what they were told last.
fn held_is_told(expected: &Expected<'_>, seen: &Seen) -> Invariant {
    let (mut broken, mut unknown) = (Vec::new(), 0);
    for (user, member) in &expected.told.members {
        let held = seen.marks.get(user);
        match member.marks() {
            Some(marks) if held == Some(&marks) => {}
            Some(marks) => broken.push(format!("user {user} has {held:?} instead of {marks:?}")),
            None => unknown += 1,
        }
    }
    let detail = format!("{} members, {unknown} of unknown outcome", expected.told.members.len());
    Invariant::unless("favorites held = the last answers", &broken, detail)
}

fn checklists_are_the_last(expected: &Expected<'_>, seen: &Seen) -> Invariant {
    let (mut broken, mut lists) = (Vec::new(), 0);
    for (user, member) in &expected.told.members {
        for (place, checked) in &member.checked {
            let Some(checked) = checked else { continue };
            lists += 1;
            let is = seen.checked.get(&(*user, *place));
            if is != Some(checked) {
                broken.push(format!("user {user}, list {place}: {is:?} instead of {checked:?}"));
            }
        }
    }
    Invariant::unless("checklists equal the last write", &broken, format!("{lists} checklists"))
}

/// Each announcement has as many views as reads of it were answered, but for
/// those of which nobody knows.
fn views_are_reads(expected: &Expected<'_>, seen: &Seen) -> Invariant {
    let Told { read, unread, .. } = expected.told;
    let mut broken = Vec::new();
    for place in 0..expected.plan.places() {
        let views = seen.counts.get(&place).map_or(0, |counts| counts.views);
        let read = read.get(&place).copied().unwrap_or_default();
        if !(read.saturating_sub(expected.uncounted)..=read + unread).contains(&views) {
            broken.push(format!("announcement {place}: {views} views, {read} × 200"));
        }
    }
    let all: u64 = read.values().sum();
    let detail = format!("{all} × 200, {unread} unknown, {} given up", expected.uncounted);
    Invariant::unless("views = reads answered 200", &broken, detail)
}

/// What a user did was in the user's next answer, and nothing of others.
fn own_is_seen(told: &Told) -> Invariant {
    let detail = "homes, announcements and checklists".to_owned();
    Invariant::unless("one's own changes are in one's next answer", &told.flaws, detail)
}

/// Refreshes of home make nobody wait.
fn nobody_waits(told: &Told, home: Option<(u64, Latency)>) -> Invariant {
    const NAME: &str = "home's p99 ÷ p50 is at most 10";
    // The first build was there before.
    let refreshes = told.builds.len().saturating_sub(1);
    let Some((homes, latency)) = home else {
        return Invariant::unchecked(NAME, "nobody opened home");
    };
    let spread = latency.spread();
    let detail = format!("{spread} through {refreshes} refreshes, {homes} homes");
    if refreshes < LEAST_REFRESHES || homes < LEAST_HOMES {
        return Invariant::unchecked(NAME, format!("too short a run: {detail}"));
    }
    Invariant::new(NAME, spread <= MOST_SPREAD, detail)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::ledger::Member;
    use super::super::plan::tests::plan;
    use super::super::read_back::Counts;
    use super::*;
    use crate::call::{Answer, Lost};
    use crate::record::Recorder;

    /// Two users: both have marked 0, the first one also 7; each has a list.
    fn world() -> (Told, Seen) {
        let list = vec!["letter".to_owned()];
        let member = |marks: &[usize]| Member {
            marked: marks.iter().map(|place| (*place, Some(true))).collect(),
            checked: [(3, Some(list.clone()))].into(),
        };
        let told = Told {
            members: [(0, member(&[0, 7])), (1, member(&[0]))].into(),
            read: [(0, 5), (9, 1)].into(),
            builds: ["a", "b", "c", "d"].map(str::to_owned).into(),
            ..Told::default()
        };
        let mut counts: BTreeMap<usize, Counts> =
            (0..plan(2).places()).map(|place| (place, Counts::default())).collect();
        counts.insert(0, Counts { favorites: 2, views: 5 });
        counts.insert(7, Counts { favorites: 1, views: 0 });
        counts.insert(9, Counts { favorites: 0, views: 1 });
        let seen = Seen {
            counts,
            marks: [(0, BTreeSet::from([0, 7])), (1, BTreeSet::from([0]))].into(),
            checked: [((0, 3), list.clone()), ((1, 3), list)].into(),
        };
        (told, seen)
    }

    fn samples(outcomes: &[Result<u16, ()>]) -> Samples {
        let recorder = Recorder::new().unwrap();
        for outcome in outcomes {
            let outcome = match outcome {
                Ok(status) => Ok(Answer { status: *status, body: Vec::new() }),
                Err(()) => Err(Lost("reset".into())),
            };
            recorder.record("get-home", tokio::time::Instant::now(), &outcome);
        }
        recorder.samples()
    }

    /// The names of the invariants that a change breaks.
    fn broken(change: impl FnOnce(&mut Told, &mut Seen)) -> Vec<&'static str> {
        let (mut told, mut seen) = world();
        change(&mut told, &mut seen);
        let plan = plan(2);
        let expected = Expected { plan: &plan, told: &told, uncounted: 0 };
        let checked = all(&expected, &seen, &samples(&[Ok(200)]));
        checked.iter().filter(|it| it.is_broken()).map(|it| it.name).collect()
    }

    #[tokio::test]
    async fn a_world_in_order_breaks_nothing() {
        assert!(broken(|_, _| {}).is_empty());
    }

    #[tokio::test]
    async fn what_is_lost_or_counted_twice_is_noticed() {
        const COUNTED: &str = "favorites counted = favorites held";
        const HELD: &str = "favorites held = the last answers";
        const VIEWS: &str = "views = reads answered 200";
        let count = |seen: &mut Seen, place, favorites, views| {
            seen.counts.insert(place, Counts { favorites, views });
        };
        assert_eq!(broken(|_, seen| count(seen, 0, 3, 5)), [COUNTED]);
        assert_eq!(broken(|_, seen| count(seen, 0, 1, 5)), [COUNTED]);
        assert_eq!(broken(|_, seen| count(seen, 0, 2, 4)), [VIEWS]);
        assert_eq!(broken(|_, seen| count(seen, 50, 0, 1)), [VIEWS]);
        let taken = broken(|_, seen| {
            seen.marks.insert(1, BTreeSet::new());
            count(seen, 0, 1, 5);
        });
        assert_eq!(taken, [HELD]);
        let unknown = broken(|told, seen| {
            told.members.get_mut(&1).unwrap().marked.insert(0, None);
            seen.marks.insert(1, BTreeSet::new());
            count(seen, 0, 1, 5);
        });
        assert!(unknown.is_empty(), "nobody knows: {unknown:?}");
    }

    #[tokio::test]
    async fn another_list_than_the_last_one_is_noticed() {
        const LISTS: &str = "checklists equal the last write";
        let other = broken(|_, seen| {
            seen.checked.insert((1, 3), Vec::new());
        });
        assert_eq!(other, [LISTS]);
        let gone = broken(|_, seen| {
            seen.checked.remove(&(1, 3));
        });
        assert_eq!(gone, [LISTS]);
        let flaw = broken(|told, _| told.flaws.push("home shows nothing".to_owned()));
        assert_eq!(flaw, ["one's own changes are in one's next answer"]);
    }

    #[tokio::test]
    async fn any_error_is_noticed() {
        assert!(!no_error(&samples(&[Ok(200), Ok(204)])).is_broken());
        for bad in [Ok(404), Ok(409), Ok(503), Err(())] {
            assert!(no_error(&samples(&[Ok(200), bad])).is_broken(), "{bad:?}");
        }
        assert!(no_error(&samples(&[])).is_broken(), "a run that asked nothing");
    }

    #[test]
    fn those_who_wait_for_a_refresh_are_noticed_if_there_were_some() {
        let latency = |p99| Latency { p50: 2.0, p95: 3.0, p99, max: 99.0 };
        let held = |refreshes: usize, homes, p99| {
            let builds = (0..=refreshes).map(|n| n.to_string()).collect();
            nobody_waits(&Told { builds, ..Told::default() }, Some((homes, latency(p99)))).held
        };
        assert_eq!(held(3, 500, 20.0), Some(true));
        assert_eq!(held(3, 500, 20.2), Some(false));
        assert_eq!((held(2, 500, 99.0), held(3, 499, 99.0)), (None, None));
    }
}
