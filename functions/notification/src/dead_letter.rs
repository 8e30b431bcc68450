//! What travels on the events queue, and what lies in the dead letters.
//!
//! A message is an event with the id of the record that told of it. A record
//! that could not be understood is parked whole, so that nothing is lost and it
//! can be read again once the code knows how.

use platform::events::{Change, Event};
use platform::queue::Entry;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The largest message that is sent, in bytes: a queue takes 1 MiB
/// ([quotas](https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html)).
const MOST_BYTES: usize = 1_000_000;

/// An event on its way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Envelope {
    /// The id of the record that told of it.
    pub record_id: String,
    /// The event.
    #[serde(flatten)]
    pub event: Event,
}

/// A stream record that could not be understood.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Parked {
    /// The whole record.
    pub parked_record: Value,
    /// Why it could not be understood.
    pub cause: String,
}

/// A dead letter.
#[derive(Debug, PartialEq)]
pub enum DeadLetter {
    /// An event that was not taken.
    Event(Envelope),
    /// A record that became no event.
    Record(Change),
    /// Neither: nothing that hotseat sends.
    Unknown,
}

impl Envelope {
    /// The message that carries it. A second one of the same record is known by
    /// `deduplication_id`.
    pub fn to_entry(&self, deduplication_id: &str) -> Result<Entry, serde_json::Error> {
        Entry::json(self.event.group(), deduplication_id.to_owned(), self)
    }
}

impl Parked {
    /// The message that parks it. It is a group of its own: nothing waits for
    /// it. One that no message could hold is parked without its images: it
    /// tells where to look.
    pub fn to_entry(mut self, record_id: &str) -> Result<Entry, serde_json::Error> {
        let entry = self.as_entry(record_id)?;
        if entry.body.len() <= MOST_BYTES {
            return Ok(entry);
        }
        for image in ["NewImage", "OldImage"] {
            if let Some(change) = self.parked_record["dynamodb"].as_object_mut() {
                change.remove(image);
            }
        }
        self.cause.push_str("; parked without its images, which are too large");
        self.as_entry(record_id)
    }

    fn as_entry(&self, record_id: &str) -> Result<Entry, serde_json::Error> {
        Entry::json(format!("parked-{record_id}"), record_id.to_owned(), self)
    }
}

impl DeadLetter {
    /// What a message in the dead letters holds.
    pub fn read(body: &str) -> Self {
        if let Ok(envelope) = serde_json::from_str(body) {
            return Self::Event(envelope);
        }
        match serde_json::from_str::<Parked>(body) {
            Ok(parked) => Self::Record(Change::from_record(parked.parked_record)),
            Err(_) => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_sent_is_read_back() {
        let event = json!({
            "recordId": "e-1",
            "type": "ENROLLED",
            "aggregate": "student",
            "aggregateId": "7",
            "version": 2,
            "occurredAt": "2030-01-01T00:00:00Z",
            "memberId": "m-1",
            "payload": {},
        });
        let envelope: Envelope = serde_json::from_value(event).unwrap();
        let entry = envelope.to_entry("again").unwrap();
        assert_eq!((entry.group.as_str(), entry.deduplication_id.as_str()), ("student-7", "again"));
        assert_eq!(DeadLetter::read(&entry.body), DeadLetter::Event(envelope));

        let parked = Parked { parked_record: json!({ "eventID": "e-2" }), cause: "odd".into() };
        let entry = parked.to_entry("e-2").unwrap();
        let change = Change::from_record(json!({ "eventID": "e-2" }));
        assert_eq!(DeadLetter::read(&entry.body), DeadLetter::Record(change));
        assert_eq!(DeadLetter::read("{}"), DeadLetter::Unknown);
        assert_eq!(DeadLetter::read("x"), DeadLetter::Unknown);
    }
    #[test]
    fn a_record_that_no_message_could_hold_is_parked_without_its_images() {
        let image = json!({ "text": { "S": "\u{1}".repeat(390_000) } });
        let record = json!({
            "eventID": "e-3",
            "dynamodb": { "Keys": { "pk": { "S": "a" } }, "NewImage": image, "OldImage": image },
        });
        let entry = Parked { parked_record: record, cause: "odd".into() }.to_entry("e-3").unwrap();
        assert!(entry.body.len() < 1_000, "{}", entry.body.len());
        let DeadLetter::Record(change) = DeadLetter::read(&entry.body) else { panic!("no record") };
        assert_eq!(change.key("pk"), Some("a"));
    }
}
