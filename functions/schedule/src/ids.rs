//! The ids of schedules: UUIDs, in lower case wherever they are kept.

use platform::App;
use serde::{Deserialize, Serialize};

/// Where the hyphens of a UUID stand (RFC 9562, section 4).
const HYPHENS: [usize; 4] = [8, 13, 18, 23];
const LENGTH: usize = 36;

/// A schedule.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct ScheduleId(String);

/// Text that is no id.
#[derive(Debug, thiserror::Error)]
#[error("expected a UUID, as in 01941f29-7c00-7000-8000-000000000001")]
pub struct NotAnId;

impl ScheduleId {
    /// A new one.
    pub fn new(app: &App) -> Self {
        Self(app.new_id())
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A number to spread ids by: their last 48 bits, which are random.
    pub fn random_bits(&self) -> u64 {
        let last = self.0.rsplit('-').next().unwrap_or_default();
        u64::from_str_radix(last, 16).unwrap_or(0)
    }
}

impl std::str::FromStr for ScheduleId {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let is_uuid = text.len() == LENGTH
            && text.bytes().enumerate().all(|(place, byte)| {
                if HYPHENS.contains(&place) { byte == b'-' } else { byte.is_ascii_hexdigit() }
            });
        if is_uuid { Ok(Self(text.to_ascii_lowercase())) } else { Err(NotAnId) }
    }
}

impl TryFrom<String> for ScheduleId {
    type Error = NotAnId;

    fn try_from(text: String) -> Result<Self, NotAnId> {
        text.parse()
    }
}

impl std::fmt::Display for ScheduleId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_uuid_in_any_case() {
        let id: ScheduleId = "01941F29-7C00-7000-8000-00000000000A".parse().unwrap();
        assert_eq!(id.as_str(), "01941f29-7c00-7000-8000-00000000000a");
        assert_eq!(id.random_bits(), 10);
        for bad in [
            "",
            "1",
            "01941f297c0070008000000000000001",
            "01941f29-7c00-7000-8000-00000000000g",
            "01941f29-7c00-7000-8000-0000000000011",
            "01941f29-7c00-7000-8000_000000000001",
            "01941f29-7c00-7000-8000-0000000000é",
        ] {
            assert!(bad.parse::<ScheduleId>().is_err(), "{bad:?}");
        }
    }
}
