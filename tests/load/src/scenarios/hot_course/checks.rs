//! The invariants of `hot-course`: what students were told against what the
//! tables hold.

use std::collections::{BTreeMap, BTreeSet};

use super::ledger::Told;
use super::plan::Plan;
use super::read_back::{Held, Seen};
use crate::invariants::Invariant;

/// What the run knows.
pub(crate) struct Expected<'a> {
    /// Who wanted what.
    pub(crate) plan: &'a Plan,
    /// What each student was told.
    pub(crate) told: Vec<Told>,
    /// How many students each course must hold. `None` when the run was stopped
    /// before all had asked.
    pub(crate) fits: Option<Vec<u64>>,
}

/// Checks all of them.
pub(crate) fn all(expected: &Expected<'_>, seen: &Seen) -> Vec<Invariant> {
    let mut invariants = vec![
        enrolled_as_told(expected, seen),
        seats_add_up(expected, seen),
        nobody_twice(expected, seen),
        told_is_held(expected, seen),
        credits_match(expected, seen),
        no_overlap(expected, seen),
        all_agree(expected, seen),
    ];
    invariants.extend(as_many_as_fit(expected, seen));
    invariants
}

/// The seats that are taken are those that students were told of.
fn enrolled_as_told(expected: &Expected<'_>, seen: &Seen) -> Invariant {
    let sum =
        |count: fn(&Told) -> u32| expected.told.iter().map(|t| i64::from(count(t))).sum::<i64>();
    let (created, dropped) = (sum(|told| told.enrolled), sum(|told| told.dropped));
    let (maybe_in, maybe_out) = (sum(|told| told.maybe_enrolled), sum(|told| told.maybe_dropped));
    let enrolled: u64 = seen.courses.iter().map(|course| course.seats.enrolled).sum();
    let (least, most) = (created - dropped - maybe_out, created - dropped + maybe_in);
    let held = i64::try_from(enrolled).is_ok_and(|enrolled| (least..=most).contains(&enrolled));
    let unknown = maybe_in + maybe_out;
    let detail = format!(
        "{enrolled} enrolled, {created} × 201 − {dropped} × 204, {unknown} unknown outcomes"
    );
    Invariant::new("enrolled = 201s − 204s", held, detail)
}

/// Seats neither appear nor vanish, and are never given twice.
fn seats_add_up(expected: &Expected<'_>, seen: &Seen) -> Invariant {
    let Expected { plan, .. } = expected;
    let mut broken = Vec::new();
    for (place, course) in seen.courses.iter().enumerate() {
        let (id, seats) = (plan.course_id(place), course.seats);
        if seats.capacity != plan.capacity(place) || seats.enrolled + seats.left != seats.capacity {
            let (enrolled, left, capacity) = (seats.enrolled, seats.left, seats.capacity);
            broken.push(format!("course {id}: {enrolled} + {left} of {capacity}"));
        }
        let holders = holders(expected, seen, place).len() as u64;
        if holders > plan.capacity(place) {
            broken.push(format!("course {id}: {holders} hold {} seats", plan.capacity(place)));
        }
    }
    let sum = |count: fn(&super::read_back::Seats) -> u64| {
        seen.courses.iter().map(|course| count(&course.seats)).sum::<u64>()
    };
    let (enrolled, left) = (sum(|seats| seats.enrolled), sum(|seats| seats.left));
    let detail = format!("{enrolled} + {left} = {}", sum(|seats| seats.capacity));
    Invariant::unless("enrolled + left = capacity", &broken, detail)
}

/// Nobody was given the same course twice, and no list names anybody twice.
fn nobody_twice(expected: &Expected<'_>, seen: &Seen) -> Invariant {
    let mut broken = Vec::new();
    for (student, told) in expected.told.iter().enumerate() {
        let id = expected.plan.student_id(student);
        if told.is_double() {
            broken.push(format!("student {id} was told 201 {} times", told.enrolled));
        }
        let items = &seen.timetables[student].items;
        if has_twice(items.iter().map(|held| held.course_id)) {
            broken.push(format!("student {id} has a course twice"));
        }
    }
    for (place, course) in seen.courses.iter().enumerate() {
        if has_twice(course.roster.iter().copied()) {
            broken.push(format!("a roster twice: course {}", expected.plan.course_id(place)));
        }
    }
    Invariant::unless("nobody twice", &broken, format!("{} students", expected.told.len()))
}

/// Who was told 201 holds the course, and who was refused does not.
fn told_is_held(expected: &Expected<'_>, seen: &Seen) -> Invariant {
    let Expected { plan, told, .. } = expected;
    let mut broken = Vec::new();
    for (student, told) in told.iter().enumerate() {
        let (id, wanted) = (plan.student_id(student), plan.course_id(plan.wanted_by(student)));
        let items = &seen.timetables[student].items;
        let holds = items.iter().any(|held| held.course_id == wanted);
        if holds && !told.may_hold() {
            broken.push(format!("student {id} holds what nobody gave"));
        }
        if !holds && told.must_hold() {
            broken.push(format!("student {id} lost what it was given"));
        }
        if items.iter().any(|held| held.course_id != wanted) {
            broken.push(format!("student {id} holds what it never asked for"));
        }
    }
    let holding = told.iter().filter(|told| told.must_hold()).count();
    Invariant::unless("told = held", &broken, format!("{holding} of {} hold a seat", told.len()))
}

/// A student's credits are those of the courses on its timetable.
fn credits_match(expected: &Expected<'_>, seen: &Seen) -> Invariant {
    let mut broken = Vec::new();
    let mut total = 0;
    for (student, timetable) in seen.timetables.iter().enumerate() {
        let (taken, max) = (timetable.credits.taken, timetable.credits.max);
        let sum: u64 = timetable.items.iter().map(|held| held.credit).sum();
        total += sum;
        if taken != sum || taken > max {
            let id = expected.plan.student_id(student);
            broken.push(format!("student {id}: {taken} of {max} taken, courses of {sum}"));
        }
    }
    Invariant::unless("credits = courses held", &broken, format!("{total} credits"))
}

/// No timetable has two courses in one period.
fn no_overlap(expected: &Expected<'_>, seen: &Seen) -> Invariant {
    let mut broken = Vec::new();
    for (student, timetable) in seen.timetables.iter().enumerate() {
        if has_twice(timetable.items.iter().flat_map(periods)) {
            broken.push(format!("student {}", expected.plan.student_id(student)));
        }
    }
    Invariant::unless("no overlap", &broken, format!("{} timetables", seen.timetables.len()))
}

/// The timetables, the roster and the seats tell the same of each course.
fn all_agree(expected: &Expected<'_>, seen: &Seen) -> Invariant {
    let mut broken = Vec::new();
    let mut total = 0;
    for (place, course) in seen.courses.iter().enumerate() {
        let holders = holders(expected, seen, place);
        let roster: BTreeSet<u64> = course.roster.iter().copied().collect();
        total += holders.len();
        if holders != roster || holders.len() as u64 != course.seats.enrolled {
            let id = expected.plan.course_id(place);
            let (missing, extra) =
                (holders.difference(&roster).count(), roster.difference(&holders).count());
            broken.push(format!(
                "course {id}: {} timetables, roster lacks {missing} and has {extra} more, seats say {}",
                holders.len(),
                course.seats.enrolled
            ));
        }
    }
    let detail = format!("{total} students in {} courses", seen.courses.len());
    Invariant::unless("timetables = rosters = seats", &broken, detail)
}

/// No seat stays empty that somebody asked for.
fn as_many_as_fit(expected: &Expected<'_>, seen: &Seen) -> Option<Invariant> {
    let fits = expected.fits.as_ref()?;
    let mut broken = Vec::new();
    for (place, course) in seen.courses.iter().enumerate() {
        let of_course = |student: &usize| expected.plan.wanted_by(*student) == place;
        let unknown = (0..expected.told.len()).filter(of_course).map(|student| {
            let told = expected.told[student];
            u64::from(told.maybe_enrolled + told.maybe_dropped)
        });
        let (fit, unknown, enrolled) = (fits[place], unknown.sum::<u64>(), course.seats.enrolled);
        if enrolled.abs_diff(fit) > unknown {
            let id = expected.plan.course_id(place);
            broken.push(format!("course {id}: {enrolled} of {fit}, {unknown} unknown outcomes"));
        }
    }
    let detail = format!("{} of {} seats", fits.iter().sum::<u64>(), expected.plan.shape.seats);
    Some(Invariant::unless("as many as fit", &broken, detail))
}

/// The ids of the students whose timetable has a course.
fn holders(expected: &Expected<'_>, seen: &Seen, course: usize) -> BTreeSet<u64> {
    let Expected { plan, .. } = expected;
    let id = plan.course_id(course);
    let holds = |student: &usize| seen.timetables[*student].items.iter().any(|h| h.course_id == id);
    (0..seen.timetables.len()).filter(holds).map(|student| plan.student_id(student)).collect()
}

fn periods(held: &Held) -> impl Iterator<Item = (&str, u32)> {
    held.meetings.iter().flat_map(|meeting| {
        let periods = meeting.start_period..=meeting.end_period;
        periods.map(|period| (meeting.day_of_week.as_str(), period))
    })
}

fn has_twice<T: Ord>(items: impl Iterator<Item = T>) -> bool {
    let mut counts = BTreeMap::new();
    items.into_iter().any(|item| {
        let count = counts.entry(item).or_insert(0);
        *count += 1;
        *count > 1
    })
}

#[cfg(test)]
mod tests {
    use super::super::plan::tests::plan;
    use super::super::read_back::{Course, Credits, Meeting, Seats, Timetable};
    use super::*;

    const HELD: Told = Told { enrolled: 1, dropped: 0, maybe_enrolled: 0, maybe_dropped: 0 };
    const NONE: Told = Told { enrolled: 0, ..HELD };

    /// Three students for two seats: the first two have them.
    fn world() -> (Plan, Vec<Told>, Seen) {
        let plan = plan(3, 2, 1);
        let held = Held {
            course_id: plan.course_id(0),
            credit: 3,
            meetings: vec![Meeting { day_of_week: "MON".into(), start_period: 1, end_period: 1 }],
        };
        let timetable = |items: Vec<Held>| {
            let credits = Credits { taken: 3 * items.len() as u64, max: 18 };
            Timetable { items, credits }
        };
        let seats = Seats { capacity: 2, enrolled: 2, left: 0 };
        let roster = vec![plan.student_id(1), plan.student_id(0)];
        let seen = Seen {
            courses: vec![Course { seats, roster }],
            timetables: vec![
                timetable(vec![held.clone()]),
                timetable(vec![held]),
                timetable(vec![]),
            ],
        };
        (plan, vec![HELD, HELD, NONE], seen)
    }

    /// The names of the invariants that `change` breaks.
    fn broken(change: impl FnOnce(&mut Vec<Told>, &mut Seen)) -> Vec<&'static str> {
        let (plan, mut told, mut seen) = world();
        change(&mut told, &mut seen);
        let fits = Some(plan.fits());
        let invariants = all(&Expected { plan: &plan, told, fits }, &seen);
        invariants.iter().filter(|i| i.is_broken()).map(|i| i.name).collect()
    }

    #[test]
    fn a_world_in_order_breaks_nothing() {
        assert!(broken(|_, _| {}).is_empty());
    }

    #[test]
    fn a_lost_seat_is_noticed() {
        let names = broken(|_, seen| seen.courses[0].seats.left = 1);
        assert_eq!(names, ["enrolled + left = capacity"]);
        let names = broken(|_, seen| {
            seen.courses[0].seats = Seats { capacity: 2, enrolled: 1, left: 1 };
        });
        let expected = ["enrolled = 201s − 204s", "timetables = rosters = seats", "as many as fit"];
        assert_eq!(names, expected);
    }

    #[test]
    fn a_seat_given_to_too_many_is_noticed() {
        let names = broken(|told, seen| {
            told[2] = HELD;
            seen.timetables[2] = seen.timetables[0].clone();
            let third = seen.courses[0].roster[1] + 2;
            seen.courses[0].roster.push(third);
            seen.courses[0].seats = Seats { capacity: 3, enrolled: 3, left: 0 };
        });
        assert_eq!(names, ["enrolled + left = capacity", "as many as fit"]);
    }

    #[test]
    fn an_enrollment_without_a_201_or_a_201_without_one_is_noticed() {
        let names = broken(|told, _| told[1] = NONE);
        assert_eq!(names, ["enrolled = 201s − 204s", "told = held"]);
        let names = broken(|told, _| told[2] = HELD);
        assert_eq!(names, ["enrolled = 201s − 204s", "told = held"]);
        let swapped = broken(|told, _| (told[1], told[2]) = (NONE, HELD));
        assert_eq!(swapped, ["told = held"]);
    }

    #[test]
    fn an_unknown_outcome_may_have_gone_either_way() {
        let open = Told { maybe_enrolled: 1, ..NONE };
        assert!(broken(|told, _| told[1] = open).is_empty());
        assert!(broken(|told, _| told[2] = open).is_empty());
        let maybe_gone = Told { maybe_dropped: 1, ..HELD };
        assert!(broken(|told, _| told[1] = maybe_gone).is_empty());
    }

    #[test]
    fn somebody_enrolled_twice_is_noticed() {
        let names = broken(|told, _| told[0].enrolled = 2);
        assert_eq!(names, ["enrolled = 201s − 204s", "nobody twice"]);
        let names = broken(|_, seen| seen.courses[0].roster[1] = seen.courses[0].roster[0]);
        assert_eq!(names, ["nobody twice", "timetables = rosters = seats"]);
        let names = broken(|_, seen| {
            let again = seen.timetables[0].items[0].clone();
            seen.timetables[0].items.push(again);
        });
        assert_eq!(names, ["nobody twice", "credits = courses held", "no overlap"]);
    }

    #[test]
    fn credits_that_do_not_match_the_courses_are_noticed() {
        let names = broken(|_, seen| seen.timetables[2].credits.taken = 3);
        assert_eq!(names, ["credits = courses held"]);
        let names = broken(|_, seen| seen.timetables[0].credits.max = 2);
        assert_eq!(names, ["credits = courses held"]);
    }

    #[test]
    fn courses_in_the_same_period_are_noticed() {
        let names = broken(|_, seen| {
            let mut other = seen.timetables[0].items[0].clone();
            other.course_id += 1;
            seen.timetables[0].items.push(other);
            seen.timetables[0].credits.taken = 6;
        });
        assert_eq!(names, ["told = held", "no overlap"]);
    }

    #[test]
    fn the_same_number_of_other_students_is_noticed() {
        let names = broken(|_, seen| seen.courses[0].roster[0] += 1);
        assert_eq!(names, ["timetables = rosters = seats"]);
    }

    #[test]
    fn a_run_that_was_stopped_need_not_fill_the_course() {
        let (plan, _, mut seen) = world();
        seen.courses[0].seats = Seats { capacity: 2, enrolled: 0, left: 2 };
        let expected = Expected { plan: &plan, told: vec![NONE; 3], fits: None };
        assert!(all(&expected, &seen).iter().all(|i| i.name != "as many as fit"));
    }
}
