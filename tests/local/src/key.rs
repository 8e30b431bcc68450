//! The key that signs tokens for the local clouds of one checkout.
//!
//! It is made on first use and lies in `target/`, so that a token of yesterday's
//! terminal is good in today's. It opens nothing but local clouds.

use std::io::Write;
use std::path::{Path, PathBuf};

use aws_lc_rs::hmac;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::Ed25519KeyPair;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use platform::auth::{Caller, Role, TokenSigner};
use platform::clock::Instant;
use serde_json::{Value, json};

use crate::in_checkout;

/// Signs tokens that every local cloud of this checkout takes.
pub struct DevKey {
    pem: String,
    signer: TokenSigner,
    public_keys: String,
}

/// A key that is not there or cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file cannot be read or written.
    #[error("cannot read or write the key {}: {error}", path.display())]
    File {
        /// The key's file.
        path: PathBuf,
        /// Why not.
        error: std::io::Error,
    },
    /// The file holds no key.
    #[error(
        "{} is no Ed25519 key in PEM; if it is hotseat-dev-key, delete it, and the next start \
         makes a new one",
        path.display()
    )]
    Unusable {
        /// The key's file.
        path: PathBuf,
    },
    /// The system gave no random bytes.
    #[error("cannot make a development key")]
    NotMade,
}

impl DevKey {
    /// The key of this checkout, made if there is none.
    pub fn of_checkout() -> Result<Self, KeyError> {
        Self::open(&in_checkout("target/hotseat-dev-key"))
    }

    fn open(path: &Path) -> Result<Self, KeyError> {
        let pem = match std::fs::read_to_string(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => make(path)?,
            read => read.map_err(file_error(path))?,
        };
        let unusable = || KeyError::Unusable { path: path.to_owned() };
        let signer = TokenSigner::from_pem(pem.as_bytes()).map_err(|_| unusable())?;
        let public_keys = signer.public_keys().map_err(|_| unusable())?;
        Ok(Self { pem, signer, public_keys })
    }

    /// The public half, as a value for `TOKEN_KEYS`.
    pub fn public_keys(&self) -> &str {
        &self.public_keys
    }

    /// The secret `name` of every local cloud of this checkout: the key itself
    /// as `SIGNING_KEYS`, otherwise a text that follows from it.
    pub fn secret(&self, name: &str) -> String {
        if name == "SIGNING_KEYS" {
            return self.pem.clone();
        }
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.pem.as_bytes());
        BASE64_STANDARD.encode(hmac::sign(&key, name.as_bytes()))
    }

    /// A token for a member, valid from `now` for `lifetime_s` seconds.
    pub fn token(&self, member_id: &str, role: Role, now: Instant, lifetime_s: i64) -> String {
        let caller = Caller { member_id: member_id.to_owned(), role };
        let token_id = format!("local-{:016x}", fastrand::u64(..));
        let token = self.signer.sign(&caller, now, lifetime_s, token_id);
        #[expect(
            clippy::expect_used,
            reason = "the key was usable when it was opened, and five plain fields always make JSON"
        )]
        token.expect("a usable key signs")
    }
}

/// The public halves of the keys in `files`, in PEM, as a value for
/// `TOKEN_KEYS`.
pub fn public_keys(files: &[PathBuf]) -> Result<String, KeyError> {
    let mut keys = Vec::new();
    for path in files {
        let unusable = || KeyError::Unusable { path: path.clone() };
        let pem = std::fs::read(path).map_err(file_error(path))?;
        let signer = TokenSigner::from_pem(&pem).map_err(|_| unusable())?;
        let set = signer.public_keys().map_err(|_| unusable())?;
        let set: Value = serde_json::from_str(&set).map_err(|_| unusable())?;
        keys.extend(set["keys"].as_array().cloned().unwrap_or_default());
    }
    Ok(json!({ "keys": keys }).to_string())
}

fn file_error(path: &Path) -> impl Fn(std::io::Error) -> KeyError {
    let path = path.to_owned();
    move |error| KeyError::File { path: path.clone(), error }
}

/// Makes a key, unless another process is faster: then its key is the one.
fn make(path: &Path) -> Result<String, KeyError> {
    let folder = path.parent().unwrap_or(path);
    std::fs::create_dir_all(folder).map_err(file_error(path))?;
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(file_error(path))?;
    file.write_all(new_pem()?.as_bytes()).map_err(file_error(path))?;
    match file.persist_noclobber(path) {
        Err(lost) if lost.error.kind() != std::io::ErrorKind::AlreadyExists => {
            Err(file_error(path)(lost.error))
        }
        _ => std::fs::read_to_string(path).map_err(file_error(path)),
    }
}

/// A new private key: PKCS#8 in PEM, as `openssl genpkey -algorithm ed25519`
/// writes it.
fn new_pem() -> Result<String, KeyError> {
    let key = Ed25519KeyPair::generate_pkcs8v1(&SystemRandom::new());
    let key = key.map_err(|_| KeyError::NotMade)?;
    let text = BASE64_STANDARD.encode(key.as_ref()); // 64 characters: one line
    Ok(format!("-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_that_come_first_at_once_get_the_same_key() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("target/key");
        let keys: Vec<_> = std::thread::scope(|scope| {
            let open = || DevKey::open(&path).unwrap().public_keys;
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
        assert_eq!(std::fs::read_dir(folder.path().join("target")).unwrap().count(), 1);
    }

    #[test]
    fn secrets_follow_from_the_key_and_differ_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let key = |file| DevKey::open(&folder.path().join(file)).unwrap();
        assert_eq!(key("a").secret("FIELD_KEYS"), key("a").secret("FIELD_KEYS"));
        assert_ne!(key("a").secret("FIELD_KEYS"), key("a").secret("REFRESH_KEYS"));
        assert_ne!(key("a").secret("FIELD_KEYS"), key("b").secret("FIELD_KEYS"));
        assert!(TokenSigner::from_pem(key("a").secret("SIGNING_KEYS").as_bytes()).is_ok());
    }

    #[test]
    fn the_keys_of_several_files_make_one_set() {
        let folder = tempfile::tempdir().unwrap();
        let files = ["a", "b"].map(|file| folder.path().join(file));
        let keys = files.each_ref().map(|file| DevKey::open(file).unwrap());
        let set = public_keys(&files).unwrap();
        let token = keys[1].token("m", Role::Member, Instant::from_millis(0), 1);
        let kid = jwk_id(&keys[1].public_keys);
        assert!(set.contains(&kid) && !token.is_empty());
        assert_eq!(serde_json::from_str::<Value>(&set).unwrap()["keys"][1]["kid"], kid);
        assert!(public_keys(&[folder.path().join("none")]).is_err());
    }

    fn jwk_id(set: &str) -> String {
        let set: Value = serde_json::from_str(set).unwrap();
        set["keys"][0]["kid"].as_str().unwrap().to_owned()
    }

    #[test]
    fn a_file_that_holds_no_key_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, "not a key").unwrap();
        let error = DevKey::open(&path).err().unwrap().to_string();
        assert!(error.contains("delete it"), "{error}");
    }
}
