//! Opaque page tokens.
//!
//! A cursor is where the last page ended, tied to the list it came from by a
//! checksum: one that was changed, cut off, or taken from another list is
//! refused instead of landing anywhere. It holds nothing that the page itself
//! did not show, so it needs no secret.

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::problem::Problem;

const CHECKSUM_BYTES: usize = 8;

/// The token for `position` in `list`. A list is named by whatever its pages
/// depend on, as in `"roster 101"`.
pub fn encode<T: Serialize>(list: &str, position: &T) -> Result<String, Problem> {
    let position = serde_json::to_vec(position).map_err(Problem::internal)?;
    let mut token = checksum(list, &position).to_vec();
    token.extend_from_slice(&position);
    Ok(BASE64_URL_SAFE_NO_PAD.encode(token))
}

/// Where to go on in `list`. Refuses what [`encode`] did not make for it.
pub fn decode<T: DeserializeOwned>(list: &str, cursor: &str) -> Result<T, Problem> {
    let refused = || Problem::invalid("cursor", "expected the nextCursor of this very list");
    let token = BASE64_URL_SAFE_NO_PAD.decode(cursor).map_err(|_| refused())?;
    let (sum, position) = token.split_at_checked(CHECKSUM_BYTES).ok_or_else(refused)?;
    if sum != checksum(list, position) {
        return Err(refused());
    }
    serde_json::from_slice(position).map_err(|_| refused())
}

fn checksum(list: &str, position: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let mut content = list.as_bytes().to_vec();
    content.push(0);
    content.extend_from_slice(position);
    let mut sum = [0; CHECKSUM_BYTES];
    sum.copy_from_slice(&digest(&SHA256, &content).as_ref()[..CHECKSUM_BYTES]);
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_leads_back_to_where_the_page_ended() {
        let cursor = encode("roster 1", &("2030", 7)).unwrap();
        assert_eq!(decode::<(String, u32)>("roster 1", &cursor).unwrap(), ("2030".into(), 7));
    }

    #[test]
    fn a_cursor_of_another_list_is_refused() {
        let cursor = encode("roster 1", &7).unwrap();
        assert!(decode::<u32>("roster 2", &cursor).is_err());
    }

    #[test]
    fn a_cursor_changed_in_any_character_is_refused() {
        let cursor = encode("roster 1", &"position").unwrap();
        for at in 0..cursor.len() {
            let mut changed: Vec<char> = cursor.chars().collect();
            changed[at] = if changed[at] == 'A' { 'B' } else { 'A' };
            let changed: String = changed.into_iter().collect();
            assert!(decode::<String>("roster 1", &changed).is_err(), "{changed}");
        }
        for bad in ["", "A", "!", "AAAAAAAAAAA", "ü"] {
            assert!(decode::<String>("roster 1", bad).is_err(), "{bad}");
        }
    }
}
