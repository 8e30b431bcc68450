//! Keys derived from the text of a secret, and how they are rotated.
//!
//! A secret holds one text or more, with white space between. The first makes
//! new things; all are taken for what they made. So a new text is put first, and
//! an old one goes when nothing that it made is left. The keys are derived with
//! HKDF (RFC 5869), each for its own purpose, so that a secret can be whatever
//! text a generator yields.

use crate::problem::Problem;
use crate::secrets::Secret;
use aws_lc_rs::hkdf::{HKDF_SHA256, Salt};

const SALT: &[u8] = b"hotseat";
/// The shortest text that a key is made from, in bytes.
const LEAST_BYTES: usize = 32;

/// A key, as bytes.
pub type KeyBytes = [u8; 32];

/// The texts of a secret, as one thing of `K` each: the first makes new ones.
pub struct Ring<K> {
    first: K,
    others: Vec<K>,
}

impl<K> Ring<K> {
    /// The ring of a secret, made by `make` from each of its texts.
    pub fn read(
        secret: &Secret,
        make: impl Fn(&Text<'_>) -> Result<K, Problem>,
    ) -> Result<Self, Problem> {
        let texts = secret.expose().split_whitespace();
        let mut keys = texts.map(|text| {
            if text.len() < LEAST_BYTES {
                let cause = format!("a text in a secret is shorter than {LEAST_BYTES} characters");
                return Err(Problem::internal(cause));
            }
            make(&Text(text))
        });
        let first = keys.next();
        let first = first.ok_or_else(|| Problem::internal("a secret is empty"))??;
        Ok(Self { first, others: keys.collect::<Result<_, _>>()? })
    }

    /// What makes new things.
    pub fn first(&self) -> &K {
        &self.first
    }

    /// All, the first one first.
    pub fn iter(&self) -> impl Iterator<Item = &K> {
        std::iter::once(&self.first).chain(&self.others)
    }
}

/// One text of a secret.
pub struct Text<'a>(&'a str);

impl Text<'_> {
    /// The text itself, where others use it as a key too.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// The key for `purpose`.
    pub fn key(&self, purpose: &str) -> Result<KeyBytes, Problem> {
        let mut bytes = KeyBytes::default();
        let prk = Salt::new(HKDF_SHA256, SALT).extract(self.0.as_bytes());
        let purpose = [purpose.as_bytes()];
        let derived = prk.expand(&purpose, HKDF_SHA256);
        let filled = derived.and_then(|key| key.fill(&mut bytes));
        filled.map_err(|_| Problem::internal("a key cannot be derived"))?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(secret: &str) -> Result<Vec<KeyBytes>, Problem> {
        let ring = Ring::read(&secret.into(), |text| text.key("test"))?;
        assert_eq!(Some(ring.first()), ring.iter().next());
        Ok(ring.iter().copied().collect())
    }

    #[test]
    fn each_text_makes_a_key_and_the_first_stays_first() {
        let (a, b) = ("a".repeat(32), "b".repeat(40));
        let [one, two] = keys(&format!("{b}\n {a}\n")).unwrap()[..] else { panic!("two keys") };
        assert_eq!(keys(&a).unwrap(), [two]);
        assert_ne!(one, two);
    }

    #[test]
    fn keys_of_two_purposes_have_nothing_in_common() {
        let text = Text("a text that a generator has made");
        assert_ne!(text.key("one").unwrap(), text.key("two").unwrap());
    }

    #[test]
    fn a_secret_without_a_good_text_is_refused() {
        for bad in ["", " ", "short", &format!("{} short", "a".repeat(32))] {
            assert!(keys(bad).is_err(), "{bad:?}");
        }
    }
}
