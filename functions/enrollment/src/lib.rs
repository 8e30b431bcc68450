//! Course enrollment: courses, their seats, students and what they take.
//!
//! A seat is given by one transaction of three items: the student's plan pays
//! with credits and periods, one stripe of the course's seats gives one away,
//! and the enrollment says so. Nothing is read first.
//!
//! # Access patterns
//!
//! | caller | operation | guard | consistency, units |
//! |---|---|---|---|
//! | enroll | write plan, one stripe, enrollment | credits, periods, courses and member of the plan; `seats_left >= 1`; no such enrollment | 1 transaction, 7–8 WCU |
//! | enroll, refused by a stripe | read 16 stripes, then 64, and what others saw | | eventual, 0.5 RCU each |
//! | enroll, refused by those | read course and all stripes, and tell the others | nobody else is looking | consistent, 1 RCU each; 2–3 WCU |
//! | enroll, closed | read plan and kept answer | | consistent, 1–2 RCU |
//! | drop | read enrollment; write plan, its stripe, delete enrollment | enrollment's id; the plan's member | 1 RCU and 1 transaction, 7–8 WCU |
//! | put-course | read course; write course and listings | `version`; closed and empty, for its hours | 1 RCU and 1 transaction |
//! | put-course, capacity | write course and one stripe, or new stripes | `capacity` seen; `seats_left` enough | 4 WCU a step |
//! | put-student | write plan | none yet; `max_credits` seen | 1–2 transactions, 2–4 WCU each |
//! | list-courses | query a listing, read courses | | eventual, remembered 1 s |
//! | get-course | read course and stripes | | eventual, remembered 1 s; consistent when asked |
//! | get-timetable | read plan, enrollments, courses | | consistent |
//! | list-roster | query 8 partitions of `index1` | | eventual |
//!
//! The partition that everybody wants, a course's, is written only by staff.
//! Stripes and roster partitions take the crowd; of a sold-out course, the look that
//! one environment a second takes for all of them.

pub mod capacity;
pub mod course;
pub mod courses;
pub mod drop;
pub mod enroll;
pub mod events;
pub mod get_course;
pub mod get_timetable;
pub mod ids;
pub mod keys;
pub mod list_courses;
pub mod list_roster;
pub mod looks;
pub mod meeting;
pub mod plan;
pub mod put_course;
pub mod put_student;
pub mod refusal;
pub mod seats;

use platform::table::TableName;
use platform::{Function, Operation};

pub use ids::{CourseId, StudentId};

/// The functions of this system.
pub static FUNCTIONS: &[Function] = &[
    put_course::FUNCTION,
    list_courses::FUNCTION,
    get_course::FUNCTION,
    put_student::FUNCTION,
    enroll::FUNCTION,
    drop::FUNCTION,
    get_timetable::FUNCTION,
    list_roster::FUNCTION,
];

/// What the document says of them.
pub fn operations() -> Vec<Operation> {
    vec![
        put_course::operation(),
        list_courses::operation(),
        get_course::operation(),
        put_student::operation(),
        enroll::operation(),
        drop::operation(),
        get_timetable::operation(),
        list_roster::operation(),
    ]
}

/// The table of this system.
pub const TABLE: TableName = TableName { setting: "ENROLLMENT_TABLE", default: "Enrollment" };
