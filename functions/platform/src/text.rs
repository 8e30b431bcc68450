//! Text as the contract counts it: Unicode scalar values after NFC, and no
//! control characters but newline and tab.

use serde::{Deserialize, Deserializer};
use unicode_normalization::UnicodeNormalization;
use utoipa::ToSchema;

use crate::operation;

/// Text from outside, in Normalization Form C.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, ToSchema)]
#[serde(transparent)]
pub struct Text(String);

impl Text {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text, owned.
    pub fn into_string(self) -> String {
        self.0
    }
}

impl From<&str> for Text {
    fn from(raw: &str) -> Self {
        Self(raw.nfc().collect())
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = std::borrow::Cow::<str>::deserialize(deserializer)?;
        Ok(Self::from(raw.as_ref()))
    }
}

/// A name or title: 1 to 200 characters.
pub fn title(text: &Text, _: &()) -> garde::Result {
    within(text, 1, 200)
}

crate::schema! {
    /// Text that [`title`] takes, in the document.
    pub Title = operation::text(1, 200)
}

/// What something says beside its title: up to 10,000 characters.
pub fn contents(text: &Text, _: &()) -> garde::Result {
    within(text, 0, 10_000)
}

crate::schema! {
    /// Text that [`contents`] takes, in the document.
    pub Contents = operation::text(0, 10_000)
}

/// An identifier chosen by a client: 1 to 64 letters, digits, `-`, `_`.
pub fn slug(text: &Text, _: &()) -> garde::Result {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let length = text.as_str().chars().count();
    if (1..=64).contains(&length) && text.as_str().chars().all(allowed) {
        return Ok(());
    }
    Err(garde::Error::new("expected 1 to 64 letters, digits, - or _"))
}

crate::schema! {
    /// Text that [`slug`] takes, in the document.
    pub Slug = operation::pattern("^[A-Za-z0-9_-]{1,64}$")
}

/// Text of `least` to `most` characters, without control characters other than
/// newline and tab.
pub fn within(text: &Text, least: usize, most: usize) -> garde::Result {
    if text.as_str().chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
        return Err(garde::Error::new("control characters are not allowed"));
    }
    let length = text.as_str().chars().count();
    if (least..=most).contains(&length) {
        return Ok(());
    }
    Err(garde::Error::new(format!("expected {least} to {most} characters, not {length}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Text {
        Text::from(text)
    }

    #[test]
    fn length_is_counted_in_characters_after_composition() {
        assert_eq!(read("e\u{301}").as_str(), "é");
        assert!(title(&read(&"e\u{301}".repeat(200)), &()).is_ok());
        assert!(title(&read(&"e\u{301}".repeat(201)), &()).is_err());
        assert!(title(&read(&"🎟".repeat(200)), &()).is_ok());
        assert!(title(&read(""), &()).is_err());
    }

    #[test]
    fn control_characters_other_than_newline_and_tab_are_refused() {
        assert!(title(&read("a\n\tb"), &()).is_ok());
        for bad in ["a\0b", "\u{7f}", "\u{85}", "\r"] {
            assert!(title(&read(bad), &()).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn contents_may_be_empty_and_have_up_to_10_000_characters() {
        assert!(contents(&read(""), &()).is_ok());
        assert!(contents(&read(&"🎟".repeat(10_000)), &()).is_ok());
        assert!(contents(&read(&"a".repeat(10_001)), &()).is_err());
        assert!(contents(&read("a\0b"), &()).is_err());
    }

    #[test]
    fn a_slug_is_ascii_and_at_most_64_long() {
        assert!(slug(&read("2026-fall_A"), &()).is_ok());
        for bad in ["", "a b", "a#b", "é", &"a".repeat(65)] {
            assert!(slug(&read(bad), &()).is_err(), "{bad:?}");
        }
    }
}
