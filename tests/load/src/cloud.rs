//! The system under load: a local cloud of one's own, or whatever answers at a
//! URL; and tokens that it takes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use local::{DevKey, Options, Served};
use platform::app::Clients;
use platform::auth::{Caller, Role, TokenSigner};
use platform::clock::{Clock, Instant};

use crate::error::Error;

/// Tokens live longer than an API would make them, so that none expires before
/// a long run is read back.
const TOKEN_LIFETIME_S: i64 = 6 * 60 * 60;

/// The system under load.
pub(crate) struct Cloud {
    url: String,
    clock: Clock,
    signer: Signer,
    own: Option<Served>,
}

enum Signer {
    OfCheckout(DevKey),
    OfFile(TokenSigner),
}

impl Cloud {
    /// Starts a local cloud in this process.
    pub(crate) async fn start(
        data_dir: Option<PathBuf>,
        environments: u32,
        seed: u64,
    ) -> Result<Self, Error> {
        let options = Options { data_dir, environments, seed: Some(seed), ..Options::default() };
        let served = local::Cloud::start(options).await?.serve(0).await?;
        let signer = Signer::OfCheckout(DevKey::of_checkout()?);
        Ok(Self { url: served.url().to_owned(), clock: Clock::System, signer, own: Some(served) })
    }

    /// What answers at `url`, taking tokens of the key in `key_file`, or of
    /// this checkout's key.
    pub(crate) fn at(url: &str, key_file: Option<&Path>) -> Result<Self, Error> {
        let signer = match key_file {
            Some(path) => Signer::OfFile(read_key(path)?),
            None => Signer::OfCheckout(DevKey::of_checkout()?),
        };
        let url = url.trim_end_matches('/').to_owned();
        Ok(Self { url, clock: Clock::System, signer, own: None })
    }

    /// Where it answers.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The time now.
    pub(crate) fn now(&self) -> Instant {
        self.clock.now()
    }

    /// A token for a member.
    pub(crate) fn token(&self, member_id: &str, role: Role) -> Result<Arc<str>, Error> {
        let token = match &self.signer {
            Signer::OfCheckout(key) => key.token(member_id, role, self.now(), TOKEN_LIFETIME_S),
            Signer::OfFile(signer) => {
                let caller = Caller { member_id: member_id.to_owned(), role };
                let token_id = format!("load-{:016x}", fastrand::u64(..));
                signer.sign(&caller, self.now(), TOKEN_LIFETIME_S, token_id)?
            }
        };
        Ok(token.into())
    }

    /// A token for staff.
    pub(crate) fn staff_token(&self) -> Result<Arc<str>, Error> {
        self.token("load-staff", Role::Staff)
    }

    /// Clients that reach a local cloud of one's own without
    /// a socket.
    pub(crate) fn clients(&self) -> Option<Clients> {
        self.own.as_ref().map(|served| served.cloud().clients())
    }

    /// Stops a local cloud of one's own, when its last request is through.
    pub(crate) async fn stop(self) {
        if let Some(served) = self.own {
            served.stop().await;
        }
    }
}

fn read_key(path: &Path) -> Result<TokenSigner, Error> {
    let unusable = |why: String| Error::KeyFile { path: path.to_owned(), why };
    let pem = std::fs::read(path).map_err(|error| unusable(error.to_string()))?;
    TokenSigner::from_pem(&pem).map_err(|error| unusable(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_cannot_be_used_says_what_is_wanted() {
        let Err(error) = Cloud::at("http://127.0.0.1:1", Some(Path::new("/no/such/key"))) else {
            panic!("there is no such key");
        };
        let message = error.to_string();
        assert!(message.contains("/no/such/key") && message.contains("--token-key"), "{message}");
    }

    #[test]
    fn a_url_may_end_in_a_slash() {
        let cloud = Cloud::at("http://127.0.0.1:9000/", None).unwrap();
        assert_eq!(cloud.url(), "http://127.0.0.1:9000");
    }
}
