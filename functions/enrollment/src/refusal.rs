//! Why enrollment says no, one variant per thing that a caller can act on.

use platform::clock::Instant;
use platform::problem::{FORBIDDEN, Kind, Problem};

use crate::course::Course;

/// A rule that a request breaks.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such course.
    CourseNotFound,
    /// There is no such student in that term.
    StudentNotFound,
    /// The student is not in the course.
    EnrollmentNotFound,
    /// The student is somebody else.
    Forbidden,
    /// Enrollment has not opened yet, or has closed.
    EnrollmentClosed {
        /// When it opens or opened.
        opens_at: Option<Instant>,
        /// When it closes or closed.
        closes_at: Option<Instant>,
        /// The time that was compared.
        now: Instant,
    },
    /// The student is in the course.
    AlreadyEnrolled,
    /// The student has another course then.
    TimetableConflict {
        /// The periods that are taken.
        periods: Vec<String>,
    },
    /// The student has too few credits left.
    CreditLimitExceeded {
        /// Credits that are left.
        left: i64,
        /// Credits that the course takes.
        needed: u32,
    },
    /// Every seat is taken.
    CourseFull,
    /// Hours, credit and term are what the enrolled have paid for.
    CourseInUse,
    /// More students are enrolled than the capacity that was asked for.
    CapacityBelowEnrolled {
        /// The capacity that was reached.
        capacity: u64,
    },
}

const COURSE_NOT_FOUND: Kind = Kind::new(404, "COURSE_NOT_FOUND", "There is no such course.");
const STUDENT_NOT_FOUND: Kind =
    Kind::new(404, "STUDENT_NOT_FOUND", "There is no such student in that term.");
const ENROLLMENT_NOT_FOUND: Kind =
    Kind::new(404, "ENROLLMENT_NOT_FOUND", "The student is not enrolled in that course.");
const ENROLLMENT_CLOSED: Kind = Kind::new(409, "ENROLLMENT_CLOSED", "Enrollment is not open.");
const ALREADY_ENROLLED: Kind =
    Kind::new(409, "ALREADY_ENROLLED", "The student is enrolled in that course already.");
const TIMETABLE_CONFLICT: Kind =
    Kind::new(409, "TIMETABLE_CONFLICT", "The student has another course at that time.");
const CREDIT_LIMIT_EXCEEDED: Kind =
    Kind::new(409, "CREDIT_LIMIT_EXCEEDED", "The student has too few credits left.");
const COURSE_FULL: Kind = Kind::new(409, "COURSE_FULL", "Every seat of the course is taken.");
const COURSE_IN_USE: Kind = Kind::new(
    409,
    "COURSE_IN_USE",
    "Hours, credit and term change only while enrollment is closed and nobody is enrolled.",
);
const CAPACITY_BELOW_ENROLLED: Kind = Kind::new(
    409,
    "CAPACITY_BELOW_ENROLLED",
    "More students are enrolled than that; the capacity was lowered as far as it goes, and \
     everything else was changed as asked.",
);

impl Refusal {
    /// What a closed course refuses with, in the document.
    pub(crate) fn closed_example() -> Self {
        let (opens_at, now) = (1_896_166_800_000, 1_896_166_799_000);
        let [opens_at, now] = [opens_at, now].map(Instant::from_millis);
        Self::EnrollmentClosed { opens_at: Some(opens_at), closes_at: None, now }
    }

    /// That `course` is closed at `now`, if it is.
    pub fn closed(course: &Course, now: Instant) -> Option<Self> {
        let closed = !course.is_open(now);
        let (opens_at, closes_at) = (course.opens_at(), course.closes_at());
        closed.then_some(Self::EnrollmentClosed { opens_at, closes_at, now })
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::CourseNotFound => COURSE_NOT_FOUND.into(),
            Refusal::StudentNotFound => STUDENT_NOT_FOUND.into(),
            Refusal::EnrollmentNotFound => ENROLLMENT_NOT_FOUND.into(),
            Refusal::Forbidden => FORBIDDEN.into(),
            Refusal::EnrollmentClosed { opens_at, closes_at, now } => {
                let mut problem = Self::from(ENROLLMENT_CLOSED).with("now", now.to_string());
                for (field, at) in [("opensAt", opens_at), ("closesAt", closes_at)] {
                    if let Some(at) = at {
                        problem = problem.with(field, at.to_string());
                    }
                }
                problem
            }
            Refusal::AlreadyEnrolled => ALREADY_ENROLLED.into(),
            Refusal::TimetableConflict { periods } => {
                Self::from(TIMETABLE_CONFLICT).with("periods", periods)
            }
            Refusal::CreditLimitExceeded { left, needed } => Self::from(CREDIT_LIMIT_EXCEEDED)
                .with("creditsLeft", left)
                .with("creditsNeeded", needed),
            Refusal::CourseFull => COURSE_FULL.into(),
            Refusal::CourseInUse => COURSE_IN_USE.into(),
            Refusal::CapacityBelowEnrolled { capacity } => {
                Self::from(CAPACITY_BELOW_ENROLLED).with("capacity", capacity)
            }
        }
    }
}
