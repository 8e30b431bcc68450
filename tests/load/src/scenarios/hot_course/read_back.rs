//! Reads back through the API what a run left behind.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt, stream};
use http::Method;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::plan::Plan;
use super::setup::AT_A_TIME;
use crate::call::Request;
use crate::caller::Caller;
use crate::error::Error;

/// Students on one page of a roster.
pub(crate) const PAGE: usize = 100;
/// How long a roster, which is read from an index, may take to settle.
const SETTLES_WITHIN: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Everything that was read back, by place in the plan.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// The courses.
    pub(crate) courses: Vec<Course>,
    /// The students' timetables.
    pub(crate) timetables: Vec<Timetable>,
}

/// A course as it was read back.
#[derive(Clone, Debug)]
pub(crate) struct Course {
    /// What its seats say.
    pub(crate) seats: Seats,
    /// The ids on its roster, as they came.
    pub(crate) roster: Vec<u64>,
}

/// The seats of a course.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Seats {
    /// How many there are.
    pub(crate) capacity: u64,
    /// How many are taken.
    pub(crate) enrolled: u64,
    /// How many are free.
    pub(crate) left: u64,
}

/// A student's timetable.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Timetable {
    /// The courses on it.
    pub(crate) items: Vec<Held>,
    /// What they took.
    pub(crate) credits: Credits,
}

/// A course on a timetable.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Held {
    /// Its id.
    pub(crate) course_id: u64,
    /// Its credits.
    pub(crate) credit: u64,
    /// When it meets.
    pub(crate) meetings: Vec<Meeting>,
}

/// Periods of a day.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Meeting {
    /// The day.
    pub(crate) day_of_week: String,
    /// The first period.
    pub(crate) start_period: u32,
    /// The last one.
    pub(crate) end_period: u32,
}

/// Credits of a student.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Credits {
    /// What was taken.
    pub(crate) taken: u64,
    /// What may be.
    pub(crate) max: u64,
}

/// Reads everything back.
pub(crate) async fn read(staff: &Caller, token: &Arc<str>, plan: &Plan) -> Result<Seen, Error> {
    let reader = Reader { staff, token };
    let timetables: Vec<Timetable> = stream::iter(0..plan.students())
        .map(|student| reader.timetable(plan.student_id(student)))
        .buffered(AT_A_TIME)
        .try_collect()
        .await?;
    let mut holders = vec![BTreeSet::new(); plan.courses()];
    for (student, timetable) in timetables.iter().enumerate() {
        let wanted = plan.wanted_by(student);
        if timetable.items.iter().any(|held| held.course_id == plan.course_id(wanted)) {
            holders[wanted].insert(plan.student_id(student));
        }
    }
    let courses = stream::iter(holders.iter().enumerate())
        .map(|(course, holders)| reader.course(plan.course_id(course), holders))
        .buffered(AT_A_TIME)
        .try_collect()
        .await?;
    Ok(Seen { courses, timetables })
}

#[derive(Clone, Copy)]
struct Reader<'a> {
    staff: &'a Caller,
    token: &'a Arc<str>,
}

impl Reader<'_> {
    async fn get<T: DeserializeOwned>(
        self,
        operation: &'static str,
        path: String,
    ) -> Result<T, Error> {
        let request = Request::new(operation, Method::GET, path).token(self.token);
        let answer = self.staff.insist(&request).await?;
        answer.json().map_err(|error| Error::NotAsPromised { operation, error })
    }

    async fn timetable(self, student: u64) -> Result<Timetable, Error> {
        self.get("get-timetable", format!("/students/{student}/enrollments")).await
    }

    /// A course's seats, and its roster once it names `holders` or has had its
    /// time to settle.
    async fn course(self, course: u64, holders: &BTreeSet<u64>) -> Result<Course, Error> {
        #[derive(Deserialize)]
        struct Body {
            seats: Seats,
        }
        let path = format!("/courses/{course}?fresh=true");
        let Body { seats } = self.get("get-course", path).await?;
        let settled_by = Instant::now() + SETTLES_WITHIN;
        loop {
            let roster = self.roster(course).await?;
            let is_settled = roster.len() == holders.len()
                && roster.iter().all(|student| holders.contains(student));
            if is_settled || Instant::now() >= settled_by {
                return Ok(Course { seats, roster });
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    async fn roster(self, course: u64) -> Result<Vec<u64>, Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Page {
            items: Vec<Entry>,
            next_cursor: Option<String>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Entry {
            student_id: u64,
        }
        let mut students = Vec::new();
        let mut cursor = None;
        loop {
            let from = cursor.map_or_else(String::new, |cursor| format!("&cursor={cursor}"));
            let path = format!("/courses/{course}/enrollments?limit={PAGE}{from}");
            let page: Page = self.get("list-roster", path).await?;
            students.extend(page.items.iter().map(|entry| entry.student_id));
            cursor = page.next_cursor;
            if cursor.is_none() {
                return Ok(students);
            }
        }
    }
}
