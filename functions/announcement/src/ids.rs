//! The ids of announcements and documents, which staff choose: 1 to 64 letters,
//! digits, `-` and `_`.

use platform::text::{Text, slug};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Text that is no id.
#[derive(Debug, thiserror::Error)]
#[error("expected 1 to 64 letters, digits, - or _")]
pub struct NotAnId;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
        )]
        #[serde(try_from = "String")]
        #[schema(value_type = String, pattern = "^[A-Za-z0-9_-]{1,64}$")]
        pub struct $name(String);

        impl $name {
            /// Its text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = NotAnId;

            fn from_str(text: &str) -> Result<Self, NotAnId> {
                slug(&Text::from(text), &()).map_err(|_| NotAnId)?;
                Ok(Self(text.to_owned()))
            }
        }

        impl TryFrom<String> for $name {
            type Error = NotAnId;

            fn try_from(text: String) -> Result<Self, NotAnId> {
                text.parse()
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id! {
    /// An announcement.
    AnnouncementId
}

id! {
    /// A document that an announcement asks for.
    DocumentId
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_cannot_break_out_of_a_key() {
        assert_eq!("housing-2030_A".parse::<AnnouncementId>().unwrap().as_str(), "housing-2030_A");
        for bad in ["", "a#b", "a b", "a/b", "é", "e\u{301}", &"a".repeat(65)] {
            assert!(bad.parse::<AnnouncementId>().is_err(), "{bad:?}");
            assert!(serde_json::from_value::<DocumentId>(bad.into()).is_err(), "{bad:?}");
        }
    }
}
