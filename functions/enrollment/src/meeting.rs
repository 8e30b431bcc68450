//! When a course meets: days and periods.

use garde::Validate;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// A day of the week.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "UPPERCASE", try_from = "String")]
pub enum Day {
    /// Monday.
    Mon,
    /// Tuesday.
    Tue,
    /// Wednesday.
    Wed,
    /// Thursday.
    Thu,
    /// Friday.
    Fri,
    /// Saturday.
    Sat,
    /// Sunday.
    Sun,
}

impl Day {
    const ALL: [Self; 7] =
        [Self::Mon, Self::Tue, Self::Wed, Self::Thu, Self::Fri, Self::Sat, Self::Sun];

    /// Its name, as in `MON`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mon => "MON",
            Self::Tue => "TUE",
            Self::Wed => "WED",
            Self::Thu => "THU",
            Self::Fri => "FRI",
            Self::Sat => "SAT",
            Self::Sun => "SUN",
        }
    }
}

/// Text that is no day.
#[derive(Debug, thiserror::Error)]
#[error("expected one of MON, TUE, WED, THU, FRI, SAT, SUN")]
pub struct NotADay;

impl std::str::FromStr for Day {
    type Err = NotADay;

    fn from_str(text: &str) -> Result<Self, NotADay> {
        Self::ALL.into_iter().find(|day| day.as_str() == text).ok_or(NotADay)
    }
}

impl TryFrom<String> for Day {
    type Error = NotADay;

    fn try_from(text: String) -> Result<Self, NotADay> {
        text.parse()
    }
}

/// A stretch of periods on one day, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(rename_all = "camelCase", try_from = "Map<String, Value>")]
pub struct Meeting {
    /// The day.
    #[garde(skip)]
    pub day_of_week: Day,
    /// The first period, from 1.
    #[garde(range(min = 1, max = 20))]
    #[schema(minimum = 1, maximum = 20)]
    pub start_period: u32,
    /// The last period, up to 20.
    #[garde(range(min = 1, max = 20), custom(not_before(self.start_period)))]
    #[schema(minimum = 1, maximum = 20)]
    pub end_period: u32,
}

/// The fields of a meeting. They are read by name only: a list of values in
/// their order is no meeting.
impl TryFrom<Map<String, Value>> for Meeting {
    type Error = serde_json::Error;

    fn try_from(fields: Map<String, Value>) -> Result<Self, serde_json::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Fields {
            day_of_week: Day,
            start_period: u32,
            end_period: u32,
        }
        let fields = Fields::deserialize(Value::Object(fields))?;
        let Fields { day_of_week, start_period, end_period } = fields;
        Ok(Self { day_of_week, start_period, end_period })
    }
}

fn not_before(start: u32) -> impl FnOnce(&u32, &()) -> garde::Result {
    move |end, ()| {
        if *end >= start {
            return Ok(());
        }
        Err(garde::Error::new("expected at least startPeriod"))
    }
}

/// The periods of `meetings`, as in `MON-3`: what a student's plan holds.
/// Two courses clash when they share one.
pub fn periods(meetings: &[Meeting]) -> impl Iterator<Item = String> {
    meetings.iter().flat_map(|meeting| {
        let day = meeting.day_of_week.as_str();
        (meeting.start_period..=meeting.end_period).map(move |period| format!("{day}-{period}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meeting(start_period: u32, end_period: u32) -> Meeting {
        Meeting { day_of_week: Day::Mon, start_period, end_period }
    }

    #[test]
    fn both_ends_of_a_meeting_are_included() {
        let periods: Vec<String> = periods(&[meeting(1, 3), meeting(5, 5)]).collect();
        assert_eq!(periods, ["MON-1", "MON-2", "MON-3", "MON-5"]);
    }

    #[test]
    fn periods_out_of_range_or_the_wrong_way_round_are_refused() {
        assert!(meeting(1, 20).validate().is_ok());
        for (start, end) in [(0, 1), (1, 21), (3, 2), (21, 21)] {
            assert!(meeting(start, end).validate().is_err(), "{start}..{end}");
        }
    }

    #[test]
    fn a_meeting_is_read_by_the_names_of_its_fields_only() {
        let read = |text: &str| serde_json::from_str::<Meeting>(text);
        let text = r#"{"dayOfWeek":"MON","startPeriod":1,"endPeriod":3}"#;
        assert_eq!(read(text).unwrap(), meeting(1, 3));
        assert!(read(r#"["MON",1,3]"#).is_err());
        assert!(read(&text.replace("\"MON\"", r#"{"MON":null}"#)).is_err());
        assert!(read(&text.replace("MON", "mon")).is_err());
    }

    #[test]
    fn a_day_is_written_in_three_capital_letters() {
        assert_eq!("SUN".parse::<Day>().unwrap(), Day::Sun);
        for bad in ["", "mon", "MONDAY", "XXX"] {
            assert!(bad.parse::<Day>().is_err());
        }
    }
}
