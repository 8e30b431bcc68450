//! Passwords: hashed with argon2id, and tried.
//!
//! A hash takes some ten milliseconds of a processor and 19 MiB, on purpose. So
//! it runs on a thread of its own, where it keeps nothing else waiting, and is
//! counted: a log-in that does not exist must cost as much as one that does.

use argon2::password_hash::{Error, PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use platform::text::Text;
use platform::{App, Problem};
use serde::{Deserialize, Serialize};

use crate::private::Private;

/// 19 MiB, 2 passes, 1 lane
/// ([OWASP](https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html#argon2id)).
const PARAMS: Params = match Params::new(19_456, 2, 1, None) {
    Ok(params) => params,
    Err(_) => panic!("no such parameters"),
};

/// Bytes of salt, as RFC 9106 recommends (section 3.1).
const SALT_BYTES: usize = 16;

/// What a password for a log-in that does not exist is compared with.
const NOBODYS: &str = "$argon2id$v=19$m=19456,t=2,p=1$aG90c2VhdCBub2JvZHkhIQ$\
                       AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// A password's hash: parameters, salt and all, in the
/// [PHC string format](https://github.com/P-H-C/phc-string-format/blob/master/phc-sf-spec.md).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PasswordHash(Private<String>);

impl PasswordHash {
    /// The hash of a new password, with a salt of its own.
    pub async fn of(app: &App, password: &Private<Text>) -> Result<Self, Problem> {
        let password = password.clone();
        run(app, move || Self::compute(password.expose())).await?
    }

    /// The hash of a new password, right here.
    pub fn compute(password: &Text) -> Result<Self, Problem> {
        let mut salt = [0; SALT_BYTES];
        aws_lc_rs::rand::fill(&mut salt).map_err(|_| Problem::internal("no random bytes"))?;
        let hash = argon2().hash_password_with_salt(password.as_str().as_bytes(), &salt);
        let hash = hash.map_err(Problem::internal)?.to_string();
        Ok(Self(hash.into()))
    }
}

/// Whether `password` is the one that was hashed. Without a hash it takes the
/// same work, and it is not.
pub async fn is_right(
    app: &App,
    password: &Private<Text>,
    hash: Option<&PasswordHash>,
) -> Result<bool, Problem> {
    let hashed = hash.map_or(NOBODYS, |hash| hash.0.expose()).to_owned();
    let password = password.clone();
    let verify =
        move || argon2().verify_password(password.expose().as_str().as_bytes(), hashed.as_str());
    match run(app, verify).await? {
        Ok(()) => Ok(hash.is_some()),
        Err(Error::PasswordInvalid) => Ok(false),
        Err(error) => Err(Problem::internal(error)),
    }
}

fn argon2() -> Argon2<'static> {
    Argon2::new(Algorithm::Argon2id, Version::V0x13, PARAMS)
}

async fn run<T: Send + 'static>(
    app: &App,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    app.meter.hashed_password();
    tokio::task::spawn_blocking(work).await.map_err(Problem::internal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_has_its_own_salt_and_the_parameters_that_nobodys_has() {
        let text = Text::from("correct horse");
        let (one, other) =
            (PasswordHash::compute(&text).unwrap(), PasswordHash::compute(&text).unwrap());
        assert_ne!(one, other);
        let parameters = "$argon2id$v=19$m=19456,t=2,p=1$";
        for hash in [one.0.expose().as_str(), NOBODYS] {
            assert!(hash.starts_with(parameters), "{hash}");
        }
        assert_eq!(one.0.expose().len(), NOBODYS.len());
        assert_eq!(argon2().verify_password(b"correct horse", one.0.expose().as_str()), Ok(()));
        let nobody = argon2().verify_password(b"correct horse", NOBODYS);
        assert_eq!(nobody, Err(Error::PasswordInvalid));
    }

    #[test]
    fn debugging_shows_no_hash() {
        let hash = PasswordHash::compute(&Text::from("correct horse")).unwrap();
        assert_eq!(format!("{hash:?}"), "PasswordHash((private))");
    }
}
