//! Ticketing, spoken in its own words.

use platform::signed::Signer;
use serde_json::{Value, json};
use ticketing::pass::Pass;

use crate::{Answer, Caller, World};

/// A match whose sale opened at 2029-12-31 and closes at 2030-06-01: blocks A
/// (grade 1, 5 rows of 10 at 9,000) and B (grade 2, 10 rows of 10 at 5,000); at
/// most 4 seats a member, 10 admissions a second; passes of 30 minutes, holds of
/// 5, and 10 to pay.
pub fn match_body() -> Value {
    json!({
        "home": "Reds",
        "away": "Blues",
        "venue": "Old Ground",
        "startsAt": "2030-06-01T18:00:00Z",
        "saleOpensAt": "2029-12-31T00:00:00Z",
        "saleClosesAt": "2030-06-01T17:00:00Z",
        "blocks": [block("A", 1, 9_000, 5, 10), block("B", 2, 5_000, 10, 10)],
        "admitPerSecond": 10,
        "passMinutes": 30,
        "holdMinutes": 5,
        "payMinutes": 10,
        "maxSeatsPerMember": 4,
    })
}

/// A block in the section that its id begins with.
pub fn block(id: &str, grade: u32, price: u64, rows: u32, seats_per_row: u32) -> Value {
    json!({
        "section": id.chars().next().expect("an id").to_string(),
        "block": id,
        "grade": grade,
        "price": price,
        "rows": rows,
        "seatsPerRow": seats_per_row,
    })
}

/// [`match_body`] with some fields changed.
pub fn match_with(changes: &Value) -> Value {
    let mut body = match_body();
    for (field, value) in changes.as_object().expect("an object") {
        body[field] = value.clone();
    }
    body
}

impl World {
    /// Creates the match `id` with some fields of [`match_body`] changed.
    pub async fn a_match(&self, id: &str, changes: Value) {
        let path = format!("/matches/{id}");
        self.as_staff().put(&path, match_with(&changes)).await.expect(201);
    }

    /// A pass for the match that is good for half an hour, as if the queue had
    /// given it to the member.
    pub fn pass(&self, match_id: &str, member_id: &str) -> String {
        let secret = self.cloud.secret("QUEUE_KEYS");
        let signer = Signer::of(&secret.as_str().into(), "pass").expect("a signer");
        let pass = Pass {
            match_id: match_id.parse().expect("an id"),
            member_id: member_id.to_owned(),
            nonce: "n".to_owned(),
            expires_at_ms: self.clock.now().plus_millis(30 * 60 * 1000).as_millis(),
        };
        signer.write_json(&pass).expect("a pass")
    }

    /// A member who was admitted to the sale of a match.
    pub fn admitted(&self, match_id: &str, member_id: &str) -> Caller<'_> {
        self.as_member(member_id).with("X-Queue-Pass", &self.pass(match_id, member_id))
    }
}

impl Caller<'_> {
    /// `POST /matches/{id}/holds`.
    pub async fn hold<S: AsRef<str>>(&self, match_id: &str, seats: &[S]) -> Answer {
        let seats: Vec<&str> = seats.iter().map(AsRef::as_ref).collect();
        self.post(&format!("/matches/{match_id}/holds"), json!({ "seats": seats })).await
    }
}
