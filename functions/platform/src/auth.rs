//! Who is asking: bearer tokens and roles.
//!
//! Tokens are JWTs signed with Ed25519. Every function verifies them with the
//! public keys in `TOKEN_KEYS` (a JSON Web Key Set, RFC 7517), so that none but
//! those that issue tokens holds a secret. Two keys can be valid at a time,
//! which is how a key is rotated.

use jsonwebtoken::jwk::{Jwk, JwkSet, ThumbprintHash};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, encode};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::app::App;
use crate::clock::Instant;
use crate::http::{self, Request};
use crate::problem::{FORBIDDEN, Problem, UNAUTHENTICATED};

/// How long an access token is valid, in seconds.
pub const TOKEN_LIFETIME_S: i64 = 15 * 60;

/// What a member may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// What concerns oneself.
    Member,
    /// Everything.
    Staff,
}

/// A verified caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The member's id.
    pub member_id: String,
    /// The member's role.
    pub role: Role,
}

impl Caller {
    /// Whether the caller has the staff role.
    pub fn is_staff(&self) -> bool {
        self.role == Role::Staff
    }

    /// Refuses everybody but staff.
    pub fn require_staff(&self) -> Result<(), Problem> {
        if self.is_staff() { Ok(()) } else { Err(FORBIDDEN.into()) }
    }
}

/// What a token says.
#[derive(Debug, Serialize, Deserialize)]
struct Claims {
    sub: String,
    role: Role,
    iat: i64,
    exp: i64,
    jti: String,
}

/// The public keys that tokens are verified with.
#[derive(Default)]
pub struct TokenKeys {
    keys: Vec<(String, DecodingKey)>,
    set: JwkSet,
}

/// Keys that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("TOKEN_KEYS is not a JSON Web Key Set of Ed25519 keys with key ids: {0}")]
pub struct BadKeys(String);

impl TokenKeys {
    /// Reads a JSON Web Key Set.
    pub fn from_json(json: &str) -> Result<Self, BadKeys> {
        let set: JwkSet = serde_json::from_str(json).map_err(|e| BadKeys(e.to_string()))?;
        let keys = set.keys.iter().map(|jwk| {
            let id = jwk.common.key_id.clone();
            let id = id.ok_or_else(|| BadKeys("a key has no kid".into()))?;
            let key = DecodingKey::from_jwk(jwk).map_err(|e| BadKeys(format!("{id}: {e}")))?;
            Ok((id, key))
        });
        let keys = keys.collect::<Result<_, _>>()?;
        Ok(Self { keys, set })
    }

    /// Who bears `token`, if it is ours and has not expired by `now`.
    fn verify(&self, token: &str, now: Instant) -> Option<Caller> {
        let key_id = jsonwebtoken::decode_header(token).ok()?.kid?;
        let (_, key) = self.keys.iter().find(|(id, _)| *id == key_id)?;
        let mut validation = Validation::new(Algorithm::EdDSA);
        validation.validate_exp = false; // it asks the machine's clock; below we ask ours
        validation.validate_aud = false;
        validation.set_required_spec_claims(&["exp", "sub"]);
        let claims = decode::<Claims>(token, key, &validation).ok()?.claims;
        let is_current = claims.exp > now.as_seconds();
        let member_id = claims.sub;
        (is_current && is_member_id(&member_id)).then_some(Caller { member_id, role: claims.role })
    }
}

/// Member ids end up in keys, so they are printable ASCII without `#`.
pub fn is_member_id(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic() && b != b'#')
}

/// Signs tokens. Only what issues them holds one.
pub struct TokenSigner {
    key: EncodingKey,
    jwk: Jwk,
}

impl TokenSigner {
    /// A signer from a PKCS#8 private key in PEM, as `openssl genpkey
    /// -algorithm ed25519` makes it. Its key id is the RFC 7638 thumbprint.
    pub fn from_pem(pem: &[u8]) -> Result<Self, jsonwebtoken::errors::Error> {
        let key = EncodingKey::from_ed_pem(pem)?;
        let mut jwk = Jwk::from_encoding_key(&key, Algorithm::EdDSA)?;
        jwk.common.key_id = Some(jwk.thumbprint(ThumbprintHash::SHA256)?);
        Ok(Self { key, jwk })
    }

    /// The public half, as a key set for `TOKEN_KEYS`.
    pub fn public_keys(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(&JwkSet { keys: vec![self.jwk.clone()] })
    }

    /// A token for `caller`, valid from `now` for `lifetime_s` seconds.
    pub fn sign(
        &self,
        caller: &Caller,
        now: Instant,
        lifetime_s: i64,
        token_id: String,
    ) -> Result<String, jsonwebtoken::errors::Error> {
        let mut header = Header::new(Algorithm::EdDSA);
        header.kid.clone_from(&self.jwk.common.key_id);
        let iat = now.as_seconds();
        let (sub, role) = (caller.member_id.clone(), caller.role);
        let claims = Claims { sub, role, iat, exp: iat + lifetime_s, jti: token_id };
        encode(&header, &claims, &self.key)
    }
}

/// The keys that tokens are verified with, as a JSON Web Key Set: their public
/// halves, whatever else stood in `TOKEN_KEYS`.
pub fn public_keys(app: &App) -> &JwkSet {
    &app.token_keys.set
}

/// The caller of `request`. 401 without a token that holds.
pub fn caller(app: &App, request: &Request) -> Result<Caller, Problem> {
    let header = http::header(request, "authorization");
    let token = header.and_then(|header| {
        let (scheme, token) = header.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
    });
    let caller = token.and_then(|token| app.token_keys.verify(token, app.clock.now()));
    caller.ok_or_else(|| UNAUTHENTICATED.into())
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::prelude::BASE64_URL_SAFE_NO_PAD;

    use super::*;

    const NOW: i64 = 1_900_000_000_000;

    /// From RFC 8410, section 10.3.
    const PEM: &[u8] = b"-----BEGIN PRIVATE KEY-----\n\
        MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n\
        -----END PRIVATE KEY-----\n";

    fn token(role: Role, lifetime_s: i64) -> (TokenKeys, String) {
        let signer = TokenSigner::from_pem(PEM).unwrap();
        let keys = TokenKeys::from_json(&signer.public_keys().unwrap()).unwrap();
        let caller = Caller { member_id: "m-1".into(), role };
        let now = Instant::from_millis(NOW);
        (keys, signer.sign(&caller, now, lifetime_s, "id".into()).unwrap())
    }

    #[test]
    fn a_token_is_good_until_the_second_in_which_it_expires() {
        let (keys, token) = token(Role::Staff, 900);
        let at = |s: i64| Instant::from_millis(NOW + s * 1000);
        let caller = keys.verify(&token, at(899)).unwrap();
        assert_eq!((caller.member_id.as_str(), caller.role), ("m-1", Role::Staff));
        assert_eq!(keys.verify(&token, at(900)), None);
    }

    #[test]
    fn a_token_changed_anywhere_is_refused() {
        let (keys, token) = token(Role::Member, 900);
        let now = Instant::from_millis(NOW);
        let forge = |claims: &str| BASE64_URL_SAFE_NO_PAD.encode(claims);
        let parts: Vec<&str> = token.split('.').collect();
        let claims = r#"{"sub":"m-1","role":"staff","iat":0,"exp":9999999999,"jti":"x"}"#;
        let kid = jsonwebtoken::decode_header(&token).unwrap().kid.unwrap();
        let forged = [
            format!("{}.{}.{}", parts[0], forge(claims), parts[2]),
            format!("{}.{}.", forge(r#"{"alg":"none"}"#), forge(claims)),
            format!("{}.{}.", forge(&format!(r#"{{"alg":"none","kid":"{kid}"}}"#)), forge(claims)),
            format!("{}.{}.{}", parts[0], parts[1], forge("signature")),
            format!("{}.{}", parts[0], parts[1]),
            String::new(),
        ];
        for token in forged {
            assert_eq!(keys.verify(&token, now), None, "{token}");
        }
    }

    #[test]
    fn a_token_of_another_key_or_algorithm_is_refused() {
        let (_, token) = token(Role::Member, 900);
        assert_eq!(TokenKeys::default().verify(&token, Instant::from_millis(NOW)), None);
        let (keys, _) = self::token(Role::Member, 900);
        let kid = keys.keys[0].0.clone();
        let mut header = Header::new(Algorithm::HS256);
        header.kid = Some(kid);
        let secret = EncodingKey::from_secret(b"public key bytes").unwrap();
        let claims = Claims {
            sub: "m-1".into(),
            role: Role::Staff,
            iat: 0,
            exp: i64::MAX,
            jti: String::new(),
        };
        let confused = encode(&header, &claims, &secret).unwrap();
        assert_eq!(keys.verify(&confused, Instant::from_millis(NOW)), None);
    }

    #[test]
    fn member_ids_cannot_break_out_of_a_key() {
        assert!(is_member_id("student-1"));
        for bad in ["", "a#b", "a b", "é", "a\0", &"a".repeat(65)] {
            assert!(!is_member_id(bad), "{bad:?}");
        }
    }
}
