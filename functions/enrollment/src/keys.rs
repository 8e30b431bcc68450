//! Every key of the table `Enrollment`, in one place.

use platform::stripes::shard;
use platform::table::Key;

use crate::ids::{CourseId, StudentId};
use crate::meeting::Day;

/// Partitions that a course's roster is spread over in `index1`. Each takes
/// about a thousand enrollments a second.
pub const ROSTER_SHARDS: u32 = 8;

/// A course.
pub fn course(id: CourseId) -> Key {
    Key::new(format!("COURSE#{id}"), "COURSE")
}

/// One stripe of a course's seats, under a partition key of its own. Sixteen
/// stripes to a key would make it sixteen times cheaper to look at all; but of
/// 20,000 simulated callers at 40 partitions, such a course enrolled 2,402 a second
/// and put some off, where this one enrolls 5,321 and puts nobody off: keys that
/// happen to share a partition share its 1,000 write units a second.
pub fn seats(id: CourseId, stripe: u32) -> Key {
    Key::new(format!("COURSE#{id}#SEATS#{stripe}"), "SEATS")
}

/// What was last seen by somebody who looked at all of a course's stripes.
pub fn look(id: CourseId) -> Key {
    Key::new(format!("COURSE#{id}#LOOK"), "LOOK")
}

/// A course in the listing of a day, or in that of all days.
pub fn listing(day: Option<Day>, id: CourseId) -> Key {
    Key::new(listing_partition(day), listing_position(id))
}

/// The partition of a listing.
pub fn listing_partition(day: Option<Day>) -> String {
    format!("COURSES#{}", day.map_or("ALL", Day::as_str))
}

/// Where a course stands in its listings: in the order of their ids.
pub fn listing_position(id: CourseId) -> String {
    format!("COURSE#{:016}", id.get())
}

/// A student's plan for a term.
pub fn plan(student: StudentId, term: &str) -> Key {
    Key::new(format!("STUDENT#{student}"), format!("PLAN#{term}"))
}

/// A student's enrollment in a course.
pub fn enrollment(student: StudentId, course: CourseId) -> Key {
    Key::new(format!("STUDENT#{student}"), format!("ENROLLMENT#{course}"))
}

/// One partition of a course's roster in `index1`.
pub fn roster_partition(course: CourseId, shard: u32) -> String {
    format!("COURSE#{course}#ROSTER#{shard}")
}

/// The partition of a student in a course's roster.
pub fn roster_partition_of(course: CourseId, student: StudentId) -> String {
    roster_partition(course, shard(student.get(), ROSTER_SHARDS))
}

/// Where a student stands in a roster: in the order of enrollment.
pub fn roster_position(enrolled_at_ms: i64, student: StudentId) -> String {
    format!("{enrolled_at_ms:015}#{:016}", student.get())
}

/// What [`roster_position`] holds.
pub fn parse_roster_position(position: &str) -> Option<(i64, StudentId)> {
    let (enrolled_at_ms, student) = position.split_once('#')?;
    let student: u64 = student.parse().ok()?;
    Some((enrolled_at_ms.parse().ok()?, student.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_what_the_table_holds() {
        let (course, student): (CourseId, StudentId) =
            (101.try_into().unwrap(), 7.try_into().unwrap());
        let key = |pk: &str, sk: &str| Key::new(pk, sk);
        assert_eq!(super::course(course), key("COURSE#101", "COURSE"));
        assert_eq!(seats(course, 255), key("COURSE#101#SEATS#255", "SEATS"));
        assert_eq!(look(course), key("COURSE#101#LOOK", "LOOK"));
        assert_eq!(listing(None, course), key("COURSES#ALL", "COURSE#0000000000000101"));
        assert_eq!(listing(Some(Day::Mon), course), key("COURSES#MON", "COURSE#0000000000000101"));
        assert_eq!(plan(student, "default"), key("STUDENT#7", "PLAN#default"));
        assert_eq!(enrollment(student, course), key("STUDENT#7", "ENROLLMENT#101"));
        assert_eq!(roster_partition(course, 3), "COURSE#101#ROSTER#3");
    }

    #[test]
    fn a_roster_position_sorts_by_time_and_can_be_read_back() {
        let student = |id: u64| StudentId::try_from(id).unwrap();
        let early = roster_position(999_999_999_999, student(9));
        let late = roster_position(1_900_000_000_000, student(1));
        assert!(early < late);
        assert_eq!(parse_roster_position(&late), Some((1_900_000_000_000, student(1))));
        assert_eq!(parse_roster_position("x#y"), None);
    }
}
