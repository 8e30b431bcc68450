//! Every key of the table `Notification`, in one place.

use platform::clock::Instant;
use platform::table::Key;

/// A notification's id: its time, its version, and the id of the record that
/// told of it. It sorts by time, and is the same however often it is told.
pub fn notification_id(occurred_at: Instant, version: u64, record_id: &str) -> String {
    format!("{:015}-{version:010}-{record_id}", occurred_at.as_millis().max(0))
}

/// Where the ids of notifications at and after `time` begin.
pub fn first_id_at(time: Instant) -> String {
    format!("{:015}", time.as_millis().max(0))
}

/// A member's partition.
pub fn inbox(member_id: &str) -> String {
    format!("MEMBER#{member_id}")
}

/// A notification's sort key, or the beginning of some.
pub fn position(id: &str) -> String {
    format!("NOTIFICATION#{id}")
}

/// A notification.
pub fn notification(member_id: &str, id: &str) -> Key {
    Key::new(inbox(member_id), position(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_what_the_table_holds() {
        let time = Instant::from_millis(1_893_456_000_000);
        let id = notification_id(time, 2, "e-1");
        assert_eq!(id, "001893456000000-0000000002-e-1");
        assert!(id.starts_with(&first_id_at(time)));
        let key = Key::new("MEMBER#m", "NOTIFICATION#001893456000000-0000000002-e-1");
        assert_eq!(notification("m", &id), key);
    }

    #[test]
    fn ids_sort_by_time_and_then_by_version() {
        let id = |ms, version| notification_id(Instant::from_millis(ms), version, "e");
        let ids = [id(999, 12), id(1_000, 2), id(1_000, 10), id(253_402_207_199_000, 1)];
        assert!(ids.is_sorted(), "{ids:?}");
    }
}
