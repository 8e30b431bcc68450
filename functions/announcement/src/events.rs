//! What a change of the table tells others: that a favorite is about to close.

use platform::Problem;
use platform::clock::Instant;
use platform::events::{Aggregate, Change, Event, Source, Type};
use serde_json::json;

use crate::notice::Notice;
use crate::{TABLE, keys};

/// The notices, as events.
pub const SOURCE: Source = Source { table: TABLE, translate };

fn translate(change: &Change) -> Result<Option<Event>, Problem> {
    if change.is_expiry() || !change.key("sk").is_some_and(|sk| sk.starts_with(keys::CLOSING)) {
        return Ok(None);
    }
    let notice = change.after::<Notice>()?; // none is ever changed
    Ok(notice.map(|notice| Event {
        r#type: Type::AnnouncementClosing,
        aggregate: Aggregate::Announcement,
        aggregate_id: notice.announcement_id.to_string(),
        version: notice.announcement_version,
        occurred_at: Instant::from_millis(notice.told_at_ms),
        member_id: notice.member_id,
        payload: json!({
            "title": notice.title,
            "closesAt": Instant::from_millis(notice.closes_at_ms),
        }),
    }))
}

#[cfg(test)]
mod tests {
    use platform::table::Key;
    use serde_json::Value;

    use super::*;
    use crate::announcement::tests::{NOW, announcement};

    fn record(sk: &str, image: Option<&Value>) -> Change {
        Change::from_record(json!({
            "eventID": "e-1",
            "dynamodb": {
                "Keys": { "pk": { "S": "MEMBER#m" }, "sk": { "S": sk } },
                "NewImage": image,
                "SequenceNumber": "1",
            },
        }))
    }

    fn notice() -> (Key, Value) {
        let notice = Notice::of(&announcement(&[]).meta, "m", Instant::from_millis(NOW + 5));
        let item = notice.to_item().unwrap();
        let image = json!({
            "announcement_id": { "S": notice.announcement_id },
            "member_id": { "S": "m" },
            "title": { "S": "Rooms" },
            "closes_at_ms": { "N": notice.closes_at_ms.to_string() },
            "announcement_version": { "N": "1" },
            "told_at_ms": { "N": notice.told_at_ms.to_string() },
            "expires_at_s": { "N": notice.expires_at_s.to_string() },
        });
        (Key::of(&item).unwrap(), image)
    }

    #[test]
    fn a_notice_is_told_to_its_member_alone() {
        let (key, image) = notice();
        let event = translate(&record(&key.sk, Some(&image))).unwrap().unwrap();
        assert_eq!((event.member_id.as_str(), event.aggregate_id.as_str()), ("m", "a-1"));
        assert_eq!(event.payload, json!({ "title": "Rooms", "closesAt": "2030-01-03T00:00:00Z" }));
        assert_eq!(event.group(), "announcement-m", "members do not wait for each other");
    }

    #[test]
    fn nothing_else_is_told() {
        let (key, _) = notice();
        assert_eq!(translate(&record(&key.sk, None)).unwrap(), None);
        assert_eq!(translate(&record("FAVORITE#a-1", Some(&json!({})))).unwrap(), None);
        assert!(translate(&record(&key.sk, Some(&json!({})))).is_err());
    }
}
