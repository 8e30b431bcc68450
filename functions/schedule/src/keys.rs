//! Every key of the table `Schedule`, in one place.

use platform::clock::Instant;
use platform::stripes::shard;
use platform::table::Key;

use crate::ids::ScheduleId;

/// The local index of schedules in the order of their starts.
pub const STARTS: &str = "starts";

/// The index of reminders that wait, in the order in which they are due.
pub const DUE: &str = "index1";

/// Partitions that reminders are spread over in [`DUE`]. Each takes about a
/// thousand a second.
pub const DUE_SHARDS: u32 = 8;

/// Sorts before every position in [`DUE`].
pub const DUE_FIRST: &str = "0";

/// What an item is, by its sort key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A member's calendar.
    Calendar,
    /// A schedule.
    Schedule,
    /// The reminder of a schedule.
    Reminder,
    /// An answer that was kept under an `Idempotency-Key`.
    KeptAnswer,
}

impl Kind {
    /// The kind of the item with this sort key.
    pub fn of(sk: &str) -> Option<Self> {
        match sk.split_once('#') {
            None if sk == "CALENDAR" => Some(Self::Calendar),
            None if sk == "IDEMPOTENCY" => Some(Self::KeptAnswer),
            Some(("SCHEDULE", _)) => Some(Self::Schedule),
            Some(("REMINDER", _)) => Some(Self::Reminder),
            _ => None,
        }
    }
}

/// The partition of everything that is a member's.
pub fn member_partition(member_id: &str) -> String {
    format!("MEMBER#{member_id}")
}

/// A member's calendar.
pub fn calendar(member_id: &str) -> Key {
    Key::new(member_partition(member_id), "CALENDAR")
}

/// A schedule of a member.
pub fn schedule(member_id: &str, id: &ScheduleId) -> Key {
    Key::new(member_partition(member_id), format!("SCHEDULE#{id}"))
}

/// The id in the sort key of a schedule.
pub fn parse_schedule(sk: &str) -> Option<ScheduleId> {
    sk.strip_prefix("SCHEDULE#")?.parse().ok()
}

/// The reminder of a schedule.
pub fn reminder(member_id: &str, id: &ScheduleId) -> Key {
    Key::new(member_partition(member_id), format!("REMINDER#{id}"))
}

/// One partition of reminders that wait.
pub fn due_partition(shard: u32) -> String {
    format!("DUE#{shard}")
}

/// The partition in which a schedule's reminder waits.
pub fn due_partition_of(id: &ScheduleId) -> String {
    due_partition(shard(id.random_bits(), DUE_SHARDS))
}

/// Where a reminder waits: in the order in which they are due. `due_at_ms` is
/// not negative.
pub fn due_position(due_at_ms: i64, id: &ScheduleId) -> String {
    format!("{due_at_ms:015}#{id}")
}

/// When the reminder at `position` is due.
pub fn parse_due_position(position: &str) -> Option<i64> {
    position.split_once('#')?.0.parse().ok()
}

/// The last position of those that are due at `now`.
pub fn due_by(now: Instant) -> String {
    format!("{:015}#~", now.as_millis().max(0))
}

/// Sorts after `position` and before the next one, since all are equally long.
pub fn due_after(position: &str) -> String {
    format!("{position}~")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "01941f29-7c00-7000-8000-000000000001";

    fn id() -> ScheduleId {
        ID.parse().unwrap()
    }

    #[test]
    fn keys_are_what_the_table_holds() {
        let key = |sk: &str| Key::new("MEMBER#m-1", sk);
        assert_eq!(calendar("m-1"), key("CALENDAR"));
        assert_eq!(schedule("m-1", &id()), key(&format!("SCHEDULE#{ID}")));
        assert_eq!(reminder("m-1", &id()), key(&format!("REMINDER#{ID}")));
        assert_eq!(parse_schedule(&schedule("m-1", &id()).sk), Some(id()));
        assert_eq!(parse_schedule(&reminder("m-1", &id()).sk), None);
        assert_eq!(due_partition(7), "DUE#7");
        assert_eq!(due_position(1_893_456_000_000, &id()), format!("001893456000000#{ID}"));
    }

    #[test]
    fn a_kind_is_known_by_the_sort_key() {
        assert_eq!(Kind::of(&calendar("m").sk), Some(Kind::Calendar));
        assert_eq!(Kind::of(&schedule("m", &id()).sk), Some(Kind::Schedule));
        assert_eq!(Kind::of(&reminder("m", &id()).sk), Some(Kind::Reminder));
        assert_eq!(Kind::of("IDEMPOTENCY"), Some(Kind::KeptAnswer));
        for unknown in ["", "SCHEDULE", "CALENDAR#1", "OTHER#1"] {
            assert_eq!(Kind::of(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn positions_sort_by_time_and_tell_it() {
        let now = Instant::from_millis(1_893_456_000_000);
        let at = |ms: i64| due_position(now.as_millis() + ms, &id());
        assert!(DUE_FIRST < due_position(0, &id()).as_str());
        assert!(due_position(999, &id()) < at(0));
        assert!(at(0) < due_by(now) && due_by(now) < at(1));
        assert!(at(0) < due_after(&at(0)) && due_after(&at(0)) < due_by(now));
        let next: ScheduleId = "01941f29-7c00-7000-8000-000000000002".parse().unwrap();
        assert!(due_after(&at(0)) < due_position(now.as_millis(), &next));
        assert_eq!(parse_due_position(&at(5)), Some(1_893_456_000_005));
        assert_eq!(parse_due_position("x#y"), None);
        let last = Instant::from_millis(i64::MAX);
        assert!(at(0) < due_position(last.as_millis(), &id()));
    }

    #[test]
    fn reminders_spread_over_their_partitions() {
        let partition = |n: u32| {
            let id = format!("01941f29-7c00-7000-8000-{n:012x}").parse().unwrap();
            due_partition_of(&id)
        };
        let mut seen: Vec<String> = (0..200).map(partition).collect();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), DUE_SHARDS as usize);
    }
}
