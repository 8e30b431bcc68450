//! The ids of posts: UUIDs, in lower case wherever they are kept.

use platform::App;
use serde::{Deserialize, Serialize, Serializer};
use utoipa::ToSchema;
use uuid::Uuid;

/// With its hyphens (RFC 9562, section 4); other forms are not taken.
const LENGTH: usize = 36;

/// A post.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, ToSchema)]
#[serde(try_from = "String")]
#[schema(value_type = String, format = "uuid")]
pub struct PostId(Uuid);

/// Text that is no id.
#[derive(Debug, thiserror::Error)]
#[error("expected a UUID, as in 01941f29-7c00-7000-8000-000000000001")]
pub struct NotAnId;

impl PostId {
    /// A new one.
    pub fn new(app: &App) -> Result<Self, NotAnId> {
        app.new_id().parse()
    }

    /// A number to spread ids by: their second half, which is random.
    pub fn random_bits(self) -> u64 {
        self.0.as_u64_pair().1
    }

    /// The id that stands as far from the end as this one from the beginning:
    /// of two, the older one's comes later.
    #[must_use]
    pub fn inverted(self) -> Self {
        Self(Uuid::from_u128(!self.0.as_u128()))
    }
}

impl std::str::FromStr for PostId {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        if text.len() != LENGTH {
            return Err(NotAnId);
        }
        Uuid::try_parse(text).map(Self).map_err(|_| NotAnId)
    }
}

impl TryFrom<String> for PostId {
    type Error = NotAnId;

    fn try_from(text: String) -> Result<Self, NotAnId> {
        text.parse()
    }
}

impl std::fmt::Display for PostId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

impl Serialize for PostId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_uuid_in_any_case() {
        let id: PostId = "01941F29-7C00-7000-8000-00000000000A".parse().unwrap();
        assert_eq!(id.to_string(), "01941f29-7c00-7000-8000-00000000000a");
        assert_eq!(id.random_bits(), 0x8000_0000_0000_000a);
        for bad in [
            "",
            "1",
            "popular",
            "01941f297c0070008000000000000001",
            "{01941f29-7c00-7000-8000-00000000001}",
            "01941f29-7c00-7000-8000-00000000000g",
            "01941f29-7c00-7000-8000-0000000000011",
            "01941f29-7c00-7000-8000_000000000001",
            "01941f29-7c00-7000-8000-0000000000é",
        ] {
            assert!(bad.parse::<PostId>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn of_two_inverted_ids_the_older_ones_is_the_later() {
        let [older, newer]: [PostId; 2] =
            ["01941f29-7c00-7000-8000-000000000001", "01941f29-7c01-7000-8000-000000000000"]
                .map(|text| text.parse().unwrap());
        assert!(older < newer);
        assert!(older.inverted().to_string() > newer.inverted().to_string());
        assert_eq!(older.inverted().inverted(), older);
    }
}
