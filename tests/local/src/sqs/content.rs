//! What a message may hold
//! ([source](https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html)),
//! and the digests by which a client sees that it arrived whole.

use std::collections::BTreeMap;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Serialize};

use super::error::QueueError;

/// The most attributes of a message.
const MOST_ATTRIBUTES: usize = 10;

/// The longest name of an attribute, of its type, of a group or of an id.
const LONGEST_NAME: usize = 256;
const LONGEST_ID: usize = 128;

/// A message's attributes by their names.
pub(super) type Attributes = BTreeMap<String, Attribute>;

/// A message's attribute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Attribute {
    #[serde(default)]
    data_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) string_value: Option<String>,
    /// In base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    binary_value: Option<String>,
}

impl Attribute {
    fn value(&self) -> Option<(u8, Vec<u8>)> {
        if self.data_type.split('.').next() == Some("Binary") {
            let value = BASE64_STANDARD.decode(self.binary_value.as_ref()?).ok()?;
            return Some((BINARY, value));
        }
        let value = self.string_value.as_ref()?;
        Some((STRING, value.clone().into_bytes()))
    }
}

/// How a value is marked in the digest.
const STRING: u8 = 1;
const BINARY: u8 = 2;

/// Refuses what XML cannot hold, as the service does.
pub(super) fn check_text(text: &str) -> Result<(), QueueError> {
    let allowed = |c: char| matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    match text.chars().find(|c| !allowed(*c)) {
        Some(c) => Err(QueueError::InvalidMessageContents(c.into())),
        None => Ok(()),
    }
}

/// Refuses an id of a group, of a deduplication or of an attempt.
pub(super) fn check_id(parameter: &str, id: &str) -> Result<(), QueueError> {
    let fits = (1..=LONGEST_ID).contains(&id.len());
    if fits && id.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(());
    }
    let reason = format!(
        "{parameter} can only include alphanumeric and punctuation characters. 1 to 128 in length."
    );
    Err(QueueError::invalid(parameter, id, &reason))
}

/// Refuses attributes that have no name, no type or no value.
pub(super) fn check_attributes(attributes: &Attributes) -> Result<(), QueueError> {
    let refused = |reason: String| Err(QueueError::InvalidParameterValue(reason));
    if attributes.len() > MOST_ATTRIBUTES {
        return refused(format!(
            "Number of message attributes [{}] exceeds the allowed maximum [{MOST_ATTRIBUTES}].",
            attributes.len()
        ));
    }
    for (name, attribute) in attributes {
        if !is_attribute_name(name) {
            return refused(format!("The message attribute name '{name}' is invalid."));
        }
        let kind = attribute.data_type.split('.').next().unwrap_or_default();
        if !matches!(kind, "String" | "Number" | "Binary")
            || attribute.data_type.len() > LONGEST_NAME
        {
            return refused(format!(
                "The message attribute '{name}' has an invalid message attribute type, \
                 the set of supported type prefixes is Binary, Number, and String."
            ));
        }
        if attribute.value().is_none_or(|(_, value)| value.is_empty()) {
            return refused(format!(
                "The message attribute '{name}' must contain a non-empty value of its type."
            ));
        }
        if let Some(text) = &attribute.string_value {
            check_text(text)?;
        }
    }
    Ok(())
}

fn is_attribute_name(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let characters = name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b));
    (1..=LONGEST_NAME).contains(&name.len())
        && characters
        && !name.starts_with('.')
        && !name.ends_with('.')
        && !name.contains("..")
        && !lower.starts_with("aws.")
        && !lower.starts_with("amazon.")
}

/// How many bytes a message counts: its body, and its attributes with their
/// names and types.
pub(super) fn size(body: &str, attributes: &Attributes) -> usize {
    let attributes = attributes.iter().map(|(name, attribute)| {
        let value = attribute.value().map_or(0, |(_, value)| value.len());
        name.len() + attribute.data_type.len() + value
    });
    body.len() + attributes.sum::<usize>()
}

/// The MD5 digest of a body.
pub(super) fn digest(body: &str) -> String {
    format!("{:x}", md5::compute(body))
}

/// The MD5 digest of attributes: none of none
/// ([source](https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-message-metadata.html#sqs-attributes-md5-message-digest-calculation)).
pub(super) fn digest_of_attributes(attributes: &Attributes) -> Option<String> {
    if attributes.is_empty() {
        return None;
    }
    let mut text = md5::Context::new();
    for (name, attribute) in attributes {
        let (mark, value) = attribute.value().unwrap_or((STRING, Vec::new()));
        consume(&mut text, name.as_bytes());
        consume(&mut text, attribute.data_type.as_bytes());
        text.consume([mark]);
        consume(&mut text, &value);
    }
    Some(format!("{:x}", text.compute()))
}

/// A piece follows its length.
fn consume(text: &mut md5::Context, piece: &[u8]) {
    text.consume(u32::try_from(piece.len()).unwrap_or(u32::MAX).to_be_bytes());
    text.consume(piece);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn attributes(json: serde_json::Value) -> Attributes {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn digests_are_those_of_the_service() {
        assert_eq!(digest("hello"), "5d41402abc4b2a76b9719d911017c592");
        assert_eq!(digest_of_attributes(&Attributes::new()), None);
        let mixed = attributes(json!({
            "attribName1": { "DataType": "String", "StringValue": "attribValue 1" },
            "customNumberTypeAttrib": {
                "DataType": "Number.float",
                "StringValue": "4563442423554324324264524243.32543234",
            },
            "binaryAttribute": {
                "DataType": "Binary",
                "BinaryValue": BASE64_STANDARD.encode("Hello binary world!"),
            },
        }));
        let mixed = digest_of_attributes(&mixed).unwrap();
        assert_eq!(mixed, "c932db14a896c663f83c260297d594ff");
    }

    #[test]
    fn a_text_holds_what_xml_can_hold() {
        for text in ["", "a\t\r\n", "é \u{fffd} \u{1f600}"] {
            assert!(check_text(text).is_ok(), "{text:?}");
        }
        for text in ["\0", "a\u{1b}", "\u{fffe}"] {
            let error = check_text(text).unwrap_err();
            assert!(matches!(error, QueueError::InvalidMessageContents(_)), "{text:?}");
        }
    }

    #[test]
    fn an_id_is_128_characters_of_ascii_at_most() {
        assert!(check_id("MessageGroupId", "schedule#1_a.b-c").is_ok());
        assert!(check_id("MessageGroupId", &"a".repeat(128)).is_ok());
        for id in ["", "a b", "é", "a\n", &"a".repeat(129)] {
            assert!(check_id("MessageGroupId", id).is_err(), "{id:?}");
        }
    }

    #[test]
    fn an_attribute_has_a_name_a_type_and_a_value() {
        let check = |name: &str, attribute: serde_json::Value| {
            check_attributes(&attributes(json!({ name: attribute })))
        };
        let text = json!({ "DataType": "String", "StringValue": "x" });
        assert!(check("a.B-1_", text.clone()).is_ok());
        for name in ["", ".a", "a.", "a..b", "AWS.a", "amazon.a", "a b", &"a".repeat(257)] {
            assert!(check(name, text.clone()).is_err(), "{name:?}");
        }
        for attribute in [
            json!({}),
            json!({ "DataType": "String" }),
            json!({ "DataType": "String", "StringValue": "" }),
            json!({ "DataType": "String", "StringValue": "\u{0}" }),
            json!({ "DataType": "Binary", "StringValue": "x" }),
            json!({ "DataType": "Binary", "BinaryValue": "*" }),
            json!({ "DataType": "Text", "StringValue": "x" }),
        ] {
            assert!(check("a", attribute.clone()).is_err(), "{attribute}");
        }
        let many = (0..=MOST_ATTRIBUTES).map(|n| (format!("a{n}"), text.clone()));
        let many = attributes(many.collect());
        assert!(check_attributes(&many).is_err());
        assert_eq!(size("body", &many), 4 + 10 * (2 + 6 + 1) + (3 + 6 + 1));
    }
}
