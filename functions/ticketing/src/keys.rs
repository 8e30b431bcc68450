//! Every key of the table `Ticketing`, in one place.

use platform::table::{Item, Key, s};

use crate::ids::{BlockId, HoldId, MatchId, OrderId, Seat};

/// The index of matches in the order of their starts.
pub const LIST: &str = "index1";

/// The one partition of [`LIST`].
pub const LIST_PARTITION: &str = "MATCHES";

/// What the sort key of every seat begins with.
pub const SEAT_PREFIX: &str = "SEAT#";

/// The sort key of a block's map.
pub const MAP: &str = "MAP";

/// What the sort key of every order of a member begins with.
pub const ORDER_PREFIX: &str = "ORDER#";

/// A match.
pub fn match_(id: &MatchId) -> Key {
    Key::new(format!("MATCH#{id}"), "MATCH")
}

/// Where a match stands in [`LIST`]: times before 1970 come first, all alike.
pub fn position(starts_at_ms: i64, id: &MatchId) -> String {
    format!("{:015}#{id}", starts_at_ms.max(0))
}

/// A match's keys in [`LIST`].
pub fn listed(starts_at_ms: i64, id: &MatchId) -> Item {
    Item::from([
        ("index1_pk".to_owned(), s(LIST_PARTITION)),
        ("index1_sk".to_owned(), s(position(starts_at_ms, id))),
    ])
}

/// One lane of a match's queue.
pub fn lane(id: &MatchId, lane: u32) -> Key {
    Key::new(format!("MATCH#{id}#LANE#{lane}"), "LANE")
}

/// A member's newest entry in the queue of a match.
pub fn entry(id: &MatchId, member_id: &str) -> Key {
    Key::new(member_partition_of(id, member_id), "ENTRY")
}

/// What a member has of a match: seats held, ordered and bought.
pub fn account(id: &MatchId, member_id: &str) -> Key {
    Key::new(member_partition_of(id, member_id), "ACCOUNT")
}

/// What a member wants of a match.
pub fn options(id: &MatchId, member_id: &str) -> Key {
    Key::new(member_partition_of(id, member_id), "OPTIONS")
}

fn member_partition_of(id: &MatchId, member_id: &str) -> String {
    format!("MATCH#{id}#MEMBER#{member_id}")
}

/// What a member wants of every match.
pub fn preferences(member_id: &str) -> Key {
    Key::new(member_partition(member_id), "PREFERENCES")
}

/// The partition of everything that is a member's, whatever the match.
pub fn member_partition(member_id: &str) -> String {
    format!("MEMBER#{member_id}")
}

/// A hold of a member.
pub fn hold(member_id: &str, id: &HoldId) -> Key {
    Key::new(member_partition(member_id), format!("HOLD#{id}"))
}

/// An order of a member: later ones come later.
pub fn order(member_id: &str, id: &OrderId) -> Key {
    Key::new(member_partition(member_id), format!("ORDER#{id}"))
}

/// Whose an order is, for those who know only its id.
pub fn owner(id: &OrderId) -> Key {
    Key::new(format!("ORDER#{id}"), "OWNER")
}

/// A payment: which order it was for.
pub fn payment(id: &str) -> Key {
    Key::new(format!("PAYMENT#{id}"), "PAYMENT")
}

/// The partition of a block's seats and of their map.
pub fn block_partition(id: &MatchId, block: &BlockId) -> String {
    format!("MATCH#{id}#BLOCK#{block}")
}

/// Match and block in a partition key of seats.
pub fn parse_block_partition(pk: &str) -> Option<(MatchId, BlockId)> {
    let (id, block) = pk.strip_prefix("MATCH#")?.split_once("#BLOCK#")?;
    Some((id.parse().ok()?, block.parse().ok()?))
}

/// A seat. Seats sort row by row, from the first.
pub fn seat(id: &MatchId, seat: &Seat) -> Key {
    let sk = format!("{SEAT_PREFIX}{:04}#{:04}", seat.row, seat.number);
    Key::new(block_partition(id, &seat.block), sk)
}

/// Row and number in the sort key of a seat.
pub fn parse_seat(sk: &str) -> Option<(u32, u32)> {
    let (row, number) = sk.strip_prefix(SEAT_PREFIX)?.split_once('#')?;
    Some((row.parse().ok()?, number.parse().ok()?))
}

/// The map of a block: which of its seats are taken, and until when.
pub fn map(id: &MatchId, block: &BlockId) -> Key {
    Key::new(block_partition(id, block), MAP)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "01941f29-7c00-7000-8000-000000000001";

    #[test]
    fn keys_are_what_the_table_holds() {
        let id: MatchId = "final".parse().unwrap();
        let (hold_id, order_id) = (ID.parse().unwrap(), ID.parse().unwrap());
        assert_eq!(match_(&id), Key::new("MATCH#final", "MATCH"));
        assert_eq!(lane(&id, 7), Key::new("MATCH#final#LANE#7", "LANE"));
        assert_eq!(entry(&id, "m-1"), Key::new("MATCH#final#MEMBER#m-1", "ENTRY"));
        assert_eq!(account(&id, "m-1"), Key::new("MATCH#final#MEMBER#m-1", "ACCOUNT"));
        assert_eq!(options(&id, "m-1"), Key::new("MATCH#final#MEMBER#m-1", "OPTIONS"));
        assert_eq!(preferences("m-1"), Key::new("MEMBER#m-1", "PREFERENCES"));
        assert_eq!(hold("m-1", &hold_id), Key::new("MEMBER#m-1", format!("HOLD#{ID}")));
        assert_eq!(order("m-1", &order_id), Key::new("MEMBER#m-1", format!("ORDER#{ID}")));
        assert_eq!(owner(&order_id), Key::new(format!("ORDER#{ID}"), "OWNER"));
        assert_eq!(payment("p-1"), Key::new("PAYMENT#p-1", "PAYMENT"));
        let north: Seat = "North-1-3-12".parse().unwrap();
        assert_eq!(seat(&id, &north), Key::new("MATCH#final#BLOCK#North-1", "SEAT#0003#0012"));
        assert_eq!(map(&id, &north.block), Key::new("MATCH#final#BLOCK#North-1", "MAP"));
        assert_eq!(listed(9, &id)["index1_pk"], s("MATCHES"));
        assert_eq!(listed(9, &id)["index1_sk"], s("000000000000009#final"));
    }

    #[test]
    fn a_seat_can_be_read_back_from_its_key() {
        let id: MatchId = "final".parse().unwrap();
        let north: Seat = "North-1-3-5000".parse().unwrap();
        let key = seat(&id, &north);
        assert_eq!(parse_block_partition(&key.pk), Some((id, north.block)));
        assert_eq!(parse_seat(&key.sk), Some((3, 5_000)));
        assert_eq!(parse_seat(MAP), None);
        assert_eq!(parse_block_partition("MATCH#final"), None);
        assert_eq!(parse_block_partition("MATCH#final#LANE#0"), None);
    }

    #[test]
    fn seats_sort_by_row_and_number() {
        let id: MatchId = "final".parse().unwrap();
        let sk = |name: &str| seat(&id, &name.parse().unwrap()).sk;
        assert!(sk("A-1-9") < sk("A-1-10") && sk("A-1-10") < sk("A-2-1"));
        assert!(sk("A-9-1") < sk("A-10-1"));
    }
}
