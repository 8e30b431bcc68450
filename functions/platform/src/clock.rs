//! Time, as an input.
//!
//! Whatever depends on the time asks the [`App`](crate::App)'s clock, so that a
//! test can stand at the millisecond before a sale opens and at the one after.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use utoipa::ToSchema;
use utoipa::openapi::{KnownFormat, ObjectBuilder, SchemaFormat, Type};

/// 0001-01-01T00:00:00Z.
const FIRST_MS: i64 = -62_135_596_800_000;
/// 9999-12-30T21:59:59Z, the last whole second that `jiff` holds in any zone.
const LAST_MS: i64 = 253_402_207_199_000;
const NANOS_PER_MILLI: i128 = 1_000_000;
const DAY_S: i64 = 24 * 60 * 60;

/// Where the time comes from.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    /// The machine's clock.
    #[default]
    System,
    /// A clock that stands still until it is moved: milliseconds since 1970.
    Manual(Arc<AtomicI64>),
    /// A clock that goes with Tokio's, which a simulation lets jump from one
    /// wait to the next.
    Tokio {
        /// What it showed at the start.
        began: Instant,
        /// The start.
        start: tokio::time::Instant,
    },
}

impl Clock {
    /// A clock that stands at `instant` until it is moved.
    pub fn manual(instant: Instant) -> Self {
        Self::Manual(Arc::new(AtomicI64::new(instant.as_millis())))
    }

    /// A clock that shows `instant` now, and goes with Tokio's.
    pub fn tokio(instant: Instant) -> Self {
        Self::Tokio { began: instant, start: tokio::time::Instant::now() }
    }

    /// The time now, to the millisecond.
    pub fn now(&self) -> Instant {
        match self {
            #[expect(clippy::disallowed_methods, reason = "the one place that asks the machine")]
            Self::System => Instant(Timestamp::now().as_millisecond()),
            Self::Manual(at_ms) => Instant(at_ms.load(Ordering::SeqCst)),
            Self::Tokio { began, start } => {
                let passed_ms = i64::try_from(start.elapsed().as_millis()).unwrap_or(i64::MAX);
                began.plus_millis(passed_ms)
            }
        }
    }

    /// Moves a manual clock by `ms` milliseconds; others stay.
    pub fn advance(&self, ms: i64) {
        if let Self::Manual(at_ms) = self {
            at_ms.fetch_add(ms, Ordering::SeqCst);
        }
    }
}

/// A moment, to the millisecond.
///
/// In JSON it is RFC 3339 in UTC. It is read with any offset, and without one
/// as UTC; of a finer time the millisecond that it is in counts. In a table it is a number of milliseconds since 1970, by way of
/// [`Instant::as_millis`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, ToSchema)]
#[schema(
    value_type = String, format = DateTime,
    description = "A time in UTC, to the millisecond. It is read with any offset, and without one as UTC."
)]
pub struct Instant(i64);

impl Instant {
    /// The moment `ms` milliseconds after 1970-01-01T00:00Z, or the nearest
    /// one that can be written with a year of four digits.
    pub fn from_millis(ms: i64) -> Self {
        Self(ms.clamp(FIRST_MS, LAST_MS))
    }

    /// Milliseconds since 1970-01-01T00:00Z.
    pub fn as_millis(self) -> i64 {
        self.0
    }

    /// Whole seconds since 1970-01-01T00:00Z, as tokens and TTL attributes use.
    pub fn as_seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// The moment `ms` milliseconds later.
    #[must_use]
    pub fn plus_millis(self, ms: i64) -> Self {
        Self::from_millis(self.0.saturating_add(ms))
    }
}

impl std::fmt::Display for Instant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match Timestamp::from_millisecond(self.0) {
            Ok(timestamp) => write!(f, "{timestamp}"),
            Err(_) => f.write_str("(out of range)"),
        }
    }
}

/// Text that is not a moment.
#[derive(Debug, thiserror::Error)]
#[error("expected a time as in 2030-01-01T00:00:00Z, from year 1 to 9999-12-30")]
pub struct NotAnInstant;

impl std::str::FromStr for Instant {
    type Err = NotAnInstant;

    fn from_str(text: &str) -> Result<Self, NotAnInstant> {
        text.parse::<When>()?.at(&TimeZone::UTC)
    }
}

/// A time as a client writes it: a moment, or the hands of a clock on a wall,
/// which show a moment only in a time zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// With an offset, as in `2030-01-01T09:00:00+01:00`.
    Moment(Instant),
    /// Without one, as in `2030-01-01T09:00:00`.
    Local(DateTime),
}

crate::schema! {
    /// What [`When`] is read from, in the document.
    pub Time = ObjectBuilder::new()
        .schema_type(Type::String)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
        .description(Some("A time with any offset, or without one, in the member's time zone."))
}

impl When {
    /// Whether it takes a time zone to know the moment.
    pub fn is_local(self) -> bool {
        matches!(self, Self::Local(_))
    }

    /// The moment, with a local time read in `zone`. One that the clocks skip
    /// is moved forward by what they skip; of one that they show twice it is
    /// the earlier.
    pub fn at(self, zone: &TimeZone) -> Result<Instant, NotAnInstant> {
        match self {
            Self::Moment(instant) => Ok(instant),
            Self::Local(local) => {
                // Compatible with RFC 5545 (iCalendar), which has it so.
                let moment = zone.to_ambiguous_timestamp(local).compatible();
                within_range(moment.map_err(|_| NotAnInstant)?)
            }
        }
    }
}

impl std::str::FromStr for When {
    type Err = NotAnInstant;

    fn from_str(text: &str) -> Result<Self, NotAnInstant> {
        // By its form alone: the parser of local times passes over an offset.
        match form(text).ok_or(NotAnInstant)? {
            Form::Moment => moment(text).map(Self::Moment),
            Form::Local => local(text).map(Self::Local),
        }
    }
}

impl<'de> Deserialize<'de> for When {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

/// The millisecond in which `moment` is.
fn within_range(moment: Timestamp) -> Result<Instant, NotAnInstant> {
    let ms = i64::try_from(moment.as_nanosecond().div_euclid(NANOS_PER_MILLI));
    let ms = ms.ok().filter(|ms| (FIRST_MS..=LAST_MS).contains(ms));
    ms.map(Instant).ok_or(NotAnInstant)
}

/// A time with an offset. A leap second, which is 23:59:60 in UTC, is in the
/// second before it.
fn moment(text: &str) -> Result<Instant, NotAnInstant> {
    let moment = within_range(text.parse().map_err(|_| NotAnInstant)?)?;
    let is_last_of_day = moment.as_seconds().rem_euclid(DAY_S) == DAY_S - 1;
    if is_last_of_day || !has_second_60(text) { Ok(moment) } else { Err(NotAnInstant) }
}

/// A time without an offset, and so without a leap second: when that is in some
/// zone, its hands do not tell.
fn local(text: &str) -> Result<DateTime, NotAnInstant> {
    if has_second_60(text) { Err(NotAnInstant) } else { text.parse().map_err(|_| NotAnInstant) }
}

/// Whether it is the 60th second of its minute, which the parser takes for the
/// 59th in any of them.
fn has_second_60(text: &str) -> bool {
    text.get(17..19) == Some("60")
}

/// How a time is written.
enum Form {
    /// With an offset.
    Moment,
    /// Without one.
    Local,
}

/// Which form of RFC 3339 `text` has, with an offset or without, if any. The
/// parser by itself also takes dates without a time and names of zones.
fn form(text: &str) -> Option<Form> {
    let digit_as_0 = |c: char| if c.is_ascii_digit() { '0' } else { c.to_ascii_uppercase() };
    let form: String = text.chars().map(digit_as_0).collect();
    let rest = form.strip_prefix("0000-00-00T00:00:00")?;
    let fraction =
        rest.strip_prefix('.').map_or(0, |f| 1 + f.find(|c| c != '0').unwrap_or(f.len()));
    let (fraction, offset) = rest.split_at(fraction);
    if !fraction.is_empty() && !(2..=10).contains(&fraction.len()) {
        return None;
    }
    let hours = text.rsplit(['+', '-']).next().and_then(|offset| offset.get(..2));
    match offset {
        "" => Some(Form::Local),
        "Z" => Some(Form::Moment),
        "+00:00" | "-00:00" if hours.is_some_and(|hours| hours <= "23") => Some(Form::Moment),
        _ => None,
    }
}

impl Serialize for Instant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Instant {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_read_with_any_offset_and_without_one_as_utc() {
        let utc: Instant = "2030-01-01T09:00:00Z".parse().unwrap();
        assert_eq!("2030-01-01T10:00:00+01:00".parse::<Instant>().unwrap(), utc);
        assert_eq!("2030-01-01T09:00:00".parse::<Instant>().unwrap(), utc);
        assert_eq!(utc.to_string(), "2030-01-01T09:00:00Z");
        assert_eq!(utc.plus_millis(5).to_string(), "2030-01-01T09:00:00.005Z");
    }

    #[test]
    fn what_is_no_moment_is_refused() {
        for text in [
            "",
            "tomorrow",
            "1893456000",
            "2030-01-01",
            "20300101T000000Z",
            "2030-13-01T00:00:00Z",
            "2030-02-30T00:00:00Z",
            "2030-01-01T00:00:00+25:00",
            "2030-01-01T00:00:00.Z",
            "2030-01-01T00:00:00[Europe/Berlin]",
            "0000-01-01T00:00:00Z",
            "9999-12-31T23:59:59Z",
            "２030-01-01T00:00:00Z",
        ] {
            assert!(text.parse::<Instant>().is_err(), "{text:?} was read as a time");
        }
    }

    #[test]
    fn a_local_time_is_read_in_its_zone_and_another_is_not() {
        let berlin = TimeZone::get("Europe/Berlin").unwrap();
        let at = |text: &str| text.parse::<When>().unwrap().at(&berlin).unwrap().to_string();
        assert_eq!(at("2030-01-15T12:00:00"), "2030-01-15T11:00:00Z");
        assert_eq!(at("2030-07-15T12:00:00.25"), "2030-07-15T10:00:00.25Z");
        assert_eq!(at("2030-07-15T12:00:00Z"), "2030-07-15T12:00:00Z");
        assert_eq!(at("2030-07-15T12:00:00-05:00"), "2030-07-15T17:00:00Z");
    }

    #[test]
    fn a_time_that_clocks_skip_moves_forward_and_one_they_repeat_is_the_earlier() {
        let at = |zone: &str, text: &str| {
            let zone = TimeZone::get(zone).unwrap();
            text.parse::<When>().unwrap().at(&zone).unwrap().to_string()
        };
        // 02:30 is not there: 03:30 by the new offset.
        assert_eq!(at("Europe/Berlin", "2030-03-31T02:30:00"), "2030-03-31T01:30:00Z");
        assert_eq!(at("America/New_York", "2030-03-10T02:30:00"), "2030-03-10T07:30:00Z");
        // 02:30 is there twice, first by the offset of summer.
        assert_eq!(at("Europe/Berlin", "2030-10-27T02:30:00"), "2030-10-27T00:30:00Z");
        // Half an hour is skipped.
        assert_eq!(at("Australia/Lord_Howe", "2030-10-06T02:15:00"), "2030-10-05T15:45:00Z");
    }

    #[test]
    fn a_local_time_that_leaves_the_range_in_its_zone_is_refused() {
        let zone = TimeZone::get("Pacific/Honolulu").unwrap();
        assert!("9999-12-30T12:00:00".parse::<When>().unwrap().at(&zone).is_err());
        assert!("9999-12-29T12:00:00".parse::<When>().unwrap().at(&zone).is_ok());
        assert!("0001-01-01T00:00:00".parse::<When>().unwrap().at(&zone).is_ok());
        let zone = TimeZone::get("Asia/Tokyo").unwrap();
        assert!("0001-01-01T00:00:00".parse::<When>().unwrap().at(&zone).is_err());
    }

    #[test]
    fn an_offset_is_never_passed_over_at_either_end_of_time() {
        for (bad, good) in [
            ("9999-12-30T23:00:00-05:00", "9999-12-30T16:59:59-05:00"),
            ("9999-12-31T12:00:00+01:00", "9999-12-30T22:59:59+01:00"),
            ("9999-12-31T23:59:59+23:59", "9999-12-30T21:59:59+00:00"),
            ("9999-12-30T22:00:00Z", "9999-12-30T21:59:59Z"),
            ("0001-01-01T00:00:00+01:00", "0001-01-01T01:00:00+01:00"),
            ("0001-01-01T00:00:00+23:59", "0001-01-01T00:00:00-23:59"),
            ("0000-12-31T23:59:59Z", "0001-01-01T00:00:00Z"),
        ] {
            assert!(bad.parse::<When>().is_err(), "{bad} was read");
            assert!(matches!(good.parse(), Ok(When::Moment(_))), "{good} was not read");
        }
    }

    #[test]
    fn a_time_is_in_the_millisecond_that_has_begun() {
        for (text, ms) in [
            ("1969-12-31T23:59:59.9999Z", -1),
            ("1969-12-31T23:59:59.999Z", -1),
            ("1969-12-31T23:59:59.998999999Z", -2),
            ("1970-01-01T00:00:00.000999999Z", 0),
            ("0001-01-01T00:00:00.0009Z", FIRST_MS),
        ] {
            assert_eq!(text.parse::<Instant>().unwrap().as_millis(), ms, "{text}");
        }
        assert!("0000-12-31T23:59:59.9999Z".parse::<Instant>().is_err());
        let local: When = "1969-12-31T23:59:59.9999".parse().unwrap();
        assert_eq!(local.at(&TimeZone::UTC).unwrap().as_millis(), -1);
    }

    #[test]
    fn a_leap_second_is_in_the_last_second_of_a_day_of_utc_and_nowhere_else() {
        for (good, utc) in [
            ("2016-12-31T23:59:60Z", "2016-12-31T23:59:59Z"),
            ("2017-01-01T08:59:60+09:00", "2016-12-31T23:59:59Z"),
            ("2016-12-31T18:59:60-05:00", "2016-12-31T23:59:59Z"),
            ("1969-12-31T23:59:60Z", "1969-12-31T23:59:59Z"),
        ] {
            assert_eq!(good.parse::<Instant>().unwrap().to_string(), utc, "{good}");
        }
        for bad in [
            "2016-12-31T12:30:60Z",
            "2016-12-31T23:58:60Z",
            "2016-12-31T22:59:60Z",
            "2016-12-31T23:59:60+09:00",
            "2016-12-31T23:59:61Z",
            "2016-12-31T12:30:60",
            "2016-12-31T23:59:60",
        ] {
            assert!(bad.parse::<When>().is_err(), "{bad:?} was read as a time");
        }
    }

    #[test]
    fn years_of_four_digits_are_the_range() {
        assert!("9999-12-30T21:59:59Z".parse::<Instant>().is_ok());
        assert!("2038-01-19T03:14:08Z".parse::<Instant>().is_ok());
        assert_eq!(Instant::from_millis(i64::MAX).to_string(), "9999-12-30T21:59:59Z");
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_of_tokio_goes_while_somebody_waits() {
        let clock = Clock::tokio(Instant::from_millis(1_000));
        assert_eq!(clock.now().as_millis(), 1_000);
        tokio::time::sleep(std::time::Duration::from_millis(234)).await;
        assert_eq!(clock.now().as_millis(), 1_234);
    }

    #[test]
    fn a_manual_clock_moves_only_when_told() {
        let clock = Clock::manual(Instant::from_millis(1_000));
        assert_eq!(clock.now().as_millis(), 1_000);
        clock.advance(234);
        assert_eq!(clock.now().as_millis(), 1_234);
    }
}
