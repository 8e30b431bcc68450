//! What a schedule is to be: the body that create- and update-schedule share.

use garde::Validate;
use identity::time_zone;
use jiff::tz::TimeZone;
use platform::clock::{Instant, Time, When};
use platform::text::{self, Text};
use platform::{App, Problem, Request, http};
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::schedule::ProgressStatus;

/// The longest that a schedule may be: a leap year.
const LONGEST_DAYS: i64 = 366;
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// The body.
#[derive(Deserialize, Validate, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Body {
    #[garde(custom(text::title))]
    #[schema(value_type = text::Title)]
    title: Text,
    #[garde(inner(custom(text::contents)))]
    #[schema(value_type = Option<text::Contents>)]
    contents: Option<Text>,
    #[garde(skip)]
    #[schema(value_type = Time)]
    start_time: When,
    #[garde(skip)]
    #[schema(value_type = Time)]
    end_time: When,
    #[garde(skip)]
    progress_status: Option<ProgressStatus>,
    #[garde(inner(range(max = 40_320)))]
    #[schema(maximum = 40_320)]
    remind_before_minutes: Option<u32>,
}

/// What a schedule is to be.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Its title.
    pub title: String,
    /// What it says beside: nothing, if the body says nothing.
    pub contents: String,
    /// Its first millisecond.
    pub starts_at: Instant,
    /// The first millisecond after it.
    pub ends_at: Instant,
    /// How far it has come.
    pub progress_status: ProgressStatus,
    /// How long before its start its member is reminded, if at all.
    pub remind_before_minutes: Option<u32>,
}

/// The body in the document's examples.
pub(crate) fn example() -> Value {
    json!({
        "title": "Dentist",
        "startTime": "2030-01-01T09:00:00Z",
        "endTime": "2030-01-01T10:00:00Z",
        "remindBeforeMinutes": 60,
    })
}

impl Wanted {
    /// Reads the body of a member's request.
    pub async fn of(app: &App, request: &Request, member_id: &str) -> Result<Self, Problem> {
        let body: Body = http::body(request)?;
        let times = [Some(body.start_time), Some(body.end_time)];
        let zone = zone_for(app, member_id, times).await?;
        let starts_at = moment("startTime", body.start_time, &zone)?;
        let ends_at = moment("endTime", body.end_time, &zone)?;
        let length_ms = ends_at.as_millis() - starts_at.as_millis();
        if length_ms <= 0 {
            return Err(Problem::invalid("endTime", "expected a time after startTime"));
        }
        if length_ms > LONGEST_DAYS * DAY_MS {
            let message = format!("expected at most {LONGEST_DAYS} days after startTime");
            return Err(Problem::invalid("endTime", message));
        }
        Ok(Self {
            title: body.title.into_string(),
            contents: body.contents.map(Text::into_string).unwrap_or_default(),
            starts_at,
            ends_at,
            progress_status: body.progress_status.unwrap_or_default(),
            remind_before_minutes: body.remind_before_minutes,
        })
    }
}

/// The zone that a member's local times are read in. It is looked up only if
/// one of `times` is local.
pub async fn zone_for(
    app: &App,
    member_id: &str,
    times: [Option<When>; 2],
) -> Result<TimeZone, Problem> {
    if times.into_iter().flatten().any(When::is_local) {
        return time_zone::of(app, member_id).await;
    }
    Ok(TimeZone::UTC)
}

/// The moment that `time`, the value of `field`, means in `zone`.
pub fn moment(field: &str, time: When, zone: &TimeZone) -> Result<Instant, Problem> {
    time.at(zone).map_err(|error| Problem::invalid(field, error))
}
