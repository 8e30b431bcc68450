//! Ids as types: one that the server makes, and one that staff choose.
//!
//! Each kind of thing has an id type of its own, made by [`uuid_id`] or
//! [`slug_id`], so that none is taken for another. Both can stand in a key:
//! they hold no `#`.

/// Text that is no id made by the server.
#[derive(Debug, thiserror::Error)]
#[error("expected a UUID, as in 01941f29-7c00-7000-8000-000000000001")]
pub struct NotAUuid;

/// Text that is no id chosen by staff.
#[derive(Debug, thiserror::Error)]
#[error("expected 1 to 64 letters, digits, - or _")]
pub struct NotASlug;

/// Where the hyphens of a UUID stand (RFC 9562, section 4).
const HYPHENS: [usize; 4] = [8, 13, 18, 23];
const LENGTH: usize = 36;

/// `text` in lower case, if it is a UUID.
pub fn uuid(text: &str) -> Result<String, NotAUuid> {
    let is_uuid = text.len() == LENGTH
        && text.bytes().enumerate().all(|(place, byte)| {
            if HYPHENS.contains(&place) { byte == b'-' } else { byte.is_ascii_hexdigit() }
        });
    if is_uuid { Ok(text.to_ascii_lowercase()) } else { Err(NotAUuid) }
}

/// `text`, if it is 1 to 64 letters, digits, `-` or `_`.
pub fn slug(text: &str) -> Result<String, NotASlug> {
    let is_allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    let is_slug = (1..=64).contains(&text.len()) && text.bytes().all(is_allowed);
    if is_slug { Ok(text.to_owned()) } else { Err(NotASlug) }
}

/// Defines a type of ids that the server makes: UUIDs, in lower case wherever
/// they are kept.
#[macro_export]
macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $crate::text_id! {
            $(#[$doc])* #[schema(value_type = String, format = "uuid")]
            $name, $crate::ids::uuid, $crate::ids::NotAUuid
        }

        impl $name {
            /// A new one.
            pub fn new(app: &$crate::App) -> Self {
                Self(app.new_id())
            }
        }
    };
}

/// Defines a type of ids that staff choose.
#[macro_export]
macro_rules! slug_id {
    ($(#[$doc:meta])* $name:ident) => {
        $crate::text_id! {
            $(#[$doc])* #[schema(value_type = String, pattern = "^[A-Za-z0-9_-]{1,64}$")]
            $name, $crate::ids::slug, $crate::ids::NotASlug
        }
    };
}

/// What [`uuid_id`] and [`slug_id`] have in common.
#[doc(hidden)]
#[macro_export]
macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $read:path, $error:path) => {
        #[derive(
            Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash,
            ::serde::Serialize, ::serde::Deserialize, ::utoipa::ToSchema,
        )]
        $(#[$doc])*
        #[serde(try_from = "String")]
        pub struct $name(String);

        impl $name {
            /// Its text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = $error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                $read(text).map(Self)
            }
        }

        impl TryFrom<String> for $name {
            type Error = $error;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                text.parse()
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_the_server_makes_is_a_uuid_in_any_case() {
        let id = uuid("01941F29-7C00-7000-8000-00000000000A").unwrap();
        assert_eq!(id, "01941f29-7c00-7000-8000-00000000000a");
        for bad in [
            "",
            "1",
            "01941f297c0070008000000000000001",
            "01941f29-7c00-7000-8000-00000000000g",
            "01941f29-7c00-7000-8000-0000000000011",
            "01941f29-7c00-7000-8000_000000000001",
            "01941f29-7c00-7000-8000-0000000000é",
        ] {
            assert!(uuid(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn an_id_that_staff_choose_is_ascii_and_at_most_64_long() {
        for good in ["a", "final-2030_B", "-", &"a".repeat(64)] {
            assert_eq!(slug(good).unwrap(), good);
        }
        for bad in ["", "a b", "a#b", "é", "a/b", "a\0", &"a".repeat(65)] {
            assert!(slug(bad).is_err(), "{bad:?}");
        }
    }
}
