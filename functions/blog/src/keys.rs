//! Every key of the table `Blog`, in one place.

use platform::stripes::shard;
use platform::table::Key;

use crate::ids::PostId;

/// The index of published posts by their views.
pub const RANKING: &str = "index1";

/// Partitions that the ranking is spread over. Each takes about a thousand
/// writes a second.
pub const RANK_SHARDS: u32 = 8;

/// The index of published posts by the time of their publication.
pub const LIST: &str = "index2";

/// Partitions that the list is spread over.
pub const LIST_SHARDS: u32 = 4;

/// Sorts after every position in [`LIST`].
pub const LIST_END: &str = "~";

/// The sort key of everything small of a post.
pub const META: &str = "META";

/// The sort key of a stripe of views.
pub const VIEWS: &str = "VIEWS";

/// Everything of a post but its body and what counts its views.
pub fn meta(id: PostId) -> Key {
    Key::new(format!("POST#{id}"), META)
}

/// A post's body.
pub fn body(id: PostId) -> Key {
    Key::new(format!("POST#{id}"), "BODY")
}

/// One stripe of a post's views.
pub fn views(id: PostId, stripe: u32) -> Key {
    Key::new(format!("POST#{id}#VIEWS#{stripe}"), VIEWS)
}

/// The post in the partition key of [`meta`].
pub fn parse_post(pk: &str) -> Option<PostId> {
    pk.strip_prefix("POST#")?.parse().ok()
}

/// Post and stripe in the partition key of [`views`].
pub fn parse_views(pk: &str) -> Option<(PostId, u32)> {
    let (id, stripe) = pk.strip_prefix("POST#")?.split_once("#VIEWS#")?;
    Some((id.parse().ok()?, stripe.parse().ok()?))
}

/// One partition of the ranking.
pub fn rank_partition(shard: u32) -> String {
    format!("RANK#{shard}")
}

/// The partition of a post in the ranking.
pub fn rank_partition_of(id: PostId) -> String {
    rank_partition(shard(id.random_bits(), RANK_SHARDS))
}

/// Where a post stands in the ranking, which is read from its end: the more
/// views, the earlier, and of those with as many the older post.
pub fn rank_position(views: u64, id: PostId) -> String {
    format!("{views:015}#{}", id.inverted())
}

/// One partition of the list.
pub fn list_partition(shard: u32) -> String {
    format!("LIST#{shard}")
}

/// The partition of a post in the list.
pub fn list_partition_of(id: PostId) -> String {
    list_partition(shard(id.random_bits(), LIST_SHARDS))
}

/// Where a post stands in the list, which is read from its end: the later it
/// was published, the earlier.
pub fn list_position(published_at_ms: i64, id: PostId) -> String {
    format!("{published_at_ms:015}#{id}")
}

/// Whether it is a position in the list.
pub fn is_list_position(position: &str) -> bool {
    position.split_once('#').is_some_and(|(at_ms, id)| {
        at_ms.len() == 15
            && at_ms.bytes().all(|b| b.is_ascii_digit())
            && id.parse::<PostId>().is_ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "01941f29-7c00-7000-8000-000000000001";

    fn id() -> PostId {
        ID.parse().unwrap()
    }

    #[test]
    fn keys_are_what_the_table_holds() {
        let post = format!("POST#{ID}");
        assert_eq!(meta(id()), Key::new(&post, "META"));
        assert_eq!(body(id()), Key::new(&post, "BODY"));
        assert_eq!(views(id(), 63), Key::new(format!("{post}#VIEWS#63"), "VIEWS"));
        assert_eq!(rank_partition(7), "RANK#7");
        assert_eq!(list_partition(3), "LIST#3");
        let rank = "000000000000012#fe6be0d6-83ff-8fff-7fff-fffffffffffe";
        assert_eq!(rank_position(12, id()), rank);
        assert_eq!(list_position(1_893_456_000_000, id()), format!("001893456000000#{ID}"));
    }

    #[test]
    fn keys_tell_whose_they_are() {
        assert_eq!(parse_post(&meta(id()).pk), Some(id()));
        assert_eq!(parse_views(&views(id(), 63).pk), Some((id(), 63)));
        assert_eq!(parse_post(&views(id(), 63).pk), None);
        assert_eq!(parse_views(&meta(id()).pk), None);
        assert!(is_list_position(&list_position(5, id())));
        for bad in ["", "~", "5#x", ID, "00189345600000é#01941f29-7c00-7000-8000-000000000001"] {
            assert!(!is_list_position(bad), "{bad}");
        }
    }

    #[test]
    fn positions_sort_by_views_and_by_time() {
        let newer: PostId = "01941f29-7c01-7000-8000-000000000000".parse().unwrap();
        assert!(rank_position(9, id()) < rank_position(10, newer));
        assert!(rank_position(9, newer) < rank_position(9, id()), "the older one wins");
        assert!(list_position(999, newer) < list_position(1_000, id()));
        assert!(list_position(999, id()) < list_position(999, newer));
        assert!(list_position(i64::from(u32::MAX) * 1000, newer).as_str() < LIST_END);
    }

    #[test]
    fn posts_spread_over_their_partitions() {
        let mut seen: Vec<String> = (0..200)
            .map(|n| format!("01941f29-7c00-7000-8000-{n:012x}").parse().unwrap())
            .flat_map(|id| [rank_partition_of(id), list_partition_of(id)])
            .collect();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), (RANK_SHARDS + LIST_SHARDS) as usize);
    }
}
