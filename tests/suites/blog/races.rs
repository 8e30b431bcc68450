//! Many at once: no view is lost or counted twice, no change overwrites another,
//! and what is gone stays gone.

use futures_util::future::join_all;
use local::faults::Fault;
use serde_json::json;
use suites::gate::Gate;
use suites::{World, count as answered, race};

use crate::posts::{
    add, assert_sound, count, create, created, delete, get, hand_over, id_of, indexed, items, meta,
    popular, post, published, set_status, stripes, update, viewed,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_view_of_a_crowd_is_counted_once() {
    let world = World::start().await;
    let mut ids = Vec::new();
    for n in 0..4 {
        ids.push(published(&world, &format!("Post {n}")).await);
    }
    let anyone = world.as_nobody();
    let answers = race(0..400_usize, |n| get(&anyone, &ids[n % 4 * (n % 3) % 4])).await;
    assert_eq!(answered(&answers, 200), 400);
    count(&world).await;
    let views: u64 = popular(&world).await.iter().map(|(_, views)| views).sum();
    assert_eq!(views, 400);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn growth_loses_no_view() {
    let world = World::with_environments(8).await;
    let id = published(&world, "Hello").await;
    let anyone = world.as_nobody();
    let window = [viewed(0, &id, 0, 0)];
    add(&world, &id, 0, 1).await;
    hand_over(&world, &window).await;
    let (mut read, mut added) = (0, 1);
    for _ in 0..4 {
        // Views, and windows that make the stripes grow, at the same time.
        let views = race(0..300, |_| get(&anyone, &id));
        let counting = async {
            for _ in 0..2 {
                let before = meta(&world, &id).await.unwrap().view_stripes;
                let more = 60 * u64::from(before);
                add(&world, &id, 0, more).await;
                added += more;
                assert!(hand_over(&world, &window).await.is_empty());
                tokio::task::yield_now().await;
            }
        };
        let (answers, ()) = tokio::join!(views, counting);
        read += answered(&answers, 200) as u64;
        world.clock.advance(6_000); // environments read the post again
    }
    count(&world).await;
    assert_eq!(read, 1_200);
    let post = meta(&world, &id).await.unwrap();
    assert_eq!((post.views, post.view_stripes), (read + added, 64));
    let stripes = stripes(&world, &id).await;
    assert_eq!(stripes.values().sum::<u64>(), read + added);
    assert!(stripes.len() > 32, "{} stripes", stripes.len());
}

#[tokio::test(start_paused = true)]
async fn a_sum_that_comes_late_does_not_turn_the_views_back() {
    for status in ["PUBLISHED", "DRAFT"] {
        let gate = Gate::default();
        let world = World::behind(&gate).await;
        let id = published(&world, "Hello").await;
        set_status(&world.as_member("m1"), &id, status).await.expect(200);
        let window = [viewed(0, &id, 0, 0)];
        add(&world, &id, 0, 3).await;
        gate.hold("UpdateItem", 1); // of one that has added up three
        let overtake = async {
            gate.reached().await;
            assert_eq!(meta(&world, &id).await.unwrap().views, 0);
            add(&world, &id, 0, 4).await;
            assert!(hand_over(&world, &window).await.is_empty());
            assert_eq!(meta(&world, &id).await.unwrap().views, 7);
            gate.open();
        };
        let (late, ()) = tokio::join!(hand_over(&world, &window), overtake);
        assert!(late.is_empty(), "it has nothing more to do");
        assert_eq!(meta(&world, &id).await.unwrap().views, 7);
        assert_sound(&world).await;
    }
}

#[tokio::test(start_paused = true)]
async fn growth_that_comes_late_does_not_turn_the_stripes_back() {
    let gate = Gate::default();
    let world = World::behind(&gate).await;
    let id = published(&world, "Hello").await;
    let window = [viewed(0, &id, 0, 0)];
    let add_up = async |views| {
        world.clock.advance(1_000);
        add(&world, &id, 0, views).await;
    };
    let count = async || assert!(hand_over(&world, &window).await.is_empty());
    add_up(1).await;
    count().await;
    add_up(300).await;
    let overtake = async {
        add_up(4_000).await;
        count().await;
    };
    // The first update raises the views, the second is that of the stripes.
    gate.overtaken(("UpdateItem", 2), count(), overtake).await;
    let stripes = meta(&world, &id).await.unwrap().view_stripes;
    assert!(stripes > 4, "{stripes}: as many as were wanted first");
}

#[tokio::test(start_paused = true)]
async fn a_post_that_was_written_and_changed_already_is_not_written_again() {
    let gate = Gate::default();
    let world = World::behind(&gate).await;
    let author = world.as_member("m1");
    // Its first sending arrives after a conflict was answered.
    world.faults.next("TransactWriteItems", &Fault::LateSuccess(vec![0]), 1);
    let change = async {
        let there = author.list("/posts", 10).await;
        let id = there[0]["id"].as_str().unwrap();
        update(&author, id, json!({ "title": "Changed" })).await.expect(200);
    };
    let late = create(&author, post("Hello"));
    let first = gate.overtaken(("TransactWriteItems", 2), late, change).await.expect(201);
    assert_eq!((&first.json["title"], &first.json["version"]), (&json!("Hello"), &json!(1)));
    let there = meta(&world, &id_of(&first)).await.unwrap();
    assert_eq!((there.title.as_str(), there.version), ("Changed", 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_post_unpublished_or_deleted_while_counting_never_comes_back() {
    let world = World::start().await;
    let author = world.as_member("m1");
    for round in 0..30 {
        let id = published(&world, "Hello").await;
        add(&world, &id, 0, 1).await;
        let window = [viewed(0, &id, 0, 0)];
        let counting = join_all((0..3).map(|_| hand_over(&world, &window)));
        if round % 2 == 0 {
            let (unpublished, _) = tokio::join!(set_status(&author, &id, "DRAFT"), counting);
            unpublished.expect(200);
            assert_eq!(indexed(&world).await, (0, 0));
            hand_over(&world, &window).await;
            assert_eq!(meta(&world, &id).await.unwrap().views, 1);
            assert_sound(&world).await;
            delete(&author, &id).await.expect(204);
        } else {
            let (deleted, _) = tokio::join!(delete(&author, &id), counting);
            deleted.expect(204);
        }
        assert_eq!(indexed(&world).await, (0, 0));
        assert!(meta(&world, &id).await.is_none());
    }
    count(&world).await;
    assert!(items(&world).await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn publishing_while_counting_ends_with_the_right_place() {
    let world = World::start().await;
    let author = world.as_member("m1");
    let id = published(&world, "Hello").await;
    for views in 1..=30 {
        set_status(&author, &id, "DRAFT").await.expect(200);
        add(&world, &id, 0, 1).await;
        let window = [viewed(0, &id, 0, 0)];
        let counting = join_all((0..3).map(|_| hand_over(&world, &window)));
        let (published, _) = tokio::join!(set_status(&author, &id, "PUBLISHED"), counting);
        published.expect(200);
        hand_over(&world, &window).await;
        assert_eq!(popular(&world).await, [(id.clone(), views)]);
        assert_sound(&world).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_changes_of_one_version_one_is_made() {
    let world = World::start().await;
    let id = published(&world, "Hello").await;
    let seeing = world.as_member("m1").with("if-match", "\"1\"");
    let answers = race(0..16, |n| update(&seeing, &id, json!({ "body": format!("{n}") }))).await;
    assert_eq!((answered(&answers, 200), answered(&answers, 412)), (1, 15));
    let winner = answers.iter().find(|answer| answer.status == 200).unwrap();
    assert_eq!(get(&world.as_member("m1"), &id).await.expect(200).json, winner.json);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn changes_of_different_fields_are_all_made() {
    let world = World::start().await;
    let author = world.as_member("m1");
    let id = published(&world, "Hello").await;
    let changes = [
        json!({ "title": "Other" }),
        json!({ "body": "Other body" }),
        json!({ "tags": ["other"] }),
        json!({ "status": "DRAFT" }),
    ];
    let answers = race(&changes, |change| update(&author, &id, change.clone())).await;
    let mut versions: Vec<_> = answers.iter().map(|a| a.json["version"].as_u64()).collect();
    versions.sort_unstable();
    assert_eq!(versions, (2..6).map(Some).collect::<Vec<_>>());
    let post = get(&author, &id).await.expect(200).json;
    for change in changes {
        let (field, value) = change.as_object().unwrap().iter().next().unwrap();
        assert_eq!(&post[field], value);
    }
    assert_eq!(indexed(&world).await, (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_reader_never_gets_the_title_of_one_version_and_the_body_of_another() {
    let world = World::start().await;
    let author = world.as_member("m1");
    let id = created(&author, json!({ "title": "0", "body": "0", "status": "PUBLISHED" })).await;
    let writing = async {
        for n in 1..=40 {
            let both = json!({ "title": n.to_string(), "body": n.to_string() });
            update(&author, &id, both).await.expect(200);
        }
    };
    let staff = world.as_staff();
    let reading = race(0..4, |_| async {
        let mut answer = get(&staff, &id).await;
        for _ in 0..40 {
            answer = get(&staff, &id).await.expect(200);
            assert_eq!(answer.json["title"], answer.json["body"]);
        }
        answer
    });
    tokio::join!(writing, reading);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_same_key_gets_the_same_answer_however_many_send_it_at_once() {
    let world = World::start().await;
    let caller = world.as_member("m1").with("idempotency-key", "one");
    let answers = race(0..32, |_| create(&caller, post("Hello"))).await;
    assert_eq!(answered(&answers, 201), 32);
    assert!(answers.iter().all(|answer| answer.json == answers[0].json));
    assert_eq!(indexed(&world).await, (1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_post_is_deleted_once_and_does_not_come_back() {
    let world = World::start().await;
    let author = world.as_member("m1");
    for round in 0..10 {
        let id = published(&world, "Hello").await;
        let answers = race(0..12_u32, |n| {
            let (author, id) = (&author, &id);
            async move {
                if n.is_multiple_of(2) {
                    return delete(author, id).await;
                }
                update(author, id, json!({ "body": format!("{round} {n}") })).await
            }
        });
        let answers = answers.await;
        assert_eq!(answered(&answers, 204), 1);
        for answer in answers.into_iter().filter(|a| !matches!(a.status, 200 | 204)) {
            answer.refused(404, "POST_NOT_FOUND");
        }
        assert!(items(&world).await.is_empty());
    }
}
