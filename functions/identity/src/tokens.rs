//! What log-in and refresh-session answer: an access token and a refresh token.

use platform::auth::{Caller, TOKEN_LIFETIME_S, TokenSigner};
use platform::{App, Problem, Reply};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::private::Private;
use crate::session::{RefreshKeys, RefreshToken};

/// The end of a key in PEM; after it may come an older one.
const PEM_END: &str = "-----END PRIVATE KEY-----";

/// What issues tokens. It is made before anything is decided, so that a secret
/// that cannot be had tells nothing about a password.
pub struct Issuer {
    signer: TokenSigner,
    /// What refresh tokens are made with.
    pub refresh_keys: RefreshKeys,
}

/// Tokens as JSON.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct View {
    access_token: String,
    #[schema(value_type = String)]
    refresh_token: Private<String>,
    expires_in: i64,
}

impl Issuer {
    /// The issuer of this App, from the secrets `SIGNING_KEYS` and `REFRESH_KEYS`.
    pub async fn of(app: &App) -> Result<Self, Problem> {
        let keys = app.secret("SIGNING_KEYS").await?;
        let signer = TokenSigner::from_pem(first_pem(keys.expose()).as_bytes());
        let signer = signer.map_err(|error| Problem::internal(format!("SIGNING_KEYS: {error}")))?;
        Ok(Self { signer, refresh_keys: RefreshKeys::of(app).await? })
    }

    /// The answer for `caller`: an access token, and `refresh_token`.
    pub fn reply(
        &self,
        app: &App,
        caller: &Caller,
        refresh_token: &RefreshToken,
    ) -> Result<Reply, Problem> {
        let signed = self.signer.sign(caller, app.clock.now(), TOKEN_LIFETIME_S, app.new_id());
        Reply::ok(&View {
            access_token: signed.map_err(Problem::internal)?,
            refresh_token: self.refresh_keys.write(refresh_token),
            expires_in: TOKEN_LIFETIME_S,
        })
    }
}

/// Tokens in the document's examples.
pub(crate) fn example() -> Value {
    json!({
        "accessToken": "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJhZGEifQ.c2lnbmVk",
        "refreshToken": "YWRhI3Nlc3Npb24jMQ",
        "expiresIn": TOKEN_LIFETIME_S,
    })
}

fn first_pem(keys: &str) -> &str {
    keys.split_inclusive(PEM_END).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_several_keys_is_the_one_that_signs() {
        let key = |text: &str| format!("-----BEGIN PRIVATE KEY-----\n{text}\n{PEM_END}");
        assert_eq!(first_pem(&format!("{}\n{}\n", key("new"), key("old"))), key("new"));
        assert_eq!(first_pem(""), "");
    }
}
