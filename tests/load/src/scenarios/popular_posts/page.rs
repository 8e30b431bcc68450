//! Pages of lists, and whether they are in order.

use blog::PostId;
use platform::clock::Instant;
use serde::Deserialize;

/// A post in a list.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Listed {
    /// Its id.
    pub(crate) id: PostId,
    /// When it was published.
    pub(crate) published_at: Instant,
    /// Its views.
    pub(crate) views: u64,
}

/// A page of a list.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Page {
    /// The posts on it.
    pub(crate) items: Vec<Listed>,
    /// Where the next page begins, if there is one.
    pub(crate) next_cursor: Option<String>,
}

impl Page {
    /// What is wrong with a page of up to `limit` posts that comes after the
    /// post `before`: newest first, of two of the same time the newer id; so no
    /// post is repeated. A page is short only if it is the last one.
    pub(crate) fn flaw(&self, before: Option<&Listed>, limit: usize) -> Option<String> {
        let length = self.items.len();
        if length > limit || (length < limit && self.next_cursor.is_some()) {
            return Some(format!("a page of {length} instead of {limit} posts"));
        }
        let place = |post: &Listed| (post.published_at, post.id);
        let posts: Vec<&Listed> = before.into_iter().chain(&self.items).collect();
        let pair = posts.windows(2).find(|pair| place(pair[0]) <= place(pair[1]))?;
        Some(format!("in the list, post {} comes before {}", pair[0].id, pair[1].id))
    }
}

/// What is wrong with a ranking: the more views the earlier, and of those with
/// as many the older post.
pub(crate) fn misranked(posts: &[Listed], most: usize) -> Option<String> {
    if posts.len() > most {
        return Some(format!("{} popular posts instead of {most}", posts.len()));
    }
    let place = |post: &Listed| (std::cmp::Reverse(post.views), post.id);
    let pair = posts.windows(2).find(|pair| place(&pair[0]) >= place(&pair[1]))?;
    let [first, second] = [pair[0], pair[1]].map(|post| format!("{} ({})", post.id, post.views));
    Some(format!("in the ranking, post {first} comes before {second}"))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::plan::tests::id;
    use super::*;

    /// The post with this number.
    pub(crate) fn listed(number: usize, published_at_ms: i64, views: u64) -> Listed {
        Listed { id: id(number), published_at: Instant::from_millis(published_at_ms), views }
    }

    fn page(items: &[Listed], goes_on: bool) -> Page {
        Page { items: items.to_vec(), next_cursor: goes_on.then(|| "x".to_owned()) }
    }

    #[test]
    fn a_page_is_newest_first_and_of_the_same_time_the_newer_id() {
        let posts = [listed(1, 9, 0), listed(5, 8, 0), listed(4, 8, 0)];
        assert_eq!(page(&posts, true).flaw(None, 3), None);
        assert_eq!(page(&posts[1..], false).flaw(Some(&posts[0]), 3), None);
        assert_eq!(page(&[], false).flaw(Some(&posts[0]), 3), None);
    }

    #[test]
    fn what_is_out_of_order_or_repeated_is_noticed() {
        let (newest, middle, oldest) = (listed(1, 9, 0), listed(5, 8, 0), listed(4, 8, 0));
        assert!(page(&[newest, oldest, middle], false).flaw(None, 3).is_some());
        assert!(page(&[middle, newest], false).flaw(None, 3).is_some());
        assert!(page(&[newest, newest], false).flaw(None, 3).is_some());
        assert!(page(&[middle], false).flaw(Some(&middle), 3).is_some());
        assert!(page(&[newest], false).flaw(Some(&middle), 3).is_some());
    }

    #[test]
    fn a_page_in_the_middle_is_full() {
        let posts = [listed(1, 9, 0), listed(5, 8, 0)];
        assert!(page(&posts, true).flaw(None, 3).is_some());
        assert!(page(&posts, false).flaw(None, 1).is_some());
    }

    #[test]
    fn the_more_views_the_earlier_and_then_the_older() {
        let posts = [listed(7, 1, 9), listed(2, 5, 8), listed(3, 4, 8)];
        assert_eq!(misranked(&posts, 3), None);
        assert!(misranked(&posts, 2).is_some());
        assert!(misranked(&[posts[1], posts[0]], 3).is_some());
        assert!(misranked(&[posts[2], posts[1]], 3).is_some());
        assert!(misranked(&[posts[1], posts[1]], 3).is_some());
    }
}
