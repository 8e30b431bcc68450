//! Phone and e-mail as the table holds them: encrypted.
//!
//! AES-256-GCM with a random nonce. The member's id and the field's name are
//! associated data, so that a value put elsewhere cannot be opened. The same
//! text looks different each time: compare what is inside, never the outside.

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use aws_lc_rs::hmac;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use platform::secrets::Secret;
use platform::{App, Problem};
use serde::{Deserialize, Serialize};

use crate::private::Private;
use crate::refusal::broken;
use platform::ring::{Ring, Text};

/// Bytes of a key's id: enough to tell the few keys of a ring apart.
const KEY_ID_BYTES: usize = 6;

/// A field that is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The phone number.
    Phone,
    /// The e-mail address.
    Email,
}

impl Field {
    /// The attribute that holds it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Phone => "phone",
            Self::Email => "email",
        }
    }
}

/// An encrypted value: key id, a dot, nonce and ciphertext.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sealed(String);

/// What encrypts and decrypts.
pub struct FieldKeys(Ring<FieldKey>);

struct FieldKey {
    id: String,
    cipher: RandomizedNonceKey,
    requests: hmac::Key,
}

impl FieldKey {
    fn new(text: &Text<'_>) -> Result<Self, Problem> {
        let unusable = |_| Problem::internal("a field key cannot be used");
        let id = BASE64_URL_SAFE_NO_PAD.encode(&text.key("field key id")?[..KEY_ID_BYTES]);
        let cipher = RandomizedNonceKey::new(&AES_256_GCM, &text.key("fields")?);
        let requests = hmac::Key::new(hmac::HMAC_SHA256, &text.key("requests")?);
        Ok(Self { id, cipher: cipher.map_err(unusable)?, requests })
    }
}

impl FieldKeys {
    /// The keys of this App, from the secret `FIELD_KEYS`.
    pub async fn of(app: &App) -> Result<Self, Problem> {
        Self::read(&app.secret("FIELD_KEYS").await?)
    }

    fn read(secret: &Secret) -> Result<Self, Problem> {
        Ring::read(secret, FieldKey::new).map(Self)
    }

    /// What hashes of requests are keyed with.
    pub fn requests(&self) -> &hmac::Key {
        &self.0.first().requests
    }

    /// Encrypts a field of a member.
    pub fn seal(&self, member_id: &str, field: Field, text: &str) -> Result<Sealed, Problem> {
        let FieldKey { id, cipher, .. } = self.0.first();
        let mut bytes = text.as_bytes().to_vec();
        let nonce = cipher.seal_in_place_append_tag(context(member_id, field), &mut bytes);
        let nonce = nonce.map_err(|_| Problem::internal("a field cannot be encrypted"))?;
        let bytes = [nonce.as_ref().as_slice(), &bytes].concat();
        Ok(Sealed(format!("{id}.{}", BASE64_URL_SAFE_NO_PAD.encode(bytes))))
    }

    /// Decrypts a field of a member.
    pub fn open(
        &self,
        member_id: &str,
        field: Field,
        sealed: &Sealed,
    ) -> Result<Private<String>, Problem> {
        let opened = self.try_open(member_id, field, &sealed.0);
        opened.map(Private::from).ok_or_else(|| broken("an encrypted field, or its key,"))
    }

    fn try_open(&self, member_id: &str, field: Field, sealed: &str) -> Option<String> {
        let (id, text) = sealed.split_once('.')?;
        let key = self.0.iter().find(|key| key.id == id)?;
        let mut bytes = BASE64_URL_SAFE_NO_PAD.decode(text).ok()?;
        let (nonce, ciphertext) = bytes.split_at_mut_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let text = key.cipher.open_in_place(nonce, context(member_id, field), ciphertext).ok()?;
        String::from_utf8(text.to_vec()).ok()
    }
}

fn context(member_id: &str, field: Field) -> Aad<String> {
    Aad::from(format!("{member_id}#{}", field.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "0123456789abcdef0123456789abcdef";
    const NEW: &str = "fedcba9876543210fedcba9876543210";

    fn keys(secret: &str) -> FieldKeys {
        FieldKeys::read(&secret.into()).unwrap()
    }

    fn sealed() -> Sealed {
        keys(OLD).seal("m-1", Field::Phone, "+821012345678").unwrap()
    }

    #[test]
    fn what_is_sealed_differs_each_time_and_opens_to_the_same() {
        let (one, other) = (sealed(), sealed());
        assert_ne!(one, other);
        for sealed in [one, other] {
            let opened = keys(OLD).open("m-1", Field::Phone, &sealed).unwrap();
            assert_eq!(opened.expose(), "+821012345678");
            assert!(!sealed.0.contains("8210"));
        }
    }

    #[test]
    fn a_new_key_seals_and_the_old_one_still_opens() {
        let both = keys(&format!("{NEW} {OLD}"));
        assert!(both.open("m-1", Field::Phone, &sealed()).is_ok());
        let fresh = both.seal("m-1", Field::Phone, "x").unwrap();
        assert!(keys(NEW).open("m-1", Field::Phone, &fresh).is_ok());
        assert!(keys(OLD).open("m-1", Field::Phone, &fresh).is_err());
        assert!(keys(NEW).open("m-1", Field::Phone, &sealed()).is_err(), "its key is gone");
    }

    #[test]
    fn a_value_of_another_member_or_field_and_a_changed_one_do_not_open() {
        let keys = keys(OLD);
        assert!(keys.open("m-2", Field::Phone, &sealed()).is_err());
        assert!(keys.open("m-1", Field::Email, &sealed()).is_err());
        let (id, text) =
            sealed().0.split_once('.').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
        let changed = format!("{id}.AAAA{text}");
        for bad in ["", ".", "x.y", &changed, &format!("{id}."), &format!("x.{text}")] {
            assert!(keys.open("m-1", Field::Phone, &Sealed(bad.into())).is_err(), "{bad:?}");
        }
    }
}
