//! Who confirms a payment: whoever can sign with one of the texts of the secret
//! `PAYMENT_KEYS`. There is no token, since no member sends it.

use aws_lc_rs::hmac;
use platform::problem::UNAUTHENTICATED;
use platform::ring::Ring;
use platform::secrets::Secret;
use platform::{App, Problem, Request, http};

/// The header that bears the signature: `sha256=` and an HMAC-SHA256 over the
/// body, in hexadecimal.
pub const HEADER: &str = "X-Signature";

const SCHEME: &str = "sha256=";

/// The value of [`HEADER`] for a body, signed with a text of the secret.
pub fn sign(text: &str, body: &[u8]) -> String {
    let tag = hmac::sign(&key(text.as_bytes()), body);
    let digits = tag.as_ref().iter().map(|byte| format!("{byte:02x}"));
    format!("{SCHEME}{}", digits.collect::<String>())
}

/// Refuses a request whose body is not signed with any text of the secret.
pub async fn require(app: &App, request: &Request) -> Result<(), Problem> {
    let body = http::body_bytes(request)?;
    let is_signed = match http::header(request, HEADER) {
        Some(signature) => is_signed(&app.secret("PAYMENT_KEYS").await?, body, signature)?,
        None => false,
    };
    if is_signed {
        return Ok(());
    }
    let detail =
        format!("A header {HEADER} is required: {SCHEME} and the HMAC of the body in hex.");
    Err(Problem::from(UNAUTHENTICATED).detail(detail))
}

fn is_signed(secret: &Secret, body: &[u8], signature: &str) -> Result<bool, Problem> {
    let keys = Ring::read(secret, |text| Ok(key(text.as_bytes())))?;
    let tag = signature.strip_prefix(SCHEME).and_then(bytes);
    Ok(tag.is_some_and(|tag| keys.iter().any(|key| hmac::verify(key, body, &tag).is_ok())))
}

fn key(text: &[u8]) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, text)
}

/// The bytes of hexadecimal digits.
fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digits = hex.chars().map(|c| c.to_digit(16)).collect::<Option<Vec<u32>>>()?;
    let pairs = digits.chunks(2).map(|pair| match pair {
        [high, low] => u8::try_from(high * 16 + low).ok(),
        _ => None,
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "0123456789abcdef0123456789abcdef";
    const NEW: &str = "fedcba9876543210fedcba9876543210";
    const BODY: &[u8] = br#"{"paymentId":"p-1","amount":9000}"#;
    /// From `openssl dgst -sha256 -hmac 0123456789abcdef0123456789abcdef`.
    const SIGNATURE: &str =
        "sha256=944588f665c664575d182085fc6d74c9649ea1852a26ce723a07ee57d92ecef8";

    fn is_good(secret: &str, body: &[u8], signature: &str) -> bool {
        is_signed(&secret.into(), body, signature).unwrap()
    }

    #[test]
    fn a_signature_is_what_any_other_tool_makes() {
        assert_eq!(sign(OLD, BODY), SIGNATURE);
        assert!(is_good(OLD, BODY, SIGNATURE));
        let (scheme, digits) = SIGNATURE.split_once('=').unwrap();
        assert!(is_good(OLD, BODY, &format!("{scheme}={}", digits.to_uppercase())));
    }

    #[test]
    fn every_text_of_the_secret_will_do_and_no_other() {
        let both = format!("{NEW} {OLD}");
        assert!(is_good(&both, BODY, &sign(OLD, BODY)) && is_good(&both, BODY, &sign(NEW, BODY)));
        assert!(!is_good(NEW, BODY, &sign(OLD, BODY)));
        assert!(!is_good(&both, BODY, &sign(&both, BODY)));
    }

    #[test]
    fn a_body_or_a_signature_that_was_changed_is_refused() {
        for at in 0..BODY.len() {
            let mut body = BODY.to_vec();
            body[at] ^= 1;
            assert!(!is_good(OLD, &body, SIGNATURE));
        }
        for at in 0..SIGNATURE.len() {
            let mut changed = SIGNATURE.as_bytes().to_vec();
            changed[at] = if changed[at] == b'0' { b'1' } else { b'0' };
            assert!(!is_good(OLD, BODY, &String::from_utf8(changed).unwrap()), "{at}");
            let cut_off: String = SIGNATURE.chars().take(at).collect();
            assert!(!is_good(OLD, BODY, &cut_off));
        }
        for bad in ["", "sha256", "sha256=", "sha256=é", "sha512=00", &format!("{SIGNATURE}00")] {
            assert!(!is_good(OLD, BODY, bad), "{bad}");
        }
    }
}
