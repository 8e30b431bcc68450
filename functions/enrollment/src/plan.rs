//! A student's plan for a term: what is left to spend, and what is taken.

use std::collections::BTreeSet;

use platform::Problem;
use platform::auth::Caller;
use platform::clock::Instant;
use platform::table::Item;
use serde::{Deserialize, Serialize};

use crate::course::Course;
use crate::ids::{CourseId, StudentId};
use crate::keys;
use crate::meeting::periods;
use crate::refusal::Refusal;

/// A plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The student.
    pub student_id: StudentId,
    /// The student's name.
    pub name: String,
    /// The member who acts for the student.
    pub member_id: String,
    /// The term.
    pub term: String,
    /// How often the plan has changed, from 1.
    pub version: u64,
    /// When it last changed.
    pub updated_at_ms: i64,
    /// Credits in all.
    pub max_credits: i64,
    /// Credits not yet taken: below zero if `max_credits` was lowered too far.
    pub credits_left: i64,
    /// Periods that are taken, as in `MON-3`.
    #[serde(
        with = "serde_dynamo::string_set",
        default,
        skip_serializing_if = "BTreeSet::is_empty"
    )]
    pub periods: BTreeSet<String>,
    /// Courses that are taken.
    #[serde(
        with = "serde_dynamo::number_set",
        default,
        skip_serializing_if = "BTreeSet::is_empty"
    )]
    pub courses: BTreeSet<CourseId>,
}

impl Plan {
    /// A plan of which nothing is taken.
    pub fn new(
        student_id: StudentId,
        name: &str,
        member_id: &str,
        term: &str,
        max_credits: i64,
        now: Instant,
    ) -> Self {
        Self {
            version: 1,
            updated_at_ms: now.as_millis(),
            student_id,
            name: name.to_owned(),
            member_id: member_id.to_owned(),
            term: term.to_owned(),
            max_credits,
            credits_left: max_credits,
            periods: BTreeSet::new(),
            courses: BTreeSet::new(),
        }
    }

    /// Reads an item.
    pub fn from_item(item: Item) -> Result<Self, Problem> {
        platform::table::read(item)
    }

    /// The item, with its key.
    pub fn to_item(&self) -> Result<Item, Problem> {
        platform::table::item(keys::plan(self.student_id, &self.term), self)
    }

    /// Refuses all but staff and the student's own member.
    pub fn require_owner(&self, caller: &Caller) -> Result<(), Refusal> {
        let is_owner = caller.is_staff() || self.member_id == caller.member_id;
        if is_owner { Ok(()) } else { Err(Refusal::Forbidden) }
    }

    /// Refuses a course that does not fit: the first rule it breaks, in the
    /// order of the contract.
    pub fn require_room(&self, course: &Course) -> Result<(), Refusal> {
        if self.courses.contains(&course.course_id) {
            return Err(Refusal::AlreadyEnrolled);
        }
        let taken: Vec<String> =
            periods(&course.meetings).filter(|period| self.periods.contains(period)).collect();
        if !taken.is_empty() {
            return Err(Refusal::TimetableConflict { periods: taken });
        }
        let (left, needed) = (self.credits_left, course.credit);
        if left < i64::from(needed) {
            return Err(Refusal::CreditLimitExceeded { left, needed });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use platform::auth::Role;

    use super::*;
    use crate::course::tests::course;

    fn plan() -> Plan {
        Plan::new(1.try_into().unwrap(), "Ada", "m-1", "default", 18, Instant::from_millis(7))
    }

    fn caller(member_id: &str, role: Role) -> Caller {
        Caller { member_id: member_id.into(), role }
    }

    #[test]
    fn a_plan_survives_the_table_with_and_without_courses() {
        let empty = plan();
        assert_eq!(Plan::from_item(empty.to_item().unwrap()).unwrap(), empty);
        let taken = Plan {
            periods: ["MON-1".into()].into(),
            courses: [7.try_into().unwrap()].into(),
            ..plan()
        };
        assert_eq!(Plan::from_item(taken.to_item().unwrap()).unwrap(), taken);
    }

    #[test]
    fn the_first_rule_that_is_broken_is_the_answer() {
        let course = course();
        assert_eq!(plan().require_room(&course), Ok(()));
        let poor = Plan { credits_left: 2, ..plan() };
        assert_eq!(
            poor.require_room(&course),
            Err(Refusal::CreditLimitExceeded { left: 2, needed: 3 })
        );
        let busy = Plan { periods: ["MON-3".into(), "MON-4".into()].into(), ..poor };
        let clash = Refusal::TimetableConflict { periods: vec!["MON-3".into()] };
        assert_eq!(busy.require_room(&course), Err(clash));
        let enrolled = Plan { courses: [course.course_id].into(), ..busy };
        assert_eq!(enrolled.require_room(&course), Err(Refusal::AlreadyEnrolled));
    }

    #[test]
    fn a_plan_belongs_to_its_member_and_to_staff() {
        assert!(plan().require_owner(&caller("m-1", Role::Member)).is_ok());
        assert!(plan().require_owner(&caller("s", Role::Staff)).is_ok());
        assert!(plan().require_owner(&caller("m-2", Role::Member)).is_err());
    }
}
