//! Many callers change one calendar at once.
//!
//! Each race runs on several threads, with an execution environment per
//! caller, and ends by reading the table back.

use serde_json::Value;
use suites::{Answer, World, count, race};

use crate::calendar::{
    assert_sound, body, create, created, delete, get, id_of, ids_of, on_the_second, send_reminders,
    update, with,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_two_that_overlap_one_gets_in_and_the_other_is_told_which() {
    let world = World::start().await;
    let caller = world.as_member("m1");
    for day in 1..=20 {
        let times = |start: &str, end: &str| {
            let day = format!("2030-02-{day:02}T");
            body(&format!("{day}{start}:00Z"), &format!("{day}{end}:00Z"))
        };
        let both = [times("09:00", "10:00"), times("09:30", "10:30")];
        let answers = race(both, |wanted| create(&caller, wanted)).await;
        assert_eq!((count(&answers, 201), count(&answers, 409)), (1, 1));
        let (won, lost): (Vec<&Answer>, Vec<&Answer>) =
            answers.iter().partition(|answer| answer.status == 201);
        assert_eq!(lost[0].json["conflictsWith"], won[0].json["id"]);
    }
    assert_eq!(assert_sound(&world, "m1").await.schedules.len(), 20);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_same_hour_is_given_once_however_many_want_it() {
    let world = World::start().await;
    let caller = world.as_member("m1");
    let wanted = with(on_the_second("09:00", "10:00"), "remindBeforeMinutes", 10);
    let answers = race(0..32, |_| create(&caller, wanted.clone())).await;
    assert_eq!(count(&answers, 201), 1);
    let holdings = assert_sound(&world, "m1").await;
    for answer in answers.into_iter().filter(|answer| answer.status != 201) {
        let there = holdings.schedules[0].schedule_id.as_str();
        assert_eq!(answer.refused(409, "SCHEDULE_CONFLICT").json["conflictsWith"], there);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn those_that_do_not_overlap_all_get_in() {
    let world = World::start().await;
    let caller = world.as_member("m1");
    let wanted = |minute: u32| {
        let times = on_the_second(&format!("09:{minute}"), &format!("09:{}", minute + 1));
        with(times, "remindBeforeMinutes", minute)
    };
    let answers = race(10..22, |minute| create(&caller, wanted(minute))).await;
    assert_eq!(count(&answers, 201), 12);
    assert_eq!(assert_sound(&world, "m1").await.reminders.len(), 12);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_same_key_gets_the_same_answer_however_many_send_it_at_once() {
    let world = World::start().await;
    let caller = world.as_member("m1").with("idempotency-key", "one");
    let wanted = with(on_the_second("09:00", "10:00"), "remindBeforeMinutes", 10);
    let answers = race(0..32, |_| create(&caller, wanted.clone())).await;
    assert_eq!(count(&answers, 201), 32);
    assert!(answers.iter().all(|answer| answer.json == answers[0].json));
    assert_eq!(assert_sound(&world, "m1").await.schedules.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_key_with_two_bodies_is_one_schedule() {
    let world = World::start().await;
    let caller = world.as_member("m1").with("idempotency-key", "one");
    let bodies = [on_the_second("09:00", "10:00"), on_the_second("11:00", "12:00")];
    let answers = race(0..16, |n: usize| create(&caller, bodies[n % 2].clone())).await;
    assert_eq!(count(&answers, 201), 8);
    for answer in answers.into_iter().filter(|answer| answer.status != 201) {
        answer.refused(409, "IDEMPOTENCY_KEY_REUSED");
    }
    assert_eq!(assert_sound(&world, "m1").await.schedules.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_that_is_created_and_one_that_is_moved_do_not_get_the_same_hour() {
    let world = World::start().await;
    let caller = world.as_member("m1");
    for round in 0..20 {
        let id = created(&caller, on_the_second("12:00", "13:00")).await;
        let (create, update) = tokio::join!(
            create(&caller, on_the_second("09:00", "10:00")),
            update(&caller, &id, on_the_second("09:30", "13:00")),
        );
        let statuses = (create.status, update.status);
        assert!(matches!(statuses, (201, 409) | (409, 200)), "{round}: {statuses:?}");
        if create.status == 201 {
            let update = update.refused(409, "SCHEDULE_CONFLICT");
            assert_eq!(update.json["conflictsWith"], create.json["id"]);
            delete(&caller, &id_of(&create)).await.expect(204);
        } else {
            assert_eq!(create.refused(409, "SCHEDULE_CONFLICT").json["conflictsWith"], id);
        }
        assert_sound(&world, "m1").await;
        delete(&caller, &id).await.expect(204);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_that_move_into_one_hour_one_gets_it() {
    let world = World::start().await;
    let caller = world.as_member("m1");
    let mut ids = Vec::new();
    for minute in 10..22 {
        let times = on_the_second(&format!("09:{minute}"), &format!("09:{}", minute + 1));
        ids.push(created(&caller, with(times, "remindBeforeMinutes", 1)).await);
    }
    let wanted = with(on_the_second("11:00", "12:00"), "remindBeforeMinutes", 1);
    let answers = race(&ids, |id| update(&caller, id, wanted.clone())).await;
    assert_eq!((count(&answers, 200), count(&answers, 409)), (1, 11));
    let winner = answers.iter().find(|answer| answer.status == 200).unwrap();
    for answer in answers.iter().filter(|answer| answer.status != 200) {
        assert_eq!(answer.code(), "SCHEDULE_CONFLICT");
        assert_eq!(answer.json["conflictsWith"], winner.json["id"]);
    }
    assert_eq!(assert_sound(&world, "m1").await.reminders.len(), 12);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_updates_of_one_version_one_is_made() {
    let world = World::start().await;
    let caller = world.as_member("m1");
    let id = created(&caller, on_the_second("09:00", "10:00")).await;
    let seeing = world.as_member("m1").with("if-match", "\"1\"");
    // The same title for all: only the version can tell them apart.
    let wanted = with(on_the_second("09:00", "10:00"), "title", "Doctor");
    let answers = race(0..16, |_| update(&seeing, &id, wanted.clone())).await;
    assert_eq!((count(&answers, 200), count(&answers, 412)), (1, 15));
    assert_eq!(get(&caller, &id).await.json["version"], 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_update_has_a_version_of_its_own() {
    let world = World::start().await;
    let caller = world.as_member("m1");
    let id = created(&caller, on_the_second("09:00", "10:00")).await;
    let titled = |n: u32| with(on_the_second("09:00", "10:00"), "title", format!("{n}"));
    let answers = race(0..12, |n| update(&caller, &id, titled(n))).await;
    let mut versions: Vec<_> = answers.iter().map(|a| a.json["version"].as_u64()).collect();
    versions.sort_unstable();
    assert_eq!(versions, (2..14).map(Some).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_schedule_is_deleted_once_and_does_not_come_back() {
    let world = World::start().await;
    let caller = world.as_member("m1");
    let wanted = with(on_the_second("09:00", "10:00"), "remindBeforeMinutes", 10);
    for round in 0..10 {
        let id = created(&caller, wanted.clone()).await;
        let answers = race(0..16, |n: u32| {
            let (caller, id, wanted) = (&caller, &id, &wanted);
            async move {
                if n.is_multiple_of(2) {
                    return delete(caller, id).await;
                }
                let title = format!("{round} {n}");
                update(caller, id, with(wanted.clone(), "title", title)).await
            }
        });
        let answers = answers.await;
        assert_eq!(count(&answers, 204), 1);
        for answer in answers.into_iter().filter(|a| !matches!(a.status, 200 | 204)) {
            answer.refused(404, "SCHEDULE_NOT_FOUND");
        }
        assert!(assert_sound(&world, "m1").await.schedules.is_empty());
    }
}

/// A sequence that looks random and is the same each time.
fn next(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *seed >> 33
}

/// A body in one of 40 quarters of an hour, up to an hour long.
fn random(seed: &mut u64) -> Value {
    let start = next(seed) % 40;
    let end = start + 1 + next(seed) % 4;
    let at = |quarter: u64| format!("{:02}:{:02}", 9 + quarter / 4, quarter % 4 * 15);
    let wanted = with(on_the_second(&at(start), &at(end)), "title", format!("{start}"));
    match next(seed) % 3 {
        0 => wanted,
        _ => with(wanted, "remindBeforeMinutes", next(seed) % 600),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whatever_many_do_at_once_ends_without_overlap_and_with_each_reminder_once() {
    let world = World::start().await;
    world.clock.advance(27 * 60 * 60 * 1000); // some reminders are due at once
    let caller = world.as_member("m1");
    let users = race(0..6, |user: u64| {
        let caller = &caller;
        let mut seed = 1_000 + user;
        async move {
            let mut last = create(caller, random(&mut seed)).await;
            for _ in 0..25 {
                let listed = caller.get("/schedules?limit=100").await.expect(200).json;
                let ids = ids_of(listed["items"].as_array().unwrap());
                let id = ids.get(usize::try_from(next(&mut seed)).unwrap() % ids.len().max(1));
                last = match (next(&mut seed) % 4, id) {
                    (0, Some(id)) => delete(caller, id).await,
                    (1 | 2, Some(id)) => update(caller, id, random(&mut seed)).await,
                    _ => create(caller, random(&mut seed)).await,
                };
                let codes = ["", "SCHEDULE_CONFLICT", "SCHEDULE_NOT_FOUND", "BUSY"];
                assert!(codes.contains(&last.code()), "{} {}", last.status, last.json);
            }
            last
        }
    });
    let reminding = async {
        for _ in 0..40 {
            send_reminders(&world).await;
        }
    };
    tokio::join!(users, reminding);
    send_reminders(&world).await;
    let holdings = assert_sound(&world, "m1").await;
    assert!(!holdings.schedules.is_empty());
    for reminder in holdings.reminders.values() {
        let is_due = reminder.due_at_ms <= world.clock.now().as_millis();
        assert_eq!(reminder.fired_at_ms.is_some(), is_due, "{reminder:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_list_read_while_schedules_move_is_in_order_and_without_overlap() {
    let world = World::start().await;
    let caller = world.as_member("m1");
    let mut ids = Vec::new();
    for hour in 10..14 {
        let times = on_the_second(&format!("{hour}:00"), &format!("{hour}:30"));
        ids.push(created(&caller, times).await);
    }
    let moving = race(0..4_usize, |place| {
        let (caller, id) = (&caller, &ids[place]);
        async move {
            let hour = 10 + place;
            let halves = [("00", "30"), ("30", "59")];
            let mut answer = get(caller, id).await;
            for (start, end) in halves.repeat(8) {
                let times = on_the_second(&format!("{hour}:{start}"), &format!("{hour}:{end}"));
                answer = update(caller, id, times).await.expect(200);
            }
            answer
        }
    });
    let reading = async {
        for _ in 0..40 {
            let items = caller.list("/schedules", 100).await;
            let times = |field: &str| -> Vec<String> {
                items.iter().map(|item| item[field].to_string()).collect()
            };
            let (starts, ends) = (times("startTime"), times("endTime"));
            assert!(starts.iter().skip(1).zip(&ends).all(|(start, end)| end <= start), "{items:?}");
        }
    };
    tokio::join!(moving, reading);
}
