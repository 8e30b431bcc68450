//! Many at once: nothing is counted twice or lost, no limit is overrun, and no
//! list is half of one and half of another.

use futures_util::future::join_all;
use serde_json::json;
use suites::{World, count as answered, race};

use crate::announcements::{
    announced, body, check, checklist, count, favor, held, meta, run, unfavor, with,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_favorite_that_sixty_four_ask_for_at_once_counts_once() {
    let world = World::start().await;
    announced(&world, "r").await;
    let me = world.as_member("m1");
    for round in 0..4 {
        let added = race(0..64, |_| favor(&me, "r")).await;
        assert_eq!(answered(&added, 204), 64);
        assert_eq!(held(&world, "r").await, 1, "round {round}");
        let removed = race(0..64, |_| unfavor(&me, "r")).await;
        assert_eq!(answered(&removed, 204), 64);
        assert_eq!(held(&world, "r").await, 0, "round {round}");
    }
    let both = race(0..64, |n| {
        let me = me.clone();
        async move { if n % 2 == 0 { favor(&me, "r").await } else { unfavor(&me, "r").await } }
    });
    assert_eq!(answered(&both.await, 204), 64);
    let left = held(&world, "r").await;
    count(&world).await;
    assert_eq!(meta(&world, "r").await.favorites, left);
    let listed = me.get("/favorites").await.expect(200).json["items"].as_array().unwrap().len();
    assert_eq!(listed as u64, left);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_crowd_that_marks_and_takes_back_is_counted_to_the_last() {
    let world = World::start().await;
    for name in ["a", "b", "c"] {
        announced(&world, name).await;
    }
    let work = (0..64_usize).map(|n| {
        let me = world.as_member(&format!("m{n}"));
        async move {
            for step in 0..6 {
                let name = ["a", "b", "c"][(n + step) % 3];
                let answer = if (n * 7 + step) % 3 == 2 {
                    unfavor(&me, name).await
                } else {
                    favor(&me, name).await
                };
                answer.expect(204);
            }
        }
    });
    let counting = async {
        for _ in 0..20 {
            world.settle().await;
            world.clock.advance(1_000);
            tokio::task::yield_now().await;
        }
    };
    tokio::join!(join_all(work), counting);
    count(&world).await;
    for name in ["a", "b", "c"] {
        assert_eq!(meta(&world, name).await.favorites, held(&world, name).await, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nobody_gets_more_than_a_hundred_favorites_in_a_race() {
    let world = World::start().await;
    let me = world.as_member("m1");
    for n in 0..130 {
        announced(&world, &format!("a-{n}")).await;
    }
    for n in 0..90 {
        favor(&me, &format!("a-{n}")).await.expect(204);
    }
    let answers = race(90..130, |n| {
        let me = me.clone();
        async move { favor(&me, &format!("a-{n}")).await }
    });
    let answers = answers.await;
    assert_eq!(answered(&answers, 204), 10);
    assert_eq!(answers.iter().filter(|it| it.code() == "TOO_MANY_FAVORITES").count(), 30);
    assert_eq!(me.list("/favorites", 100).await.len(), 100);
    for n in (0..130).step_by(13) {
        held(&world, &format!("a-{n}")).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_devices_at_once_end_with_one_of_the_two_lists() {
    let world = World::start().await;
    announced(&world, "r").await;
    let me = world.as_member("m1");
    for round in 0..20 {
        let (one, other) =
            if round % 2 == 0 { (vec!["a", "b"], vec!["c"]) } else { (vec!["b"], vec!["a", "c"]) };
        let (first, second) = tokio::join!(check(&me, "r", &one), check(&me, "r", &other));
        let news = [&first, &second].iter().filter(|answer| answer.status == 201).count();
        assert_eq!(news, usize::from(round == 0), "one of them is the first");
        let left = checklist(&me, "r").await;
        assert!([json!(one), json!(other)].contains(&left["checked"]), "{left}");
        let last = if first.json["version"] == left["version"] { first } else { second };
        assert_eq!(left, last.json);
    }
    assert!(checklist(&me, "r").await["version"].as_u64().unwrap() <= 40);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_who_saw_the_same_version_one_writes() {
    let world = World::start().await;
    announced(&world, "r").await;
    let me = world.as_member("m1");
    check(&me, "r", &[]).await.expect(201);
    for version in 1..6 {
        let seeing = me.clone().with("if-match", &format!("\"{version}\""));
        // None of these is there already: that would be no change to write.
        let lists = if version % 2 == 1 { [vec!["a"], vec!["b"]] } else { [vec![], vec!["c"]] };
        let answers = race(0..32_usize, |n| {
            let (seeing, list) = (seeing.clone(), lists[n % lists.len()].clone());
            async move { check(&seeing, "r", &list).await }
        });
        let answers = answers.await;
        assert_eq!((answered(&answers, 200), answered(&answers, 412)), (1, 31), "{version}");
        let written = answers.iter().find(|it| it.status == 200).unwrap();
        assert_eq!(written.json["version"], version + 1);
        assert_eq!(checklist(&me, "r").await, written.json);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn staff_who_change_one_at_once_leave_it_whole() {
    let world = World::start().await;
    let staff = world.as_staff();
    let wanted = |n: usize| {
        let wanted = with(body(&format!("Title {n}")), "body", format!("Body {n}"));
        with(wanted, "category", ["housing", "jobs", "grants"][n % 3])
    };
    let answers = race(0..24_usize, |n| {
        let (staff, wanted) = (staff.clone(), wanted(n));
        async move { staff.put("/announcements/r", wanted).await }
    });
    let answers = answers.await;
    assert_eq!((answered(&answers, 201), answered(&answers, 200)), (1, 23));
    let mut versions: Vec<u64> =
        answers.iter().map(|it| it.json["version"].as_u64().unwrap()).collect();
    versions.sort_unstable();
    assert_eq!(versions, (1..=24).collect::<Vec<_>>());
    let last = staff.get("/announcements/r").await.expect(200).json;
    let n: usize = last["title"].as_str().unwrap().trim_start_matches("Title ").parse().unwrap();
    assert_eq!(last["body"], format!("Body {n}"));
    for category in ["housing", "jobs", "grants"] {
        let list = staff.get(&format!("/announcements?category={category}")).await.expect(200);
        let length = list.json["items"].as_array().unwrap().len();
        assert_eq!(length, usize::from(last["category"] == category), "{category}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn home_is_whole_while_everything_changes() {
    let world = World::with_environments(8).await;
    for n in 0..12 {
        announced(&world, &format!("a-{n}")).await;
    }
    run(&world, "refresh-home").await;
    for round in 0..5 {
        let homes = race(0..40, |n| {
            let caller = world.as_member(&format!("m{}", n % 7));
            async move {
                favor(&caller, &format!("a-{}", (n + round) % 12)).await.expect(204);
                caller.get("/home").await
            }
        });
        let refresh =
            async { tokio::join!(run(&world, "refresh-home"), run(&world, "refresh-home")) };
        let (homes, _) = tokio::join!(homes, refresh);
        for home in homes {
            let home = home.expect(200).json;
            assert_eq!(home["newest"].as_array().unwrap().len(), 10);
            assert!(home["builtAt"].is_string());
            assert!(!home["favorites"].as_array().unwrap().is_empty(), "one's own are there");
        }
        world.clock.advance(5_000);
    }
}
