//! Which posts there are, and what a user asks for next.

use std::time::Duration;

use blog::PostId;

/// Posts that most reads go to: so few that at some thousand reads a second
/// each has far more than one item takes.
const HOT_POSTS: usize = 5;
/// One of so many requests refreshes the list, and another one asks which posts
/// are popular: people read more than they look around.
const ONE_OF: u32 = 20;

/// The size of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shape {
    /// Posts.
    pub(crate) posts: usize,
    /// Which part of the reads goes to hot ones, from 0 to 1.
    pub(crate) hot: f64,
    /// How long users read.
    pub(crate) time: Duration,
}

/// The posts of a run, by their place in it.
pub(crate) struct Plan {
    hot: f64,
    posts: Vec<PostId>,
    hot_places: Vec<usize>,
}

/// What to ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The post at this place.
    Read(usize),
    /// The list.
    List,
    /// The popular posts.
    Popular,
}

impl Plan {
    /// Any of the posts become hot.
    pub(crate) fn new(hot: f64, posts: Vec<PostId>, random: &mut fastrand::Rng) -> Self {
        let hot_places = random.choose_multiple(0..posts.len(), HOT_POSTS);
        Self { hot, posts, hot_places }
    }

    /// The posts.
    pub(crate) fn posts(&self) -> &[PostId] {
        &self.posts
    }

    /// The places of the hot ones.
    pub(crate) fn hot_places(&self) -> &[usize] {
        &self.hot_places
    }

    /// What a user asks for next.
    pub(crate) fn next(&self, random: &mut fastrand::Rng) -> Step {
        match random.u32(0..ONE_OF) {
            0 => Step::List,
            1 => Step::Popular,
            _ if random.f64() < self.hot => {
                Step::Read(self.hot_places[random.usize(..self.hot_places.len())])
            }
            _ => Step::Read(random.usize(..self.posts.len())),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The post with this number; of two, the one with the lower number is older.
    pub(crate) fn id(number: usize) -> PostId {
        format!("01941f29-7c00-7000-8000-{number:012x}").parse().unwrap()
    }

    pub(crate) fn plan(hot: f64, posts: usize) -> Plan {
        Plan::new(hot, (0..posts).map(id).collect(), &mut fastrand::Rng::with_seed(1))
    }

    /// How many of 20,000 steps read a hot post, another one, and none.
    fn steps(plan: &Plan) -> (usize, usize, usize) {
        let mut random = fastrand::Rng::with_seed(2);
        let steps: Vec<Step> = (0..20_000).map(|_| plan.next(&mut random)).collect();
        let is_hot =
            |step: &Step| plan.hot_places().iter().any(|place| *step == Step::Read(*place));
        let is_read = |step: &Step| matches!(step, Step::Read(_));
        let hot = steps.iter().filter(|step| is_hot(step)).count();
        let read = steps.iter().filter(|step| is_read(step)).count();
        (hot, read - hot, steps.len() - read)
    }

    #[test]
    fn most_reads_go_to_a_handful_of_posts() {
        let plan = plan(0.8, 1_000);
        let places: BTreeSet<usize> = plan.hot_places().iter().copied().collect();
        assert_eq!((places.len(), plan.hot_places().len()), (HOT_POSTS, HOT_POSTS));
        let (hot, others, no_reads) = steps(&plan);
        assert!((14_000..14_900).contains(&hot), "{hot}");
        assert!((3_200..4_000).contains(&others), "{others}");
        assert!((1_800..2_200).contains(&no_reads), "{no_reads}");
    }

    #[test]
    fn all_reads_may_be_hot_or_go_anywhere() {
        let (_, others, _) = steps(&plan(1.0, 1_000));
        assert_eq!(others, 0);
        let (hot, others, _) = steps(&plan(0.0, 1_000));
        assert!(hot < 200 && others > 17_000, "{hot} {others}");
    }

    #[test]
    fn a_few_posts_are_all_hot() {
        let plan = plan(0.8, 2);
        assert_eq!(plan.hot_places().len(), 2);
        assert_eq!(steps(&plan).1, 0);
    }
}
