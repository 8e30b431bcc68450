//! Randomized runs against a plain model: a list of posts and a full sort.

use std::collections::BTreeMap;

use suites::World;

use crate::posts::{count, delete, ids_of, meta, popular, published, set_status, view};

/// A post of the model.
#[derive(Clone, Debug, Default)]
struct Kept {
    views: u64,
    is_published: bool,
}

/// The first twenty of a full sort: by views, then the older ones, which have
/// the smaller ids.
fn sorted(posts: &BTreeMap<String, Kept>) -> Vec<(String, u64)> {
    let mut all: Vec<(String, u64)> = posts
        .iter()
        .filter(|(_, post)| post.is_published)
        .map(|(id, post)| (id.clone(), post.views))
        .collect();
    all.sort_by(|(one_id, one), (other_id, other)| other.cmp(one).then(one_id.cmp(other_id)));
    all.truncate(20);
    all
}

/// One step of somebody.
async fn step(world: &World, posts: &mut BTreeMap<String, Kept>, random: &mut fastrand::Rng) {
    let author = world.as_member("m1");
    let picked = posts.keys().nth(random.usize(..posts.len().max(1))).cloned();
    let Some(id) = picked.filter(|_| random.u8(0..8) > 0) else {
        let id = published(world, "Hello").await;
        posts.insert(id, Kept { views: 0, is_published: true });
        return;
    };
    let post = posts.get_mut(&id).unwrap();
    match random.u8(0..10) {
        0 => {
            delete(&author, &id).await.expect(204);
            posts.remove(&id);
        }
        1 | 2 => {
            post.is_published = !post.is_published;
            let status = if post.is_published { "PUBLISHED" } else { "DRAFT" };
            set_status(&author, &id, status).await.expect(200);
        }
        _ if post.is_published => {
            let times = random.u64(1..4);
            world.clock.advance(5_000); // nobody has an old status in mind
            view(world, &id, times).await;
            post.views += times;
        }
        _ => {}
    }
}

#[tokio::test]
async fn the_ranking_is_that_of_a_full_sort_at_every_checkpoint() {
    for seed in 0..3 {
        let world = World::with_environments(2).await;
        let mut random = fastrand::Rng::with_seed(seed);
        let mut posts = BTreeMap::new();
        for _ in 0..25 {
            let id = published(&world, "Hello").await;
            posts.insert(id, Kept { views: 0, is_published: true });
        }
        for checkpoint in 0..12 {
            for _ in 0..25 {
                step(&world, &mut posts, &mut random).await;
                if random.u8(0..5) == 0 {
                    world.settle().await; // some windows end in between
                }
            }
            count(&world).await;
            assert_eq!(popular(&world).await, sorted(&posts), "seed {seed}, {checkpoint}");
            for (id, post) in &posts {
                assert_eq!(meta(&world, id).await.unwrap().views, post.views);
            }
            let listed = world.as_staff().list("/posts", 7).await;
            let mut listed: Vec<&str> = ids_of(&listed);
            listed.sort_unstable();
            let published = posts.iter().filter(|(_, post)| post.is_published);
            assert_eq!(listed, published.map(|(id, _)| id.as_str()).collect::<Vec<_>>());
        }
    }
}
