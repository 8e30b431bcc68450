//! Text that only we can have written, and that anybody may carry.
//!
//! It is readable, but not changeable: the content in base64, a dot, and an
//! HMAC over it. Whoever reads it back knows that it comes from us, and needs
//! nothing from a table to know it.

use aws_lc_rs::hmac;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::problem::Problem;
use crate::ring::Ring;
use crate::secrets::Secret;

/// The longest text that is read, in bytes.
const MOST_BYTES: usize = 1_024;

/// Signs content, and reads what it has signed.
pub struct Signer(Ring<hmac::Key>);

impl Signer {
    /// The signer for `purpose` with the texts of a secret: the first signs, and
    /// what any of them has signed is read. What is signed for one purpose is
    /// nothing for another.
    pub fn of(secret: &Secret, purpose: &str) -> Result<Self, Problem> {
        let key = |bytes: [u8; 32]| hmac::Key::new(hmac::HMAC_SHA256, &bytes);
        Ring::read(secret, |text| text.key(purpose).map(key)).map(Self)
    }

    /// The signed text of some bytes: the same for the same bytes.
    pub fn write(&self, content: &[u8]) -> String {
        let mac = hmac::sign(self.0.first(), content);
        let encode = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
        format!("{}.{}", encode(content), encode(mac.as_ref()))
    }

    /// The bytes of a signed text, if it is one of ours.
    pub fn read(&self, text: &str) -> Option<Vec<u8>> {
        let (content, mac) = Some(text).filter(|text| text.len() <= MOST_BYTES)?.split_once('.')?;
        let content = BASE64_URL_SAFE_NO_PAD.decode(content).ok()?;
        let mac = BASE64_URL_SAFE_NO_PAD.decode(mac).ok()?;
        self.0.iter().find(|key| hmac::verify(key, &content, &mac).is_ok())?;
        Some(content)
    }

    /// The signed text of a value.
    pub fn write_json(&self, value: &impl Serialize) -> Result<String, Problem> {
        let content = serde_json::to_vec(value).map_err(Problem::internal)?;
        Ok(self.write(&content))
    }

    /// The value of a signed text, if it is one of ours.
    pub fn read_json<T: DeserializeOwned>(&self, text: &str) -> Option<T> {
        serde_json::from_slice(&self.read(text)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "0123456789abcdef0123456789abcdef";
    const NEW: &str = "fedcba9876543210fedcba9876543210";

    fn signer(secret: &str) -> Signer {
        Signer::of(&secret.into(), "test").unwrap()
    }

    #[test]
    fn a_text_is_safe_in_a_url_and_can_be_read_back() {
        let text = signer(OLD).write_json(&("ü~>?", 7)).unwrap();
        let safe = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
        assert!(text.bytes().all(safe), "{text}");
        assert_eq!(signer(OLD).read_json(&text), Some(("ü~>?".to_owned(), 7)));
        assert_eq!(signer(OLD).write_json(&("ü~>?", 7)).unwrap(), text, "the same again");
    }

    #[test]
    fn a_text_of_the_old_key_is_read_until_the_key_is_gone() {
        let old = signer(OLD).write(b"content");
        assert_eq!(signer(&format!("{NEW} {OLD}")).read(&old).unwrap(), b"content");
        assert_eq!(signer(NEW).read(&old), None);
    }

    #[test]
    fn what_was_signed_for_something_else_is_not_read() {
        let other = Signer::of(&OLD.into(), "other").unwrap();
        assert_eq!(signer(OLD).read(&other.write(b"content")), None);
    }

    #[test]
    fn a_text_changed_in_any_byte_is_not_read() {
        let text = signer(OLD).write(b"content");
        for place in 0..text.len() {
            for byte in [b'A', b'B', b'.', b'~', 0] {
                let mut changed = text.clone().into_bytes();
                if changed[place] == byte {
                    continue;
                }
                changed[place] = byte;
                let changed = String::from_utf8(changed).unwrap();
                assert_eq!(signer(OLD).read(&changed), None, "{changed}");
            }
            let cut_off: String = text.chars().take(place).collect();
            assert_eq!(signer(OLD).read(&cut_off), None);
        }
        for bad in ["", ".", "x", &format!("{text}A"), &format!("{text}{}", "A".repeat(2_000))] {
            assert_eq!(signer(OLD).read(bad), None, "{bad:.40}");
        }
    }
}
