//! The invariants of `popular-posts`: what users were told against what the
//! table holds and what everybody sees.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use blog::PostId;

use super::MOST_POPULAR;
use super::ledger::Told;
use super::page::Listed;
use super::plan::Plan;
use super::read_back::Seen;
use super::tables::Post;
use crate::invariants::Invariant;

const BEHIND_A_URL: &str = "nobody can look into the tables behind a --url";

/// What the run knows.
pub(crate) struct Expected<'a> {
    /// Which posts there are.
    pub(crate) plan: &'a Plan,
    /// The views of each before the run, by its place.
    pub(crate) before: Vec<u64>,
    /// What was told of each, by its place.
    pub(crate) told: Vec<Told>,
    /// How many pages users were shown, and what is wrong with answers.
    pub(crate) pages: (u64, Vec<String>),
    /// Views that the system itself says it may not have counted.
    pub(crate) uncounted: u64,
}

/// Checks all of them. `table` is what the table holds, if somebody can look.
pub(crate) fn all(expected: &Expected<'_>, seen: &Seen, table: Option<&[Post]>) -> Vec<Invariant> {
    vec![
        views_are_reads(expected, seen, table),
        added_up(expected, table),
        popular_is_the_top(seen, table),
        in_order(expected, seen),
        none_is_missed(expected, seen, table),
    ]
}

/// Each post has as many views more as reads of it were answered, but for those
/// of which nobody knows.
fn views_are_reads(expected: &Expected<'_>, seen: &Seen, table: Option<&[Post]>) -> Invariant {
    const NAME: &str = "views = detail reads answered 200";
    let views: HashMap<PostId, u64> = match table {
        Some(posts) => posts.iter().map(|post| (post.id, post.views)).collect(),
        None => seen.list.iter().map(|post| (post.id, post.views)).collect(),
    };
    let posts = expected.plan.posts();
    let unlisted = posts.iter().filter(|id| !views.contains_key(id)).count();
    if table.is_none() && unlisted > 0 && !seen.is_whole {
        return Invariant::unchecked(NAME, format!("{unlisted} posts are too far down the list"));
    }
    let uncounted = expected.uncounted;
    let (mut broken, mut sum, mut all) = (Vec::new(), 0, Told::default());
    for (place, id) in posts.iter().enumerate() {
        let (before, told) = (expected.before[place], expected.told[place]);
        let Some(views) = views.get(id) else {
            broken.push(format!("post {id} is gone"));
            continue;
        };
        sum += i128::from(*views) - i128::from(before);
        all = Told { read: all.read + told.read, unknown: all.unknown + told.unknown };
        let least = (before + told.read).saturating_sub(uncounted);
        if !(least..=before + told.read + told.unknown).contains(views) {
            let Told { read, unknown } = told;
            broken.push(format!(
                "post {id}: {views} views, {before} before and {read} × 200, {unknown} unknown"
            ));
        }
    }
    let Told { read, unknown } = all;
    let range = i128::from(read) - i128::from(uncounted)..=i128::from(read + unknown);
    if !range.contains(&sum) {
        broken.push(format!("{sum} views in all, {read} × 200, {unknown} unknown outcomes"));
    }
    if read == 0 {
        broken.push("nothing was read".to_owned());
    }
    let before: u64 = expected.before.iter().sum();
    let detail = format!(
        "{sum} views of {} posts beside {before} from before, {read} × 200, {unknown} unknown \
         outcomes, {uncounted} given up",
        posts.len()
    );
    Invariant::unless(NAME, &broken, detail)
}

/// The views that everybody sees are the sum of the stripes.
fn added_up(expected: &Expected<'_>, table: Option<&[Post]>) -> Invariant {
    const NAME: &str = "views of a post = sum of its stripes";
    let Some(posts) = table else {
        return Invariant::unchecked(NAME, BEHIND_A_URL);
    };
    let broken = posts.iter().filter(|post| post.views != post.counted);
    let broken = broken.map(|post| format!("post {}: {} of {}", post.id, post.views, post.counted));
    let broken: Vec<String> = broken.collect();
    let plan = expected.plan;
    let hot = plan.hot_places().iter().map(|place| plan.posts()[*place]);
    let hot: BTreeSet<PostId> = hot.collect();
    let hot = posts.iter().filter(|post| hot.contains(&post.id));
    let stripes: Vec<String> = hot.map(|post| post.stripes.to_string()).collect();
    let detail = format!("{} posts; the hot ones have {} stripes", posts.len(), stripes.join(", "));
    Invariant::unless(NAME, &broken, detail)
}

/// The popular posts are those with the most views, and of those with as many
/// the older ones.
fn popular_is_the_top(seen: &Seen, table: Option<&[Post]>) -> Invariant {
    const NAME: &str = "popular = the true top 20";
    let mut top: Vec<(Reverse<u64>, PostId)> = match table {
        Some(posts) => posts.iter().map(|post| (Reverse(post.views), post.id)).collect(),
        None if seen.is_whole => seen.list.iter().map(ranked).collect(),
        None => return Invariant::unchecked(NAME, "the list is too long to be read to its end"),
    };
    top.sort_unstable();
    let all = top.len();
    top.truncate(MOST_POPULAR);
    let popular: Vec<_> = seen.popular.iter().map(ranked).collect();
    let mut broken = Vec::new();
    for place in 0..top.len().max(popular.len()) {
        let (is, should_be) = (popular.get(place), top.get(place));
        if is != should_be {
            let named = |post: Option<&(Reverse<u64>, PostId)>| {
                let named = post.map(|(Reverse(views), id)| format!("{id} ({views} views)"));
                named.unwrap_or_else(|| "nobody".to_owned())
            };
            broken.push(format!("place {}: {}, not {}", place + 1, named(is), named(should_be)));
        }
    }
    let views =
        |post: Option<&(Reverse<u64>, PostId)>| post.map_or(0, |(Reverse(views), _)| *views);
    let (most, least) = (views(top.first()), views(top.last()));
    let detail = format!("{} of {all} posts, {most} to {least} views", top.len());
    Invariant::unless(NAME, &broken, detail)
}

fn ranked(post: &Listed) -> (Reverse<u64>, PostId) {
    (Reverse(post.views), post.id)
}

/// No list was out of order, repeated a post or had a gap, during the run and
/// afterwards.
fn in_order(expected: &Expected<'_>, seen: &Seen) -> Invariant {
    let (pages, flaws) = &expected.pages;
    let flaws: Vec<&String> = flaws.iter().chain(&seen.flaws).collect();
    let detail = format!("{pages} pages of the run, {} afterwards", seen.pages);
    Invariant::unless("no list out of order, no post repeated", &flaws, detail)
}

/// A walk through the list comes by every post.
fn none_is_missed(expected: &Expected<'_>, seen: &Seen, table: Option<&[Post]>) -> Invariant {
    const NAME: &str = "the list misses no post";
    let listed: BTreeSet<PostId> = seen.list.iter().map(|post| post.id).collect();
    let Some(posts) = table else {
        let missed = expected.plan.posts().iter().filter(|id| !listed.contains(id));
        let missed: Vec<&PostId> = missed.collect();
        if !missed.is_empty() && !seen.is_whole {
            let count = missed.len();
            return Invariant::unchecked(NAME, format!("{count} are too far down the list"));
        }
        let created = expected.plan.posts().len();
        let detail = format!("all {created} posts of this run in {} listed", seen.list.len());
        return Invariant::unless(NAME, &missed, detail);
    };
    let mut should_be: Vec<(i64, PostId)> =
        posts.iter().map(|post| (post.published_at_ms, post.id)).collect();
    should_be.sort_unstable_by(|one, other| other.cmp(one));
    if !seen.is_whole {
        should_be.truncate(seen.list.len());
    }
    let mut broken: Vec<String> = should_be
        .iter()
        .filter(|(_, id)| !listed.contains(id))
        .map(|(_, id)| format!("post {id} is missed"))
        .collect();
    let are = seen.list.iter().map(|post| (post.published_at.as_millis(), post.id));
    if broken.is_empty() && !are.eq(should_be) {
        broken.push("it has other posts than the table, or at other times".to_owned());
    }
    let part = if seen.is_whole { "all" } else { "the newest" };
    let detail = format!("{part} {} of {} posts, one by one", seen.list.len(), posts.len());
    Invariant::unless(NAME, &broken, detail)
}

#[cfg(test)]
mod tests {
    use super::super::page::tests::listed;
    use super::super::plan::tests::{id, plan};
    use super::*;

    const VIEWS: &str = "views = detail reads answered 200";
    const SUMS: &str = "views of a post = sum of its stripes";
    const TOP: &str = "popular = the true top 20";
    const ORDER: &str = "no list out of order, no post repeated";
    const WALK: &str = "the list misses no post";
    const POSTS: usize = 30;

    struct World {
        before: Vec<u64>,
        told: Vec<Told>,
        flaws: Vec<String>,
        uncounted: u64,
        seen: Seen,
        table: Option<Vec<Post>>,
    }

    /// How often a post was read: all but a few as often as another one.
    fn reads(number: usize) -> u64 {
        if number < 5 { 100 * number as u64 + 50 } else { (number % 4) as u64 }
    }

    /// Thirty posts, each younger than the one before; the first had views.
    fn world() -> World {
        let before = |number: usize| if number == 0 { 7 } else { 0 };
        let views = |number: usize| before(number) + reads(number);
        let post = |number: usize| Post {
            id: id(number),
            published_at_ms: number as i64,
            views: views(number),
            counted: views(number),
            stripes: 1,
        };
        let listed = |number: usize| listed(number, number as i64, views(number));
        let mut popular: Vec<Listed> = (0..POSTS).map(listed).collect();
        popular.sort_by_key(ranked);
        popular.truncate(MOST_POPULAR);
        let list = (0..POSTS).rev().map(listed).collect();
        World {
            before: (0..POSTS).map(before).collect(),
            told: (0..POSTS).map(|number| Told { read: reads(number), unknown: 0 }).collect(),
            flaws: Vec::new(),
            uncounted: 0,
            seen: Seen { list, is_whole: true, far: None, popular, pages: 2, flaws: Vec::new() },
            table: Some((0..POSTS).map(post).collect()),
        }
    }

    fn checked(change: impl FnOnce(&mut World)) -> Vec<Invariant> {
        let mut world = world();
        change(&mut world);
        let World { before, told, flaws, uncounted, seen, table } = world;
        let plan = plan(0.8, POSTS);
        let expected = Expected { plan: &plan, before, told, pages: (9, flaws), uncounted };
        all(&expected, &seen, table.as_deref())
    }

    /// The names of the invariants that `change` breaks.
    fn broken(change: impl FnOnce(&mut World)) -> Vec<&'static str> {
        checked(change).iter().filter(|i| i.is_broken()).map(|i| i.name).collect()
    }

    /// The names of those that `change` leaves unchecked.
    fn unchecked(change: impl FnOnce(&mut World)) -> Vec<&'static str> {
        checked(change).iter().filter(|i| i.held.is_none()).map(|i| i.name).collect()
    }

    fn table(world: &mut World) -> &mut Vec<Post> {
        world.table.as_mut().unwrap()
    }

    #[test]
    fn a_world_in_order_breaks_nothing() {
        assert!(broken(|_| {}).is_empty() && unchecked(|_| {}).is_empty());
    }

    #[test]
    fn a_view_that_is_lost_or_counted_twice_is_noticed() {
        assert_eq!(broken(|world| world.told[9].read += 1), [VIEWS]);
        assert_eq!(broken(|world| world.told[9].read -= 1), [VIEWS]);
        assert_eq!(broken(|world| world.before[0] -= 1), [VIEWS]);
        let one_for_another = broken(|world| {
            world.told[9].read -= 1;
            world.told[10].read += 1;
        });
        assert_eq!(one_for_another, [VIEWS]);
    }

    #[test]
    fn a_run_that_read_nothing_proves_nothing() {
        let nothing = broken(|world| {
            for (place, told) in world.told.iter_mut().enumerate() {
                world.before[place] += told.read;
                *told = Told::default();
            }
        });
        assert_eq!(nothing, [VIEWS]);
    }

    #[test]
    fn views_are_off_by_no_more_than_the_unknown_outcomes() {
        let maybe = |world: &mut World, read: u64| world.told[9] = Told { read, unknown: 1 };
        assert!(broken(|world| maybe(world, reads(9))).is_empty());
        assert!(broken(|world| maybe(world, reads(9) - 1)).is_empty());
        assert_eq!(broken(|world| maybe(world, reads(9) + 1)), [VIEWS]);
        let given_up = |world: &mut World, more: u64| {
            world.uncounted = 2;
            world.told[9].read += more;
        };
        assert!(broken(|world| given_up(world, 2)).is_empty());
        assert_eq!(broken(|world| given_up(world, 3)), [VIEWS]);
        let over_several = broken(|world| {
            given_up(world, 2);
            world.told[10].read += 2;
        });
        assert_eq!(over_several, [VIEWS]);
    }

    #[test]
    fn stripes_that_were_not_added_up_are_noticed() {
        assert_eq!(broken(|world| table(world)[9].counted += 1), [SUMS]);
        assert_eq!(broken(|world| table(world)[9].counted -= 1), [SUMS]);
    }

    #[test]
    fn a_wrong_ranking_is_noticed() {
        assert_eq!(broken(|world| world.seen.popular.swap(0, 1)), [TOP]);
        assert_eq!(broken(|world| world.seen.popular.truncate(MOST_POPULAR - 1)), [TOP]);
        assert_eq!(broken(|world| world.seen.popular[0].views -= 1), [TOP]);
        let younger_of_two = broken(|world| {
            let least = world.seen.popular[MOST_POPULAR - 1];
            let is_as_good = |post: &&Listed| post.views == least.views && post.id > least.id;
            let other = *world.seen.list.iter().find(is_as_good).unwrap();
            world.seen.popular[MOST_POPULAR - 1] = other;
        });
        assert_eq!(younger_of_two, [TOP]);
    }

    #[test]
    fn a_flaw_in_any_list_is_noticed() {
        assert_eq!(broken(|world| world.flaws.push("x".into())), [ORDER]);
        assert_eq!(broken(|world| world.seen.flaws.push("x".into())), [ORDER]);
    }

    #[test]
    fn a_post_that_is_missed_is_noticed() {
        let one = broken(|world| {
            world.seen.list.remove(7);
        });
        assert_eq!(one, [WALK]);
        assert_eq!(broken(|world| world.seen.list.truncate(POSTS - 1)), [WALK]);
        assert_eq!(broken(|world| world.seen.list.swap(3, 4)), [WALK]);
        assert_eq!(broken(|world| world.seen.list.push(listed(99, -1, 0))), [WALK]);
    }

    #[test]
    fn of_a_list_that_is_too_long_the_newest_are_checked() {
        let begin = |world: &mut World| {
            world.seen.list.truncate(10);
            world.seen.is_whole = false;
        };
        assert!(broken(begin).is_empty() && unchecked(begin).is_empty());
        let missed = broken(|world| {
            begin(world);
            world.seen.list.remove(7);
        });
        assert_eq!(missed, [WALK]);
    }

    #[test]
    fn without_tables_the_list_tells() {
        let behind = |world: &mut World| world.table = None;
        assert!(broken(behind).is_empty());
        assert_eq!(unchecked(behind), [SUMS]);
        let lost = broken(|world| {
            behind(world);
            world.seen.list.remove(0);
        });
        assert_eq!(lost, [VIEWS, WALK]);
        let lagging = broken(|world| {
            behind(world);
            world.seen.list[1].views += 1;
        });
        assert_eq!(lagging, [VIEWS]);
        let cut = |world: &mut World| {
            behind(world);
            world.seen.list.truncate(10);
            world.seen.is_whole = false;
        };
        assert!(broken(cut).is_empty());
        assert_eq!(unchecked(cut), [VIEWS, SUMS, TOP, WALK]);
    }

    #[test]
    fn a_post_that_is_gone_is_noticed() {
        let gone = broken(|world| {
            table(world).remove(8);
        });
        assert_eq!(gone, [VIEWS, WALK]);
    }
}
