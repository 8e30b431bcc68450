//! What members say of themselves, and what is taken for valid.

use std::fmt;
use std::str::FromStr;

use jiff::tz::TimeZone;
use platform::operation;
use platform::text::{self, Text};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;
use utoipa::openapi::SchemaFormat;

use crate::private::Private;

/// What a member logs in with: 3 to 64 of `a`–`z`, `0`–`9`, `.`, `_`, `-`. So it
/// can stand in a key as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "String")]
#[schema(value_type = String, pattern = "^[a-z0-9._-]{3,64}$")]
pub struct LoginId(String);

/// Text that is no log-in id.
#[derive(Debug, thiserror::Error)]
#[error("expected 3 to 64 of a–z, 0–9, '.', '_' and '-'")]
pub struct NotALoginId;

impl TryFrom<String> for LoginId {
    type Error = NotALoginId;

    fn try_from(text: String) -> Result<Self, NotALoginId> {
        let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b);
        let is_valid = (3..=64).contains(&text.len()) && text.bytes().all(allowed);
        if is_valid { Ok(Self(text)) } else { Err(NotALoginId) }
    }
}

impl FromStr for LoginId {
    type Err = NotALoginId;

    fn from_str(text: &str) -> Result<Self, NotALoginId> {
        text.to_owned().try_into()
    }
}

impl fmt::Display for LoginId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A time zone's name, as the IANA database that is compiled in writes it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(try_from = "String")]
#[schema(value_type = String, example = "Europe/Berlin")]
pub struct ZoneName(String);

/// Text that names no time zone.
#[derive(Debug, thiserror::Error)]
#[error("expected the name of a time zone, as in Europe/Berlin")]
pub struct NotAZone;

impl ZoneName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for ZoneName {
    fn default() -> Self {
        Self("UTC".to_owned())
    }
}

impl TryFrom<String> for ZoneName {
    type Error = NotAZone;

    fn try_from(text: String) -> Result<Self, NotAZone> {
        let zone = TimeZone::get(&text).map_err(|_| NotAZone)?;
        // Neither names a place: the library's unknown zone, and the one of the
        // database for a machine whose zone nobody has set.
        let name = zone.iana_name().filter(|name| !zone.is_unknown() && *name != "Factory");
        name.map(|name| Self(name.to_owned())).ok_or(NotAZone)
    }
}

/// A field that is there, be it null where null says something. With
/// `#[serde(default)]`, one that is not there is `None`.
pub(crate) fn given<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

/// A name: 1 to 200 characters.
pub(crate) fn name(name: &Private<Text>, context: &()) -> garde::Result {
    text::title(name.expose(), context)
}

/// A new password: 8 to 128 characters.
pub(crate) fn new_password(password: &Private<Text>, (): &()) -> garde::Result {
    text::within(password.expose(), 8, 128)
}

platform::schema! {
    /// A password that [`new_password`] takes, in the document.
    pub(crate) NewPassword = operation::text(8, 128)
}

/// A password to try. A short one is wrong, like any other.
pub(crate) fn password(password: &Private<Text>, (): &()) -> garde::Result {
    text::within(password.expose(), 1, 128)
}

platform::schema! {
    /// A password that [`password`] takes, in the document.
    pub(crate) Password = operation::text(1, 128)
}

/// A phone number as people write them: 7 to 15 digits
/// ([E.164](https://www.itu.int/rec/T-REC-E.164)), `+` or `(` before and spaces,
/// `-`, `.`, `(`, `)` between. Nothing stands around it, so that a number is not
/// there in two ways that look the same.
pub(crate) fn phone(phone: &Private<Text>, (): &()) -> garde::Result {
    let text = phone.expose().as_str();
    let number = text.strip_prefix('+').unwrap_or(text);
    let digits = number.bytes().filter(u8::is_ascii_digit).count();
    let allowed = |b: u8| b.is_ascii_digit() || b" -.()".contains(&b);
    let is_whole = number.starts_with(|c: char| c.is_ascii_digit() || c == '(')
        && number.ends_with(|c: char| c.is_ascii_digit());
    if (7..=15).contains(&digits) && text.len() <= 32 && is_whole && number.bytes().all(allowed) {
        return Ok(());
    }
    Err(garde::Error::new("expected a phone number of 7 to 15 digits"))
}

platform::schema! {
    /// A phone number that [`phone`] takes, in the document.
    pub(crate) Phone = operation::pattern("^\\+?[(]?[0-9]([ .()-]{0,2}[0-9]){6,14}$")
        .max_length(Some(32))
}

platform::schema! {
    /// An e-mail address that [`email`] takes, in the document.
    pub(crate) Email = operation::text(3, 254).format(Some(SchemaFormat::Custom("email".to_owned())))
}

/// An e-mail address, as far as its form tells: what may stand before the `@`,
/// only its own server knows
/// ([lengths](https://www.rfc-editor.org/rfc/rfc5321#section-4.5.3.1)).
pub(crate) fn email(email: &Private<Text>, (): &()) -> garde::Result {
    let text = email.expose().as_str();
    let is_valid = text.len() <= 254
        && text.rsplit_once('@').is_some_and(|(local, domain)| {
            let plain = |c: char| !c.is_whitespace() && !c.is_control() && !"@<>,;".contains(c);
            (1..=64).contains(&local.len()) && local.chars().all(plain) && is_domain(domain)
        });
    if is_valid { Ok(()) } else { Err(garde::Error::new("expected an e-mail address")) }
}

fn is_domain(domain: &str) -> bool {
    let is_label = |label: &str| {
        let allowed = |c: char| c.is_alphanumeric() || c == '-';
        let edge = label.starts_with('-') || label.ends_with('-');
        (1..=63).contains(&label.len()) && label.chars().all(allowed) && !edge
    };
    domain.contains('.') && domain.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn private(text: &str) -> Private<Text> {
        Text::from(text).into()
    }

    #[test]
    fn a_log_in_id_can_stand_in_a_key() {
        for good in ["abc", "a.b_c-9", "---", &"a".repeat(64)] {
            assert!(good.parse::<LoginId>().is_ok(), "{good:?}");
        }
        for bad in ["", "ab", "Abc", "a b", "a#b", "abc\0", "äbc", "abc\n", &"a".repeat(65)] {
            assert!(bad.parse::<LoginId>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_zone_is_known_by_its_name_in_the_database() {
        let zone = |text: &str| ZoneName::try_from(text.to_owned());
        assert_eq!(zone("asia/seoul").unwrap().as_str(), "Asia/Seoul");
        assert_eq!(zone("UTC").unwrap(), ZoneName::default());
        for bad in [
            "",
            "Mars/Olympus",
            "+09:00",
            "EST5EDT,M3.2.0",
            "Etc/Unknown",
            "Factory",
            "factory",
            "UTC\0",
        ] {
            assert!(zone(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn phone_numbers_are_taken_as_people_write_them() {
        for good in
            ["+821012345678", "010-1234-5678", "+1 (555) 010-9999", "(02) 312-3456", "1234567"]
        {
            assert!(phone(&private(good), &()).is_ok(), "{good:?}");
        }
        for bad in ["", "123456", "1234567890123456", "+", "12345x7", "++1234567", "1234567\n"] {
            assert!(phone(&private(bad), &()).is_err(), "{bad:?}");
        }
        for edged in [" 1234567", "1234567 ", "+ 1234567", " +1234567", "-1234567", "1234567-"] {
            assert!(phone(&private(edged), &()).is_err(), "{edged:?}");
        }
    }

    #[test]
    fn an_e_mail_address_has_one_at_and_a_domain() {
        for good in ["ada@example.com", "a.b+c@sub.example.co.kr", "é@exämple.de"] {
            assert!(email(&private(good), &()).is_ok(), "{good:?}");
        }
        let long = format!("{}@example.com", "a".repeat(65));
        for bad in ["", "ada", "@example.com", "ada@", "a@b", "a@b@c.d", "a b@c.d", "a@c..d", &long]
        {
            assert!(email(&private(bad), &()).is_err(), "{bad:?}");
        }
        assert!(
            email(&private("a@-c.d"), &()).is_err() && email(&private("a\0@c.d"), &()).is_err()
        );
    }

    #[test]
    fn passwords_are_counted_in_characters_after_composition() {
        assert!(new_password(&private(&"e\u{301}".repeat(8)), &()).is_ok());
        assert!(new_password(&private(&"🎟".repeat(128)), &()).is_ok());
        for bad in ["", "1234567", &"e\u{301}".repeat(7), &"a".repeat(129), "12345678\0"] {
            assert!(new_password(&private(bad), &()).is_err(), "{bad:?}");
        }
        assert!(password(&private("x"), &()).is_ok());
    }
}
