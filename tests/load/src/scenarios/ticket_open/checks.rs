//! The invariants of `ticket-open`: what users were told against what is there.

use std::collections::{BTreeMap, BTreeSet};

use super::claims::{given_twice, most_at_once};
use super::ledger::Told;
use super::plan::{MOST_SEATS, Plan};
use super::read_back::{Group, Seen};
use crate::invariants::Invariant;
use crate::record::{Latency, Samples};

/// How many times as long as the median the slowest of a hundred may take.
const MOST_SPREAD: f64 = 10.0;
/// So many answers must there be to tell that: thousands of users give them. Of a few
/// hundred users the median is an answer of an idle machine, and the opening, when all
/// come at once, is more than one answer in a hundred.
const LEAST_ANSWERS: u64 = 4_000;

/// What the run knows.
pub(crate) struct Expected<'a> {
    /// The match.
    pub(crate) plan: &'a Plan,
    /// What was told.
    pub(crate) told: &'a Told,
    /// Whether the server has the clock of this process.
    pub(crate) is_own: bool,
}

/// Checks what is there.
pub(crate) fn all(expected: &Expected<'_>, seen: &Seen) -> Vec<Invariant> {
    let told = expected.told;
    vec![
        opens_on_time(expected),
        positions_move_forward(told),
        admits_by_the_rate(expected),
        nobody_is_let_through(told),
        no_seat_is_given_twice(told, seen),
        orders_are_as_told(told, seen),
        adds_up(expected, seen),
        sold_is_paid(seen),
        nobody_is_over_the_limit(told, seen),
        abandoned_is_free(told, seen),
        Invariant::unless("answers are as promised", &told.flaws, "all could be read".to_owned()),
    ]
}

/// Checks how they were answered.
pub(crate) fn of_answers(samples: &Samples, provoked: &Samples) -> Vec<Invariant> {
    let latencies = samples.latency_by_operation();
    let of = |operation| latencies.get(operation).copied();
    vec![
        no_failure([samples, provoked]),
        nobody_waits("me: p99 ÷ p50 is at most 10", of("get-me")),
        nobody_waits("seat groups: p99 ÷ p50 is at most 10", of("list-seat-groups")),
    ]
}

fn opens_on_time(expected: &Expected<'_>) -> Invariant {
    const NAME: &str = "the sale opens at its millisecond";
    let Told { mistimed, early, .. } = expected.told;
    if !expected.is_own {
        return Invariant::unchecked(NAME, "the clocks may differ");
    }
    Invariant::unless(NAME, mistimed, format!("{early} came too early and were refused"))
}

fn positions_move_forward(told: &Told) -> Invariant {
    let detail = format!("{} positions were told", told.positions);
    Invariant::unless("positions only move forward", &told.moved_back, detail)
}

/// Since the opening no more were admitted than the rate allows, at any moment.
fn admits_by_the_rate(expected: &Expected<'_>) -> Invariant {
    const NAME: &str = "admitted per second ≤ the rate";
    let Expected { plan, told, .. } = expected;
    let per_second = i64::from(plan.shape.rate);
    let passes = told.members.values().filter_map(|member| member.pass_at_ms);
    let mut after_ms: Vec<i64> = passes.map(|at_ms| at_ms - plan.opens_at_ms).collect();
    after_ms.sort_unstable();
    let broken = (1..).zip(&after_ms).filter(|(admitted, after_ms)| {
        *admitted > after_ms.saturating_mul(per_second).div_euclid(1_000)
    });
    let broken: Vec<String> =
        broken.map(|(admitted, ms)| format!("{admitted} after {ms} ms")).collect();
    let last_s = after_ms.last().map_or(0, |ms| ms / 1_000 + 1);
    let detail = format!("{} in {last_s} s, at most {per_second} a second", after_ms.len());
    Invariant::unless(NAME, &broken, detail)
}

fn nobody_is_let_through(told: &Told) -> Invariant {
    let counts = told.refused.iter().map(|(code, count)| format!("{count} × {code}"));
    let detail = counts.collect::<Vec<_>>().join(", ");
    Invariant::unless("nobody holds without a pass or over the limit", &told.let_through, detail)
}

/// No seat was in two live holds or orders at the same moment, and none is in two
/// paid orders.
fn no_seat_is_given_twice(told: &Told, seen: &Seen) -> Invariant {
    let claims = told.members.iter();
    let claims = claims.flat_map(|(user, it)| it.claims.iter().map(move |claim| (*user, claim)));
    let mut broken = given_twice(claims.clone());
    let mut sold = BTreeSet::new();
    for seat in paid(seen) {
        if !sold.insert(seat) {
            broken.push(format!("{seat}: paid twice"));
        }
    }
    let seats: usize = claims.clone().map(|(_, claim)| claim.seats.len()).sum();
    let detail = format!("{} holds of {seats} seats", claims.count());
    Invariant::unless("no seat is in two live holds or orders", &broken, detail)
}

fn paid(seen: &Seen) -> impl Iterator<Item = &String> {
    let orders = seen.orders.values().filter(|(status, _)| status == "PAID");
    orders.flat_map(|(_, seats)| seats)
}

fn orders_are_as_told(told: &Told, seen: &Seen) -> Invariant {
    let (mut broken, mut counts) = (Vec::new(), BTreeMap::<&str, u64>::new());
    let mut known = BTreeSet::new();
    for (user, member) in &told.members {
        for order in &member.orders {
            let key = (*user, order.id.clone());
            let Some((status, seats)) = seen.orders.get(&key) else {
                broken.push(format!("user {user}: order {} is gone", order.id));
                continue;
            };
            // One that was left is over by now.
            let is_told = order.status.is_none_or(|told| {
                told == status || (told == "PENDING_PAYMENT" && status == "LAPSED")
            });
            if !is_told || *seats != order.seats {
                broken.push(format!("user {user}: {status} of {seats:?}, not {order:?}"));
            }
            *counts.entry(status).or_default() += 1;
            known.insert(key);
        }
        let others = seen.orders.keys().filter(|(of, _)| of == user);
        if !member.has_unknown {
            let others = others.filter(|key| !known.contains(*key));
            broken.extend(others.map(|(_, id)| format!("user {user} has {id}, untold")));
        }
    }
    let counts = counts.iter().map(|(status, count)| format!("{count} × {status}"));
    let detail = counts.collect::<Vec<_>>().join(", ");
    Invariant::unless("orders are what their members were told", &broken, detail)
}

fn adds_up(expected: &Expected<'_>, seen: &Seen) -> Invariant {
    let groups = seen.groups.iter().enumerate();
    let wrong = groups.filter(|(_, it)| it.sold + it.held + it.free != it.seats);
    let mut broken: Vec<String> = wrong.map(|(place, it)| format!("{place}: {it:?}")).collect();
    let sum = |of: fn(&Group) -> u64| seen.groups.iter().map(of).sum::<u64>();
    let (seats, sold, held, free) =
        (sum(|it| it.seats), sum(|it| it.sold), sum(|it| it.held), sum(|it| it.free));
    let all = u64::from(expected.plan.shape.seats);
    if seats != all || seen.listed as u64 != all {
        broken.push(format!("{seats} in groups and {} listed of {all}", seen.listed));
    }
    if sold != seen.sold.len() as u64 || held != seen.held.len() as u64 {
        let (sold_seats, held_seats) = (seen.sold.len(), seen.held.len());
        broken.push(format!("{sold} sold, {held} held; seats: {sold_seats}, {held_seats}"));
    }
    let detail = format!("{sold} sold + {held} held + {free} free = {all}");
    Invariant::unless("sold + held + free = seats", &broken, detail)
}

/// The seats that are sold are those of the orders that are paid.
fn sold_is_paid(seen: &Seen) -> Invariant {
    let paid: BTreeSet<&String> = paid(seen).collect();
    let sold: BTreeSet<&String> = seen.sold.iter().collect();
    let differing: Vec<&&String> = paid.symmetric_difference(&sold).collect();
    Invariant::unless("sold = paid", &differing, format!("{} seats", sold.len()))
}

fn nobody_is_over_the_limit(told: &Told, seen: &Seen) -> Invariant {
    let most = MOST_SEATS as usize;
    let mut broken = Vec::new();
    let mut bought: BTreeMap<usize, usize> = BTreeMap::new();
    for ((user, _), (status, seats)) in &seen.orders {
        if status == "PAID" {
            *bought.entry(*user).or_default() += seats.len();
        }
    }
    for (user, member) in &told.members {
        let at_once = most_at_once(&member.claims);
        let bought = bought.get(user).copied().unwrap_or_default();
        if at_once.max(bought) > most {
            broken.push(format!("user {user}: {at_once} at once, {bought} bought"));
        }
    }
    let detail = format!("at most {most} each, {} members bought", bought.len());
    Invariant::unless("nobody is over the limit", &broken, detail)
}

/// What was left or given back is not held any more, and somebody else can have
/// it. No job has run for that.
fn abandoned_is_free(told: &Told, seen: &Seen) -> Invariant {
    const NAME: &str = "everything abandoned is free when its time is over";
    let mut broken: Vec<String> = seen.held.iter().map(|seat| format!("{seat} is held")).collect();
    let claims = told.members.values().flat_map(|member| &member.claims);
    let left = claims.filter(|claim| !claim.is_bought() && claim.over_by.is_some()).count();
    match seen.taken_over {
        None => return Invariant::unchecked(NAME, "nothing was abandoned that is not sold now"),
        Some((_, 201)) => {}
        Some((seats, status)) => broken.push(format!("{status} for {seats} that were left")),
    }
    Invariant::unless(NAME, &broken, format!("{left} holds and orders were left or given back"))
}

/// The server never failed: not even to say that it is too busy.
fn no_failure<'a>(samples: impl IntoIterator<Item = &'a Samples>) -> Invariant {
    let (mut broken, mut answered) = (Vec::new(), 0);
    for samples in samples {
        let failed = samples.statuses.iter().filter(|(status, _)| **status >= 500);
        broken.extend(failed.map(|(status, count)| format!("{count} × {status}")));
        if samples.lost > 0 {
            broken.push(format!("{} without an answer", samples.lost));
        }
        answered += samples.answered();
    }
    Invariant::unless("no 5xx", &broken, format!("{answered} answers"))
}

fn nobody_waits(name: &'static str, answers: Option<(u64, Latency)>) -> Invariant {
    let Some((count, latency)) = answers.filter(|(count, _)| *count >= LEAST_ANSWERS) else {
        return Invariant::unchecked(name, "too few answers to tell");
    };
    let Latency { p50, p99, .. } = latency;
    let detail = format!("p50 {p50} ms, p99 {p99} ms, {count} answers");
    Invariant::new(name, latency.spread() <= MOST_SPREAD, detail)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::super::claims::Claim;
    use super::super::ledger::{Member, Order};
    use super::super::plan::Shape;
    use super::super::plan::tests::plan;
    use super::*;
    use crate::call::{Answer, Lost};
    use crate::record::Recorder;

    const SHAPE: Shape = Shape { seats: 40, rate: 2 };

    fn claim(seats: &[&str], until: Option<Instant>) -> Claim {
        let seats = seats.iter().map(|seat| (*seat).to_owned()).collect();
        Claim { seats, from: Instant::now(), until, over_by: until }
    }

    /// User 0 bought a seat, user 1 left an order of two.
    fn world() -> (Told, Seen) {
        let minute = Instant::now() + Duration::from_secs(60);
        let order = |id: &str, seats: &[&str], status| Order {
            id: id.to_owned(),
            seats: seats.iter().map(|seat| (*seat).to_owned()).collect(),
            status: Some(status),
        };
        let member = |at_ms, claim, order| Member {
            pass_at_ms: Some(at_ms),
            claims: vec![claim],
            orders: vec![order],
            has_unknown: false,
        };
        let opens_at_ms = plan(0, SHAPE).opens_at_ms;
        let bought =
            member(opens_at_ms + 500, claim(&["B1-1-1"], None), order("o0", &["B1-1-1"], "PAID"));
        let left = ["B2-1-1", "B3-1-1"];
        let left = member(
            opens_at_ms + 1_000,
            claim(&left, Some(minute)),
            order("o1", &left, "PENDING_PAYMENT"),
        );
        let told = Told { members: [(0, bought), (1, left)].into(), ..Told::default() };
        let group = |sold| Group { seats: 1, held: 0, sold, free: 1 - sold };
        let seen = Seen {
            groups: (0..40).map(|block| group(u64::from(block == 0))).collect(),
            sold: ["B1-1-1".to_owned()].into(),
            listed: 40,
            orders: [
                ((0, "o0".to_owned()), ("PAID".to_owned(), vec!["B1-1-1".to_owned()])),
                (
                    (1, "o1".to_owned()),
                    ("LAPSED".to_owned(), vec!["B2-1-1".to_owned(), "B3-1-1".to_owned()]),
                ),
            ]
            .into(),
            taken_over: Some((2, 201)),
            ..Seen::default()
        };
        (told, seen)
    }

    /// The names of the invariants that a change breaks.
    fn broken(change: impl FnOnce(&mut Told, &mut Seen)) -> Vec<&'static str> {
        let (mut told, mut seen) = world();
        change(&mut told, &mut seen);
        let plan = plan(2, SHAPE);
        let expected = Expected { plan: &plan, told: &told, is_own: true };
        let checked = all(&expected, &seen);
        checked.iter().filter(|it| it.is_broken()).map(|it| it.name).collect()
    }

    #[tokio::test]
    async fn a_world_in_order_breaks_nothing() {
        assert!(broken(|_, _| {}).is_empty());
    }

    #[tokio::test]
    async fn a_seat_that_is_two_peoples_is_noticed() {
        const TWICE: &str = "no seat is in two live holds or orders";
        let held = broken(|told, _| {
            let other = claim(&["B1-1-1"], Some(Instant::now() + Duration::from_secs(9)));
            told.members.get_mut(&1).unwrap().claims.push(other);
        });
        assert_eq!(held, [TWICE]);
        let paid = broken(|told, seen| {
            told.members.get_mut(&1).unwrap().has_unknown = true;
            let order = ("PAID".to_owned(), vec!["B1-1-1".to_owned()]);
            seen.orders.insert((1, "o2".to_owned()), order);
        });
        assert_eq!(paid, [TWICE]);
    }

    #[tokio::test]
    async fn seats_that_do_not_add_up_are_noticed() {
        const SUM: &str = "sold + held + free = seats";
        assert_eq!(broken(|_, seen| seen.groups[7].free = 0), [SUM]);
        assert_eq!(broken(|_, seen| seen.listed = 39), [SUM]);
        let sold = broken(|_, seen| {
            seen.groups[1] = Group { seats: 1, sold: 1, ..Group::default() };
            seen.sold.insert("B2-1-1".to_owned());
        });
        assert_eq!(sold, ["sold = paid"]);
    }

    #[tokio::test]
    async fn an_order_that_is_not_what_was_told_is_noticed() {
        const ORDERS: &str = "orders are what their members were told";
        let set = |seen: &mut Seen, status: &str| {
            seen.orders.get_mut(&(1, "o1".to_owned())).unwrap().0 = status.to_owned();
        };
        assert_eq!(broken(|_, seen| set(seen, "CANCELLED")), [ORDERS]);
        let unknown = broken(|told, seen| {
            told.members.get_mut(&1).unwrap().orders[0].status = None;
            set(seen, "CANCELLED");
        });
        assert!(unknown.is_empty(), "{unknown:?}");
        let gone = broken(|_, seen| drop(seen.orders.remove(&(1, "o1".to_owned()))));
        assert_eq!(gone, [ORDERS]);
        let untold = broken(|_, seen| {
            seen.orders.insert((1, "o9".to_owned()), ("LAPSED".to_owned(), vec![]));
        });
        assert_eq!(untold, [ORDERS]);
    }

    #[tokio::test]
    async fn what_is_held_for_ever_is_noticed() {
        const FREE: &str = "everything abandoned is free when its time is over";
        assert_eq!(broken(|_, seen| seen.taken_over = Some((2, 409))), [FREE]);
        let held = broken(|_, seen| {
            seen.held.insert("B2-1-1".to_owned());
            seen.groups[1] = Group { seats: 1, held: 1, ..Group::default() };
        });
        assert_eq!(held, [FREE]);
        assert!(broken(|_, seen| seen.taken_over = None).is_empty(), "nobody knows");
    }

    #[tokio::test]
    async fn more_than_anybody_may_have_is_noticed() {
        let over = broken(|told, _| {
            let seats = ["B4-1-1", "B5-1-1", "B6-1-1", "B7-1-1"];
            told.members.get_mut(&0).unwrap().claims.push(claim(&seats, Some(Instant::now())));
        });
        assert!(over.is_empty(), "it was over when it began: {over:?}");
        let over = broken(|told, _| {
            let seats = ["B4-1-1", "B5-1-1", "B6-1-1", "B7-1-1"];
            let until = Some(Instant::now() + Duration::from_secs(9));
            told.members.get_mut(&0).unwrap().claims.push(claim(&seats, until));
        });
        assert_eq!(over, ["nobody is over the limit"]);
    }

    #[tokio::test]
    async fn those_who_come_in_too_early_or_too_many_are_noticed() {
        const RATE: &str = "admitted per second ≤ the rate";
        let admit = |told: &mut Told, user, after_ms| {
            let pass_at_ms = Some(plan(0, SHAPE).opens_at_ms + after_ms);
            told.members.insert(user, Member { pass_at_ms, ..Member::default() });
        };
        assert!(broken(|told, _| admit(told, 2, 1_500)).is_empty(), "two a second");
        let many = broken(|told, _| {
            admit(told, 2, 1_500);
            admit(told, 3, 1_999);
        });
        assert_eq!(many, [RATE]);
        for early_ms in [-1, 499, 1_000, 1_499] {
            assert_eq!(broken(|told, _| admit(told, 2, early_ms)), [RATE], "{early_ms}");
        }
        let early = broken(|told, _| told.mistimed.push("user 7".to_owned()));
        assert_eq!(early, ["the sale opens at its millisecond"]);
    }

    fn samples(outcomes: &[Result<u16, ()>]) -> Samples {
        let recorder = Recorder::new().unwrap();
        for outcome in outcomes {
            let outcome = match outcome {
                Ok(status) => Ok(Answer { status: *status, body: Vec::new() }),
                Err(()) => Err(Lost("reset".into())),
            };
            recorder.record("get-me", Instant::now(), &outcome);
        }
        recorder.samples()
    }

    #[tokio::test]
    async fn any_failure_is_noticed_and_slow_answers_are_if_there_are_enough() {
        let none = samples(&[]);
        let broken = |samples: &Samples| {
            let checked = of_answers(samples, &none);
            checked.iter().filter(|it| it.is_broken()).map(|it| it.name).collect::<Vec<_>>()
        };
        assert!(broken(&samples(&[Ok(200), Ok(409)])).is_empty());
        for bad in [Ok(500), Ok(503), Err(())] {
            assert_eq!(broken(&samples(&[Ok(200), bad])), ["no 5xx"], "{bad:?}");
        }
        let latency = |p99| Latency { p50: 2.0, p95: 3.0, p99, max: 99.0 };
        let held = |count, p99| nobody_waits("x", Some((count, latency(p99)))).held;
        assert_eq!(
            (held(LEAST_ANSWERS, 20.0), held(LEAST_ANSWERS, 20.2)),
            (Some(true), Some(false))
        );
        assert_eq!((held(LEAST_ANSWERS - 1, 99.0), nobody_waits("x", None).held), (None, None));
    }
}
