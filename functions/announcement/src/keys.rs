//! Every key of the table `Announcement`, in one place.

use platform::clock::Instant;
use platform::stripes::shard;
use platform::table::Key;

use crate::ids::AnnouncementId;

/// The index of announcements by their favorites.
pub const RANKING: &str = "index1";

/// Partitions that the ranking is spread over.
pub const RANK_SHARDS: u32 = 8;

/// The index of favorites by the announcement, and by what their members were
/// told of its closing.
pub const WAITING: &str = "index2";

/// Partitions that an announcement's favorites are spread over in [`WAITING`].
/// Each takes about a thousand a second.
pub const WAITING_SHARDS: u32 = 8;

/// The local index of a member's checklists by the time of their last change.
pub const RECENT: &str = "recent";

/// The stripes of a new announcement's favorites. Each takes about a hundred
/// transactions a second. Of 20,000 simulated members who marked one announcement in
/// the same moment at 40 partitions, 16 stripes put off 298 and 64 one; 96 put off
/// nobody, and are still read by one `BatchGetItem`.
pub const FAVORITE_STRIPES: u32 = 96;

/// The sort key of everything small of an announcement.
pub const META: &str = "META";

/// The sort key of a stripe of views.
pub const VIEWS: &str = "VIEWS";

/// The sort key of a stripe of favorites, and of how many a member has.
pub const FAVORITES: &str = "FAVORITES";

/// Where the sort keys of a member's favorites begin.
pub const FAVORITE: &str = "FAVORITE#";

/// Where the sort keys of what members are told begin.
pub const CLOSING: &str = "CLOSING#";

/// The partition of announcements by the time of their creation.
pub const NEWEST: &str = "NEWEST";

/// Sorts before every position.
pub const FIRST: &str = "0";

/// Sorts after every position.
pub const LAST: &str = "~";

fn partition(id: &AnnouncementId) -> String {
    format!("ANNOUNCEMENT#{id}")
}

/// Everything small of an announcement.
pub fn meta(id: &AnnouncementId) -> Key {
    Key::new(partition(id), META)
}

/// An announcement's texts.
pub fn body(id: &AnnouncementId) -> Key {
    Key::new(partition(id), "BODY")
}

/// One stripe of an announcement's views.
pub fn views(id: &AnnouncementId, stripe: u32) -> Key {
    Key::new(format!("ANNOUNCEMENT#{id}#VIEWS#{stripe}"), VIEWS)
}

/// One stripe of an announcement's favorites.
pub fn favorites(id: &AnnouncementId, stripe: u32) -> Key {
    Key::new(format!("ANNOUNCEMENT#{id}#FAVORITES#{stripe}"), FAVORITES)
}

/// The announcement in the partition key of a stripe.
pub fn parse_stripe(pk: &str) -> Option<AnnouncementId> {
    pk.strip_prefix("ANNOUNCEMENT#")?.split_once('#')?.0.parse().ok()
}

/// The list of announcements of a category and of a region, or of all.
pub fn list_partition(category: Option<&str>, region: Option<&str>) -> String {
    // A name is never empty, so nothing is the name of all.
    let [category, region] = [category, region].map(|name| escaped(name.unwrap_or_default()));
    format!("LIST#{category}#{region}")
}

fn escaped(name: &str) -> String {
    name.replace('%', "%25").replace('#', "%23")
}

/// Where an announcement stands in lists: in the order in which they close.
pub fn position(at_ms: i64, id: &AnnouncementId) -> String {
    format!("{:015}#{id}", at_ms.max(0))
}

/// The announcement at a position.
pub fn parse_position(position: &str) -> Option<AnnouncementId> {
    let (at_ms, id) = position.split_once('#')?;
    let is_time = at_ms.len() == 15 && at_ms.bytes().all(|b| b.is_ascii_digit());
    if is_time { id.parse().ok() } else { None }
}

/// Sorts after the position of everything that closes at `time` or before.
pub fn after_all_at(time: Instant) -> String {
    format!("{:015}#~", time.as_millis().max(0))
}

/// Where an announcement stands among the newest.
pub fn newest(created_at_ms: i64, id: &AnnouncementId) -> Key {
    Key::new(NEWEST, position(created_at_ms, id))
}

/// One partition of the ranking.
pub fn rank_partition(shard: u32) -> String {
    format!("RANK#{shard}")
}

/// The partition of an announcement in the ranking.
pub fn rank_partition_of(id: &AnnouncementId) -> String {
    rank_partition(shard(number(id.as_str()), RANK_SHARDS))
}

/// Where an announcement stands in the ranking, which is read from its end.
pub fn rank_position(favorites: u64, id: &AnnouncementId) -> String {
    format!("{favorites:015}#{id}")
}

/// The partition of everything that is a member's.
pub fn member_partition(member_id: &str) -> String {
    format!("MEMBER#{member_id}")
}

/// The member in [`member_partition`].
pub fn parse_member(pk: &str) -> Option<&str> {
    pk.strip_prefix("MEMBER#")
}

/// How many favorites a member has.
pub fn favorite_count(member_id: &str) -> Key {
    Key::new(member_partition(member_id), FAVORITES)
}

/// A favorite of a member.
pub fn favorite(member_id: &str, id: &AnnouncementId) -> Key {
    Key::new(member_partition(member_id), format!("{FAVORITE}{id}"))
}

/// A checklist of a member.
pub fn checklist(member_id: &str, id: &AnnouncementId) -> Key {
    Key::new(member_partition(member_id), format!("CHECKLIST#{id}"))
}

/// What a member is told once: that a favorite closes at that time.
pub fn closing(member_id: &str, id: &AnnouncementId, closes_at_ms: i64) -> Key {
    let sk = format!("{CLOSING}{id}#{:015}", closes_at_ms.max(0));
    Key::new(member_partition(member_id), sk)
}

/// One partition of an announcement's favorites in [`WAITING`].
pub fn waiting_partition(id: &AnnouncementId, shard: u32) -> String {
    format!("ANNOUNCEMENT#{id}#FAVORITES#{shard}")
}

/// The partition of a member's favorite in [`WAITING`].
pub fn waiting_partition_of(id: &AnnouncementId, member_id: &str) -> String {
    waiting_partition(id, shard(number(member_id), WAITING_SHARDS))
}

/// Where a favorite stands in [`WAITING`] whose member was told of the closing
/// time with the number `told`, 0 if of none.
pub fn waiting_position(told: u64, member_id: &str) -> String {
    format!("{told:010}#{member_id}")
}

/// Sorts after every position of a member who was not told of the closing time
/// with this number, and before those of others.
pub fn waiting_end(number: u64) -> String {
    format!("{number:010}")
}

/// Sorts right after `position`: no key has a space.
pub fn right_after(position: &str) -> String {
    format!("{position} ")
}

/// The shared part of home.
pub fn snapshot() -> Key {
    Key::new("HOME", "SNAPSHOT")
}

/// A number to spread names by (FNV-1a, <http://www.isthe.com/chongo/tech/comp/fnv/>).
fn number(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn id() -> AnnouncementId {
        "a-1".parse().unwrap()
    }

    #[test]
    fn keys_are_what_the_table_holds() {
        assert_eq!(meta(&id()), Key::new("ANNOUNCEMENT#a-1", "META"));
        assert_eq!(body(&id()), Key::new("ANNOUNCEMENT#a-1", "BODY"));
        assert_eq!(views(&id(), 63), Key::new("ANNOUNCEMENT#a-1#VIEWS#63", "VIEWS"));
        assert_eq!(favorites(&id(), 15), Key::new("ANNOUNCEMENT#a-1#FAVORITES#15", "FAVORITES"));
        let newest = newest(1_893_456_000_000, &id());
        assert_eq!(newest, Key::new("NEWEST", "001893456000000#a-1"));
        assert_eq!(rank_partition(7), "RANK#7");
        assert_eq!(rank_position(12, &id()), "000000000000012#a-1");
        assert_eq!(favorite_count("m"), Key::new("MEMBER#m", "FAVORITES"));
        assert_eq!(favorite("m", &id()), Key::new("MEMBER#m", "FAVORITE#a-1"));
        assert_eq!(checklist("m", &id()), Key::new("MEMBER#m", "CHECKLIST#a-1"));
        let closing = closing("m", &id(), 1_893_456_000_000);
        assert_eq!(closing, Key::new("MEMBER#m", "CLOSING#a-1#001893456000000"));
        assert_eq!(waiting_partition(&id(), 7), "ANNOUNCEMENT#a-1#FAVORITES#7");
        assert_eq!(waiting_position(2, "m"), "0000000002#m");
        assert_eq!(snapshot(), Key::new("HOME", "SNAPSHOT"));
    }

    #[test]
    fn a_list_has_the_name_of_its_filter_and_no_other_filter_has_it() {
        assert_eq!(list_partition(Some("housing"), Some("north")), "LIST#housing#north");
        assert_eq!(list_partition(None, None), "LIST##");
        let filters = [
            (Some("a#b"), Some("c")),
            (Some("a"), Some("b#c")),
            (Some("a%23b"), Some("c")),
            (Some("a#b#c"), None),
            (None, Some("a#b#c")),
        ];
        let names = filters.map(|(category, region)| list_partition(category, region));
        assert_eq!(BTreeSet::from(names).len(), filters.len());
    }

    #[test]
    fn keys_tell_whose_they_are() {
        assert_eq!(parse_stripe(&views(&id(), 3).pk), Some(id()));
        assert_eq!(parse_stripe(&favorites(&id(), 3).pk), Some(id()));
        assert_eq!(parse_stripe(&meta(&id()).pk), None);
        assert_eq!(parse_member(&favorite("m", &id()).pk), Some("m"));
        assert_eq!(parse_position(&position(7, &id())), Some(id()));
        for bad in ["", "~", "7#a", "00000000000000x#a", "000000000000007#a b", "000000000000007"] {
            assert_eq!(parse_position(bad), None, "{bad}");
        }
    }

    #[test]
    fn positions_sort_by_time() {
        let at = Instant::from_millis;
        assert!(FIRST < position(-5, &id()).as_str());
        assert!(position(999, &id()) < position(1_000, &id()));
        assert!(position(999, &id()) < after_all_at(at(999)));
        assert!(after_all_at(at(999)) < position(1_000, &id()));
        assert!(after_all_at(at(i64::MAX)).as_str() < LAST);
        assert!(rank_position(9, &id()) < rank_position(10, &id()));
    }

    #[test]
    fn those_who_wait_stand_before_those_who_were_told() {
        let told = |number| waiting_position(number, "m");
        assert!(FIRST < told(0).as_str());
        assert!(told(0) < waiting_end(1) && waiting_end(1) < told(1));
        assert!(told(9) < waiting_end(10) && waiting_end(10) < told(10));
        assert!(told(0) < right_after(&told(0)));
        assert!(right_after(&told(0)) < waiting_position(0, "m!"));
    }

    #[test]
    fn names_spread_over_their_partitions() {
        let ids = (0..200).map(|n| format!("announcement-{n}").parse().unwrap());
        let ranks: BTreeSet<String> = ids.map(|id| rank_partition_of(&id)).collect();
        let members = (0..200).map(|n| waiting_partition_of(&id(), &format!("m{n}")));
        let waiting: BTreeSet<String> = members.collect();
        assert_eq!((ranks.len(), waiting.len()), (8, 8));
    }
}
