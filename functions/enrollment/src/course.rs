//! A course as the table keeps it and as clients see it.

use platform::clock::Instant;
use platform::table::Item;
use platform::{Problem, problem};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::ids::CourseId;
use crate::keys;
use crate::meeting::{Day, Meeting};

/// How long an environment may go on with a course that it has read, in
/// milliseconds.
pub const LIFETIME_MS: i64 = 5_000;

/// The longest that one run of enroll takes: the timeout in the template, in
/// milliseconds.
pub const ENROLL_TIMEOUT_MS: i64 = 15_000;

/// After so many milliseconds no run of enroll goes by an older course.
pub const SETTLED_MS: i64 = LIFETIME_MS + ENROLL_TIMEOUT_MS;

/// A course.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Course {
    /// Its id.
    pub course_id: CourseId,
    /// Its name.
    pub name: String,
    /// Credits that it takes.
    pub credit: u32,
    /// When it meets.
    pub meetings: Vec<Meeting>,
    /// The term that it belongs to.
    pub term: String,
    /// Seats in all its stripes.
    pub capacity: u64,
    /// The capacity that was asked for last, and is being brought about.
    pub target: u64,
    /// Stripes that hold its seats.
    pub stripes: u32,
    /// When enrollment opens: always open before it closes if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opens_at_ms: Option<i64>,
    /// When enrollment closes: never if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closes_at_ms: Option<i64>,
    /// When opening or closing time were changed last; 0 if never.
    pub window_changed_at_ms: i64,
    /// Counts the changes that staff asked for.
    pub version: u64,
}

impl Course {
    /// Reads an item.
    pub fn from_item(item: Item) -> Result<Self, Problem> {
        platform::table::read(item)
    }

    /// The item, with its key.
    pub fn to_item(&self) -> Result<Item, Problem> {
        platform::table::item(keys::course(self.course_id), self)
    }

    /// When enrollment opens.
    pub fn opens_at(&self) -> Option<Instant> {
        self.opens_at_ms.map(Instant::from_millis)
    }

    /// When enrollment closes.
    pub fn closes_at(&self) -> Option<Instant> {
        self.closes_at_ms.map(Instant::from_millis)
    }

    /// Whether students can enroll at `now`: from the opening to just before
    /// the closing.
    pub fn is_open(&self, now: Instant) -> bool {
        !self.is_closed_throughout(now, now)
    }

    /// Whether nobody can have enrolled lately, nor will shortly, by any copy
    /// of this course that an environment may hold at `now`.
    pub fn is_settled_and_closed(&self, now: Instant) -> bool {
        self.window_changed_at_ms + SETTLED_MS <= now.as_millis()
            && self.is_closed_throughout(now.plus_millis(-SETTLED_MS), now.plus_millis(SETTLED_MS))
    }

    fn is_closed_throughout(&self, from: Instant, to: Instant) -> bool {
        let opens_in_time = self.opens_at().is_none_or(|opens_at| opens_at <= to);
        let closes_after = self.closes_at().is_none_or(|closes_at| from < closes_at);
        !(opens_in_time && closes_after)
    }

    /// The days whose listings it belongs to, each once.
    pub fn days(&self) -> Vec<Day> {
        let mut days: Vec<Day> = self.meetings.iter().map(|m| m.day_of_week).collect();
        days.sort_unstable();
        days.dedup();
        days
    }

    /// What clients see.
    pub fn view(&self) -> CourseView {
        let single = match self.meetings.as_slice() {
            [meeting] => Some(*meeting),
            _ => None,
        };
        CourseView {
            course_id: self.course_id,
            name: self.name.clone(),
            credit: self.credit,
            single,
            meetings: self.meetings.clone(),
            capacity: self.capacity,
            term: self.term.clone(),
            opens_at: self.opens_at(),
            closes_at: self.closes_at(),
        }
    }
}

/// A course as JSON. One with a single meeting also shows it at the top.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CourseView {
    course_id: CourseId,
    name: String,
    credit: u32,
    #[serde(flatten)]
    #[schema(value_type = Single)]
    single: Option<Meeting>,
    meetings: Vec<Meeting>,
    capacity: u64,
    term: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    opens_at: Option<Instant>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    closes_at: Option<Instant>,
}

/// What a course with a single meeting shows at the top, in the document.
#[derive(ToSchema)]
#[schema(as = SingleMeeting, rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used")]
struct Single {
    #[schema(nullable = false)]
    day_of_week: Option<Day>,
    #[schema(nullable = false)]
    start_period: Option<u32>,
    #[schema(nullable = false)]
    end_period: Option<u32>,
}

/// A course in the document's examples.
pub(crate) fn example() -> Value {
    json!({
        "courseId": 1,
        "name": "Databases",
        "credit": 3,
        "dayOfWeek": "MON",
        "startPeriod": 1,
        "endPeriod": 3,
        "meetings": [{ "dayOfWeek": "MON", "startPeriod": 1, "endPeriod": 3 }],
        "capacity": 30,
        "term": "default",
        "opensAt": "2030-02-01T09:00:00Z",
    })
}

/// An item that is missing or cannot be read although it must be there.
pub(crate) fn broken(what: &str) -> Problem {
    Problem::from(problem::INTERNAL).caused_by(format!("{what} is missing or unreadable"))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn course() -> Course {
        Course {
            course_id: 101.try_into().unwrap(),
            name: "Databases".into(),
            credit: 3,
            meetings: vec![Meeting { day_of_week: Day::Mon, start_period: 1, end_period: 3 }],
            term: "default".into(),
            capacity: 30,
            target: 30,
            stripes: 30,
            opens_at_ms: None,
            closes_at_ms: None,
            window_changed_at_ms: 0,
            version: 1,
        }
    }

    fn at(ms: i64) -> Instant {
        Instant::from_millis(ms)
    }

    #[test]
    fn a_course_is_open_from_its_opening_to_just_before_its_closing() {
        let course = Course { opens_at_ms: Some(1_000), closes_at_ms: Some(2_000), ..course() };
        let open: Vec<bool> = [999, 1_000, 1_999, 2_000].map(|ms| course.is_open(at(ms))).into();
        assert_eq!(open, [false, true, true, false]);
        assert!(tests::course().is_open(at(0)));
    }

    #[test]
    fn hours_may_change_only_when_no_copy_of_the_course_is_open() {
        let now = 1_000_000;
        let closed_for = |ms: i64| Course { closes_at_ms: Some(now - ms), ..course() };
        assert!(closed_for(SETTLED_MS).is_settled_and_closed(at(now)));
        assert!(!closed_for(SETTLED_MS - 1).is_settled_and_closed(at(now)));
        let opens_in = |ms: i64| Course { opens_at_ms: Some(now + ms), ..course() };
        assert!(opens_in(SETTLED_MS + 1).is_settled_and_closed(at(now)));
        assert!(!opens_in(SETTLED_MS).is_settled_and_closed(at(now)));
        let just_closed =
            Course { window_changed_at_ms: now - SETTLED_MS + 1, ..opens_in(i64::from(u32::MAX)) };
        assert!(!just_closed.is_settled_and_closed(at(now)));
    }

    #[test]
    fn a_course_survives_the_table() {
        let course = Course { opens_at_ms: Some(5), ..course() };
        assert_eq!(Course::from_item(course.to_item().unwrap()).unwrap(), course);
    }

    #[test]
    fn a_single_meeting_is_shown_at_the_top_too() {
        let json = serde_json::to_value(course().view()).unwrap();
        assert_eq!((&json["dayOfWeek"], &json["endPeriod"]), (&"MON".into(), &3.into()));
        assert_eq!(json["meetings"][0]["startPeriod"], 1);
        assert!(json.get("opensAt").is_none());
    }
}
