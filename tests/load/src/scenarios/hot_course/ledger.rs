//! What each student was told.

use std::sync::{Mutex, PoisonError};

use super::plan::Plan;
use super::rush::Action;
use crate::call::{Answer, Lost};

/// What one student was told of the course that it wants.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Told {
    /// Answers of 201.
    pub(crate) enrolled: u32,
    /// Answers of 204.
    pub(crate) dropped: u32,
    /// Enrollments that nobody knows the outcome of.
    pub(crate) maybe_enrolled: u32,
    /// Drops that nobody knows the outcome of.
    pub(crate) maybe_dropped: u32,
}

impl Told {
    /// Whether the student must hold the course.
    pub(crate) fn must_hold(&self) -> bool {
        self.enrolled > self.dropped + self.maybe_dropped
    }

    /// Whether the student can hold the course.
    pub(crate) fn may_hold(&self) -> bool {
        self.enrolled + self.maybe_enrolled > self.dropped
    }

    /// Whether the student was given a seat that it had already.
    pub(crate) fn is_double(&self) -> bool {
        self.enrolled > 1 + self.dropped + self.maybe_dropped
    }
}

/// What all students were told.
pub(crate) struct Ledger(Mutex<Vec<Told>>);

impl Ledger {
    /// Nobody was told anything.
    pub(crate) fn new(students: usize) -> Self {
        Self(Mutex::new(vec![Told::default(); students]))
    }

    /// Writes down what a student was told.
    pub(crate) fn note(&self, student: usize, action: Action, outcome: &Result<Answer, Lost>) {
        let told = &mut self.0.lock().unwrap_or_else(PoisonError::into_inner)[student];
        let count = match (action, outcome) {
            (Action::Enroll, Ok(answer)) if answer.status == 201 => &mut told.enrolled,
            (Action::Drop, Ok(answer)) if answer.status == 204 => &mut told.dropped,
            (_, Ok(answer)) if !answer.is_server_error() => return,
            (Action::Enroll, _) => &mut told.maybe_enrolled,
            (Action::Drop, _) => &mut told.maybe_dropped,
        };
        *count += 1;
    }

    /// What everybody was told.
    pub(crate) fn told(&self) -> Vec<Told> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Half of those who hold a seat, picked at random, and for each of them
    /// `tries` of those who were refused the same course, or as many as there
    /// are.
    pub(crate) fn choose(
        &self,
        plan: &Plan,
        tries: usize,
        random: &mut fastrand::Rng,
    ) -> (Vec<usize>, Vec<usize>) {
        let told = self.told();
        let mut students: Vec<usize> = (0..told.len()).collect();
        random.shuffle(&mut students);
        let (mut leaving, mut trying) = (Vec::new(), Vec::new());
        for course in 0..plan.courses() {
            let of_course = |student: &&usize| plan.wanted_by(**student) == course;
            let holding = students.iter().filter(of_course).filter(|s| told[**s].must_hold());
            let refused = students.iter().filter(of_course).filter(|s| !told[**s].may_hold());
            let free = holding.clone().count().div_ceil(2);
            leaving.extend(holding.take(free));
            trying.extend(refused.take(free * tries));
        }
        random.shuffle(&mut leaving);
        random.shuffle(&mut trying);
        (leaving, trying)
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::tests::plan;
    use super::*;

    fn answer(status: u16) -> Result<Answer, Lost> {
        Ok(Answer { status, body: Vec::new() })
    }

    fn told(notes: &[(Action, u16)]) -> Told {
        let ledger = Ledger::new(1);
        for (action, status) in notes {
            ledger.note(0, *action, &answer(*status));
        }
        ledger.told()[0]
    }

    #[test]
    fn a_201_must_be_held_until_it_is_dropped() {
        use Action::{Drop, Enroll};
        let enrolled = told(&[(Enroll, 201), (Enroll, 409)]);
        assert!(enrolled.must_hold() && enrolled.may_hold() && !enrolled.is_double());
        let dropped = told(&[(Enroll, 201), (Drop, 204)]);
        assert!(!dropped.must_hold() && !dropped.may_hold());
        let again = told(&[(Enroll, 201), (Drop, 204), (Enroll, 201)]);
        assert!(again.must_hold() && !again.is_double());
        assert!(told(&[(Enroll, 201), (Enroll, 201)]).is_double());
    }

    #[test]
    fn an_unknown_outcome_may_be_either() {
        use Action::{Drop, Enroll};
        for open in [told(&[(Enroll, 503)]), told(&[(Enroll, 201), (Drop, 500)])] {
            assert!(open.may_hold() && !open.must_hold(), "{open:?}");
        }
        let ledger = Ledger::new(1);
        ledger.note(0, Enroll, &Err(Lost("reset".into())));
        assert_eq!(ledger.told()[0], Told { maybe_enrolled: 1, ..Told::default() });
    }

    #[test]
    fn half_of_the_holders_leave_and_only_refused_students_try() {
        let plan = plan(20, 6, 2);
        let ledger = Ledger::new(20);
        for student in 0..20 {
            ledger.note(student, Action::Enroll, &answer(if student < 6 { 201 } else { 409 }));
        }
        let mut random = fastrand::Rng::with_seed(1);
        let (leaving, trying) = ledger.choose(&plan, 3, &mut random);
        assert_eq!((leaving.len(), trying.len()), (4, 12));
        assert!(leaving.iter().all(|student| *student < 6));
        assert!(trying.iter().all(|student| *student >= 6));
    }
}
