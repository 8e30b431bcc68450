//! Who wants what: the courses and students of one run.

use std::sync::Arc;

use platform::auth::Role;
use platform::clock::Instant;
use serde_json::{Value, json};

use crate::cloud::Cloud;
use crate::error::Error;

/// Ids of one run begin at the second in which it began, times this: so runs
/// against one table do not meet. It fits into 2^53 until the year 2106.
const IDS_PER_SECOND: u64 = 1 << 21;
/// The most students or courses of one run.
pub(crate) const MOST: usize = (1 << 21) - 1;

/// Credits of each course.
const CREDIT: u32 = 3;
/// Credits that each student may take.
const MAX_CREDITS: u32 = 18;
const DAYS: [&str; 7] = ["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"];
const PERIODS: usize = 20;

/// How large a run is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Students.
    pub(crate) students: usize,
    /// Seats of all courses together.
    pub(crate) seats: u64,
    /// Courses.
    pub(crate) courses: usize,
    /// How often each student asks for the same course.
    pub(crate) repeats: usize,
}

/// The courses and students of one run. Both are known by their place; a
/// student wants one course.
pub(crate) struct Plan {
    /// How large it is.
    pub(crate) shape: Shape,
    first_id: u64,
    tokens: Vec<Arc<str>>,
}

impl Plan {
    /// A plan whose ids nobody used before `now`.
    pub(crate) fn new(shape: Shape, now: Instant) -> Self {
        let second = u64::try_from(now.as_seconds()).unwrap_or(0);
        Self { shape, first_id: second * IDS_PER_SECOND + 1, tokens: Vec::new() }
    }

    /// Signs a token for the member of each student.
    pub(crate) fn sign_tokens(&mut self, cloud: &Cloud) -> Result<(), Error> {
        let tokens =
            (0..self.students()).map(|student| cloud.token(&self.member(student), Role::Member));
        self.tokens = tokens.collect::<Result<_, _>>()?;
        Ok(())
    }

    /// How many students there are.
    pub(crate) fn students(&self) -> usize {
        self.shape.students
    }

    /// How many courses there are.
    pub(crate) fn courses(&self) -> usize {
        self.shape.courses
    }

    /// The id of a student.
    pub(crate) fn student_id(&self, student: usize) -> u64 {
        self.first_id + student as u64
    }

    /// The id of a course.
    pub(crate) fn course_id(&self, course: usize) -> u64 {
        self.first_id + course as u64
    }

    /// The course that a student wants.
    pub(crate) fn wanted_by(&self, student: usize) -> usize {
        student % self.shape.courses
    }

    /// The token of a student's member.
    pub(crate) fn token(&self, student: usize) -> &Arc<str> {
        &self.tokens[student]
    }

    /// The member who acts for a student.
    pub(crate) fn member(&self, student: usize) -> String {
        format!("load-{}", self.student_id(student))
    }

    /// Seats of a course: its even share.
    pub(crate) fn capacity(&self, course: usize) -> u64 {
        let courses = self.shape.courses as u64;
        self.shape.seats / courses + u64::from((course as u64) < self.shape.seats % courses)
    }

    /// Students who want a course.
    fn demand(&self, course: usize) -> u64 {
        let (students, courses) = (self.shape.students, self.shape.courses);
        (students / courses + usize::from(course < students % courses)) as u64
    }

    /// Whether somebody will be refused for want of a seat.
    pub(crate) fn is_short_of_seats(&self) -> bool {
        (0..self.courses()).any(|course| self.demand(course) > self.capacity(course))
    }

    /// How many students each course must hold once all have asked.
    pub(crate) fn fits(&self) -> Vec<u64> {
        (0..self.courses()).map(|course| self.capacity(course).min(self.demand(course))).collect()
    }

    /// The same, once `leaving` have dropped and `trying` have asked again.
    pub(crate) fn fits_after(&self, leaving: &[usize], trying: &[usize]) -> Vec<u64> {
        let mut fits = self.fits();
        for student in leaving {
            fits[self.wanted_by(*student)] -= 1;
        }
        for student in trying {
            let course = self.wanted_by(*student);
            fits[course] = (fits[course] + 1).min(self.capacity(course));
        }
        fits
    }

    /// The codes of the refusals that this plan provokes.
    pub(crate) fn expected_refusals(&self) -> Vec<&'static str> {
        let full = self.is_short_of_seats().then_some("COURSE_FULL");
        let again = (self.shape.repeats > 1).then_some("ALREADY_ENROLLED");
        full.into_iter().chain(again).collect()
    }

    /// The body that creates a course. Each has a period of its own while there
    /// are enough in a week.
    pub(crate) fn course_body(&self, course: usize) -> Value {
        let period = course / DAYS.len() % PERIODS + 1;
        json!({
            "name": format!("Hot course {}", course + 1),
            "credit": CREDIT,
            "dayOfWeek": DAYS[course % DAYS.len()],
            "startPeriod": period,
            "endPeriod": period,
            "capacity": self.capacity(course),
        })
    }

    /// The body that creates a student.
    pub(crate) fn student_body(&self, student: usize) -> Value {
        let name = format!("Student {}", student + 1);
        json!({ "name": name, "memberId": self.member(student), "maxCredits": MAX_CREDITS })
    }

    /// Requests that set the plan up.
    pub(crate) fn setup_requests(&self) -> u64 {
        (self.students() + self.courses()) as u64
    }

    /// Requests that read everything back, at least.
    pub(crate) fn read_back_requests(&self) -> u64 {
        let roster_pages = self.students() / super::read_back::PAGE + self.courses();
        (self.students() + self.courses() + roster_pages) as u64
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn plan(students: usize, seats: u64, courses: usize) -> Plan {
        let shape = Shape { students, seats, courses, repeats: 1 };
        Plan::new(shape, Instant::from_millis(1_900_000_000_000))
    }

    #[test]
    fn ids_stay_below_the_largest_and_differ_between_runs() {
        let last_second = Instant::from_millis(4_294_967_295_000);
        let shape = Shape { students: 1, seats: 1, courses: 1, repeats: 1 };
        let last = Plan::new(shape, last_second);
        assert!(last.student_id(MOST - 1) < 1 << 53);
        let next = Plan::new(shape, Instant::from_millis(1_900_000_001_000));
        assert!(plan(1, 1, 1).student_id(MOST - 1) < next.student_id(0));
    }

    #[test]
    fn seats_and_students_are_spread_evenly() {
        let plan = plan(11, 7, 3);
        let capacities: Vec<u64> = (0..3).map(|course| plan.capacity(course)).collect();
        assert_eq!(capacities, [3, 2, 2]);
        let mut demand = [0; 3];
        for student in 0..11 {
            demand[plan.wanted_by(student)] += 1;
        }
        assert_eq!(demand, [4, 4, 3]);
        assert_eq!((plan.fits(), plan.is_short_of_seats()), (vec![3, 2, 2], true));
    }

    #[test]
    fn what_is_dropped_is_taken_again_if_enough_try() {
        let plan = plan(10, 4, 1);
        assert_eq!(plan.fits_after(&[0, 1], &[5, 6, 7]), [4]);
        assert_eq!(plan.fits_after(&[0, 1], &[5]), [3]);
    }
}
