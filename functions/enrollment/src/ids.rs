//! The ids of courses and students: whole numbers from 1 to 2^53 − 1, the
//! largest that every JSON reader keeps exact (RFC 8259, section 6).

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

const LAST: u64 = (1 << 53) - 1;

/// A number that is no id.
#[derive(Debug, thiserror::Error)]
#[error("expected a whole number from 1 to {LAST}")]
pub struct NotAnId;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
        )]
        #[serde(try_from = "u64")]
        #[schema(minimum = 1, maximum = 9_007_199_254_740_991_u64)]
        $(#[$doc])*
        pub struct $name(u64);

        impl $name {
            /// The number.
            pub fn get(self) -> u64 {
                self.0
            }
        }

        impl TryFrom<u64> for $name {
            type Error = NotAnId;

            fn try_from(number: u64) -> Result<Self, NotAnId> {
                if (1..=LAST).contains(&number) { Ok(Self(number)) } else { Err(NotAnId) }
            }
        }

        impl std::str::FromStr for $name {
            type Err = NotAnId;

            fn from_str(text: &str) -> Result<Self, NotAnId> {
                let is_plain = text.bytes().all(|b| b.is_ascii_digit()) && !text.starts_with('0');
                if !is_plain {
                    return Err(NotAnId);
                }
                text.parse().map_err(|_| NotAnId).and_then(|number: u64| number.try_into())
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id! {
    /// A course.
    CourseId
}

id! {
    /// A student.
    StudentId
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_whole_number_within_what_json_keeps_exact() {
        assert_eq!("1".parse::<CourseId>().unwrap().get(), 1);
        assert_eq!("9007199254740991".parse::<CourseId>().unwrap().get(), LAST);
        for bad in ["", "0", "-1", "+1", "1.0", "01", "9007199254740992", "18446744073709551616"] {
            assert!(bad.parse::<CourseId>().is_err(), "{bad:?}");
        }
        for bad in ["0", "-1", "1.5", "\"1\"", "null", "9007199254740992", "9223372036854775808"] {
            assert!(serde_json::from_str::<StudentId>(bad).is_err(), "{bad}");
        }
    }
}
