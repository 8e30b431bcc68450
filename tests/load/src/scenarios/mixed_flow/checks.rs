//! The invariants of `mixed-flow`: what users were told against what their
//! accounts hold, and that everything was told once and in order.

use std::collections::{BTreeMap, BTreeSet};

use super::ledger::{Log, Told};
use super::plan::Plan;
use super::read_back::{Notification, Schedule, Seen};
use crate::backlog::Emptied;
use crate::invariants::Invariant;

const CREATED: &str = "SCHEDULE_CREATED";
const UPDATED: &str = "SCHEDULE_UPDATED";

/// What the run knows.
pub(crate) struct Expected<'a> {
    /// Who writes what.
    pub(crate) plan: &'a Plan,
    /// What each user was told.
    pub(crate) logs: Vec<Log>,
    /// Whether all were through before the run was stopped.
    pub(crate) is_complete: bool,
}

/// What is left in queues.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Left {
    /// How waiting for the end went.
    pub(crate) emptied: Emptied,
    /// Dead letters before the run and after it. `None` if this caller may not
    /// see them.
    pub(crate) dead_letters: Option<(u64, u64)>,
}

/// Checks all of them. `seen` is by account.
pub(crate) fn all(expected: &Expected<'_>, seen: &[Seen], left: &Left) -> Vec<Invariant> {
    vec![
        everybody_got_in(expected),
        as_many_as_told(expected, seen),
        told_is_held(expected, seen),
        one_reminder_each(seen),
        told_once_in_order(seen),
        left.emptied.invariant(),
        no_dead_letters(left),
    ]
}

/// Whoever wanted to log in was let in.
fn everybody_got_in(expected: &Expected<'_>) -> Invariant {
    let outside = expected.logs.iter().enumerate().filter(|(_, log)| !log.got_in);
    let outside: Vec<String> = outside.map(|(user, _)| format!("user {user}")).collect();
    let inside = expected.logs.len() - outside.len();
    let detail = format!("{inside} of {} users", expected.logs.len());
    // Those who were stopped before they arrived do not count.
    let outside = if expected.is_complete { outside } else { Vec::new() };
    Invariant::unless("everybody got in", &outside, detail)
}

/// Each account has the schedules that its users were told of, and as many more
/// as there are creations of which nobody knows.
fn as_many_as_told(expected: &Expected<'_>, seen: &[Seen]) -> Invariant {
    let mut broken = Vec::new();
    let (mut held, mut created, mut unknown) = (0, 0, 0);
    for (account, seen) in seen.iter().enumerate() {
        let told = told_in(expected, account);
        let known = told.iter().filter(|told| told.id.is_some()).count();
        let open = told.iter().filter(|told| told.id.is_none() && told.is_open).count();
        let ids: BTreeSet<&str> = seen.schedules.iter().map(|s| s.id.as_str()).collect();
        if ids.len() != seen.schedules.len() {
            broken.push(format!("account {account} lists a schedule twice"));
        }
        if !(known..=known + open).contains(&ids.len()) {
            broken.push(format!(
                "account {account} holds {} schedules, {known} × 201, {open} unknown outcomes",
                ids.len()
            ));
        }
        (held, created, unknown) = (held + ids.len(), created + known, unknown + open);
    }
    let detail = format!("{held} schedules, {created} × 201, {unknown} unknown outcomes");
    Invariant::unless("schedules per account = 201s", &broken, detail)
}

/// Every schedule says what the last answer to its user said.
fn told_is_held(expected: &Expected<'_>, seen: &[Seen]) -> Invariant {
    let mut broken = Vec::new();
    let mut count = 0;
    for (account, seen) in seen.iter().enumerate() {
        let held: BTreeMap<&str, &Schedule> =
            seen.schedules.iter().map(|schedule| (schedule.id.as_str(), schedule)).collect();
        for told in told_in(expected, account) {
            let Some(id) = &told.id else { continue };
            count += 1;
            match held.get(id.as_str()) {
                None => broken.push(format!("schedule {id} was told of and is lost")),
                Some(held) => broken.extend(difference(expected.plan, told, held)),
            }
        }
    }
    let unreadable: u32 = expected.logs.iter().map(|log| log.unreadable).sum();
    if unreadable > 0 {
        broken.push(format!("{unreadable} answers name no schedule and version"));
    }
    Invariant::unless("told = held", &broken, format!("{count} schedules as last told"))
}

/// In what a schedule differs from what its user was told last. An update of
/// which nobody knows may have been made or not.
fn difference(plan: &Plan, told: &Told, held: &Schedule) -> Option<String> {
    let says = |updates: u32| {
        let content = plan.content(told.slot, updates);
        content.title == held.title && content.start == held.start_time
    };
    let as_told = says(told.updates) && held.version == told.version;
    let one_further = told.is_open && says(told.updates + 1) && held.version > told.version;
    if as_told || one_further {
        return None;
    }
    Some(format!(
        "schedule {}: {:?} in version {}, told update {} in version {}",
        held.id, held.title, held.version, told.updates, told.version
    ))
}

/// Every schedule has a reminder, and every reminder a schedule.
fn one_reminder_each(seen: &[Seen]) -> Invariant {
    const NAME: &str = "one reminder per schedule";
    let (mut broken, mut count) = (Vec::new(), 0);
    for (account, seen) in seen.iter().enumerate() {
        let Some(reminders) = &seen.reminders else {
            return Invariant::unchecked(NAME, "nobody can look into the tables behind a --url");
        };
        let schedules: BTreeSet<&str> = seen.schedules.iter().map(|s| s.id.as_str()).collect();
        let reminded: BTreeSet<&str> = reminders.iter().map(String::as_str).collect();
        count += reminders.len();
        if schedules != reminded || reminders.len() != schedules.len() {
            let without = schedules.difference(&reminded).count();
            let of_none = reminded.difference(&schedules).count();
            broken.push(format!(
                "account {account}: {without} schedules without one, {of_none} of no schedule, \
                 {} in all",
                reminders.len()
            ));
        }
    }
    Invariant::unless(NAME, &broken, format!("{count} reminders"))
}

/// The notifications of each schedule are its versions from the first to the
/// last, each once and in this order: it was created, then updated.
fn told_once_in_order(seen: &[Seen]) -> Invariant {
    let (mut broken, mut count) = (Vec::new(), 0);
    for seen in seen {
        let mut by_schedule: BTreeMap<&str, Vec<&Notification>> = BTreeMap::new();
        for notification in &seen.notifications {
            by_schedule.entry(&notification.aggregate_id).or_default().push(notification);
        }
        for schedule in &seen.schedules {
            let told = by_schedule.remove(schedule.id.as_str()).unwrap_or_default();
            broken.extend(disorder(schedule, &told));
        }
        let of_none = by_schedule.keys().map(|id| format!("told of {id}, which is not there"));
        broken.extend(of_none);
        count += seen.notifications.len();
    }
    Invariant::unless("one notification per event, in order", &broken, format!("{count} in order"))
}

fn disorder(schedule: &Schedule, told: &[&Notification]) -> Option<String> {
    let expected = (1..=schedule.version).map(|version| (version, kind(version)));
    let told: Vec<(u64, &str)> = told.iter().map(|n| (n.version, n.r#type.as_str())).collect();
    if expected.eq(told.iter().copied()) {
        return None;
    }
    let versions: Vec<u64> = told.iter().map(|(version, _)| *version).collect();
    let is_complete = versions.iter().copied().eq(1..=schedule.version);
    let what = if is_complete { "of the wrong types" } else { "in the inbox" };
    Some(format!(
        "schedule {}: 1 to {} expected, {versions:?} {what}",
        schedule.id, schedule.version
    ))
}

fn kind(version: u64) -> &'static str {
    if version == 1 { CREATED } else { UPDATED }
}

/// Everything arrived.
fn no_dead_letters(left: &Left) -> Invariant {
    const NAME: &str = "nothing in dead letters";
    match left.dead_letters {
        None => Invariant::unchecked(NAME, "this token may not count them"),
        Some((before, after)) => {
            let detail = format!("{after} now, {before} before the run");
            Invariant::new(NAME, after <= before, detail)
        }
    }
}

/// What the users of an account were told.
fn told_in<'e>(expected: &'e Expected<'_>, account: usize) -> Vec<&'e Told> {
    let users = expected.logs.iter().enumerate();
    let of_account = users.filter(|(user, _)| expected.plan.account_of(*user) == account);
    of_account.flat_map(|(_, log)| &log.schedules).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::plan::ACCOUNTS;
    use super::super::plan::tests::plan;
    use super::*;
    use crate::status::Waiting;

    const HELD: &str = "told = held";
    const COUNTED: &str = "schedules per account = 201s";
    const REMINDED: &str = "one reminder per schedule";
    const TOLD: &str = "one notification per event, in order";

    struct World {
        plan: Plan,
        logs: Vec<Log>,
        seen: Vec<Seen>,
        left: Left,
        is_complete: bool,
    }

    fn told(slot: usize, id: &str, updates: u32) -> Told {
        let version = u64::from(updates) + 1;
        Told { slot, id: Some(id.to_owned()), updates, version, is_open: false }
    }

    fn notification(id: &str, version: u64) -> Notification {
        Notification { r#type: kind(version).to_owned(), aggregate_id: id.to_owned(), version }
    }

    /// Two users in two accounts: the first has a schedule that was updated
    /// twice and one that was not, the second has one.
    fn world() -> World {
        let plan = plan(2, 4);
        let schedule = |told: &Told| {
            let content = plan.content(told.slot, told.updates);
            Schedule {
                id: told.id.clone().unwrap(),
                title: content.title,
                start_time: content.start,
                version: told.version,
            }
        };
        let logs = [vec![told(0, "a", 2), told(3, "b", 0)], vec![told(0, "c", 0)]];
        let mut seen = vec![Seen { reminders: Some(Vec::new()), ..Seen::default() }; ACCOUNTS];
        for (account, schedules) in logs.iter().enumerate() {
            let schedules: Vec<Schedule> = schedules.iter().map(&schedule).collect();
            seen[account] = Seen {
                reminders: Some(schedules.iter().map(|schedule| schedule.id.clone()).collect()),
                notifications: schedules
                    .iter()
                    .flat_map(|s| (1..=s.version).map(|version| notification(&s.id, version)))
                    .collect(),
                schedules,
            };
        }
        let logs = logs
            .map(|schedules| Log { got_in: true, schedules, unreadable: 0 })
            .into_iter()
            .collect();
        let emptied = Emptied::After(Duration::from_secs(1));
        let left = Left { emptied, dead_letters: Some((0, 0)) };
        World { plan, logs, seen, left, is_complete: true }
    }

    /// The names of the invariants that `change` breaks.
    fn broken(change: impl FnOnce(&mut World)) -> Vec<&'static str> {
        let mut world = world();
        change(&mut world);
        let World { plan, logs, seen, left, is_complete } = world;
        let invariants = all(&Expected { plan: &plan, logs, is_complete }, &seen, &left);
        invariants.iter().filter(|i| i.is_broken()).map(|i| i.name).collect()
    }

    #[test]
    fn a_world_in_order_breaks_nothing() {
        assert!(broken(|_| {}).is_empty());
    }

    #[test]
    fn somebody_who_was_not_let_in_is_noticed() {
        assert_eq!(broken(|world| world.logs[1].got_in = false), ["everybody got in"]);
        let stopped = broken(|world| {
            world.logs[1].got_in = false;
            world.is_complete = false;
        });
        assert!(stopped.is_empty());
    }

    #[test]
    fn a_schedule_that_is_lost_is_noticed() {
        let names = broken(|world| drop(world.seen[0].schedules.remove(1)));
        assert_eq!(names, [COUNTED, HELD, REMINDED, TOLD]);
    }

    #[test]
    fn a_schedule_too_many_is_noticed() {
        let twice = broken(|world| {
            let again = world.seen[0].schedules[1].clone();
            world.seen[0].schedules.push(again);
        });
        assert_eq!(twice, [COUNTED, TOLD]);
        let doubled = broken(|world| {
            let again = Schedule { id: "d".into(), ..world.seen[0].schedules[1].clone() };
            world.seen[0].schedules.push(again);
            world.seen[0].reminders.as_mut().unwrap().push("d".into());
            world.seen[0].notifications.push(notification("d", 1));
        });
        assert_eq!(doubled, [COUNTED]);
    }

    #[test]
    fn a_creation_of_unknown_outcome_may_have_gone_either_way() {
        let open = |world: &mut World| {
            world.logs[0].schedules[1] =
                Told { slot: 3, id: None, updates: 0, version: 0, is_open: true };
        };
        assert!(broken(open).is_empty());
        let gone = broken(|world| {
            open(world);
            world.seen[0].schedules.pop();
            world.seen[0].reminders.as_mut().unwrap().pop();
            world.seen[0].notifications.pop();
        });
        assert!(gone.is_empty());
    }

    #[test]
    fn an_update_that_is_lost_is_noticed() {
        let names = broken(|world| world.logs[1].schedules[0] = told(0, "c", 1));
        assert_eq!(names, [HELD]);
        let other = world().plan.content(0, 1).title;
        let names = broken(|world| world.seen[0].schedules[0].title = other);
        assert_eq!(names, [HELD]);
        let names = broken(|world| {
            world.seen[0].schedules[1].start_time = world.plan.content(3, 1).start;
        });
        assert_eq!(names, [HELD]);
        assert_eq!(broken(|world| world.logs[0].unreadable = 1), [HELD]);
    }

    #[test]
    fn an_update_of_unknown_outcome_may_have_gone_either_way() {
        let open = broken(|world| world.logs[0].schedules[0].is_open = true);
        assert!(open.is_empty());
        let made = broken(|world| {
            world.logs[0].schedules[0] = Told { is_open: true, ..told(0, "a", 1) };
        });
        assert!(made.is_empty());
        let known = broken(|world| world.logs[0].schedules[0] = told(0, "a", 1));
        assert_eq!(known, [HELD]);
    }

    #[test]
    fn reminders_that_were_never_stored_are_noticed() {
        let names = broken(|world| drop(world.seen[0].reminders.as_mut().unwrap().pop()));
        assert_eq!(names, [REMINDED]);
        let names = broken(|world| world.seen[1].reminders.as_mut().unwrap().push("?".into()));
        assert_eq!(names, [REMINDED]);
        let mut unseen = world();
        unseen.seen[3].reminders = None;
        assert_eq!(one_reminder_each(&unseen.seen).held, None);
    }

    #[test]
    fn an_event_that_is_told_never_or_twice_or_of_nothing_is_noticed() {
        let never = broken(|world| drop(world.seen[0].notifications.remove(1)));
        assert_eq!(never, [TOLD]);
        let twice = broken(|world| {
            world.seen[0].notifications.insert(1, notification("a", 1));
        });
        assert_eq!(twice, [TOLD]);
        let of_nothing = broken(|world| world.seen[1].notifications.push(notification("z", 1)));
        assert_eq!(of_nothing, [TOLD]);
        let elsewhere = broken(|world| {
            let moved = world.seen[0].notifications.pop().unwrap();
            world.seen[1].notifications.push(moved);
        });
        assert_eq!(elsewhere, [TOLD]);
    }

    #[test]
    fn events_out_of_order_or_of_another_type_are_noticed() {
        let turned = broken(|world| world.seen[0].notifications.swap(1, 2));
        assert_eq!(turned, [TOLD]);
        let mistyped = broken(|world| world.seen[0].notifications[1].r#type = CREATED.into());
        assert_eq!(mistyped, [TOLD]);
        let of_others = broken(|world| world.seen[0].notifications.swap(2, 3));
        assert!(of_others.is_empty());
    }

    #[test]
    fn what_was_never_sent_or_never_arrived_is_noticed() {
        let names = broken(|world| {
            world.left.emptied = Emptied::Stalled(Waiting { records: 1, messages: 0 });
        });
        assert_eq!(names, ["nothing unsent"]);
        let names = broken(|world| world.left.dead_letters = Some((1, 2)));
        assert_eq!(names, ["nothing in dead letters"]);
        assert!(broken(|world| world.left.dead_letters = Some((2, 2))).is_empty());
        let unseen = Left { emptied: Emptied::Unseen, dead_letters: None };
        assert_eq!((unseen.emptied.invariant().held, no_dead_letters(&unseen).held), (None, None));
    }
}
