//! Many at once: one log-in, ten guesses, one next token, one new password.

use std::collections::BTreeSet;

use serde_json::json;
use suites::{Answer, World, count, race};

use crate::{MINUTE_MS, PASSWORD, Tokens, log_in, member, open, refresh, sign_up, world_of_ada};

fn coded(answers: &[Answer], code: &str) -> usize {
    answers.iter().filter(|answer| answer.code() == code).count()
}

fn hashes(answers: &[Answer]) -> u64 {
    answers.iter().map(|answer| answer.usage.password_hashes).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_many_gets_a_login_id() {
    let world = World::start().await;
    let answers = race(0..20, |_| {
        let caller = world.as_nobody();
        async move { caller.post("/members", member("ada")).await }
    });
    let answers = answers.await;
    assert_eq!((count(&answers, 201), coded(&answers, "LOGIN_TAKEN")), (1, 19));
    log_in(&world, "ada", PASSWORD).await.expect(200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_same_sign_up_sent_many_times_under_a_key_makes_one_member() {
    let world = World::start().await;
    let answers = race(0..10, |_| {
        let caller = world.as_nobody().with("idempotency-key", "k-1");
        async move { caller.post("/members", member("ada")).await }
    });
    let answers = answers.await;
    assert_eq!(count(&answers, 201), 10);
    let ids: BTreeSet<_> = answers.iter().map(|a| a.json["memberId"].to_string()).collect();
    assert_eq!(ids.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_fifty_guesses_at_once_ten_are_tried() {
    let world = world_of_ada().await;
    for login_id in ["ada", "nobody"] {
        let answers = race(0..50, |_| log_in(&world, login_id, "wrong horse")).await;
        assert_eq!((coded(&answers, "BAD_CREDENTIALS"), coded(&answers, "LOGIN_LOCKED")), (10, 40));
        assert_eq!(hashes(&answers), 10);
        log_in(&world, login_id, PASSWORD).await.refused(429, "LOGIN_LOCKED");
    }
    world.clock.advance(15 * MINUTE_MS);
    let answers = race(0..50, |_| log_in(&world, "ada", "wrong horse")).await;
    assert_eq!((coded(&answers, "BAD_CREDENTIALS"), coded(&answers, "LOGIN_LOCKED")), (10, 40));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nine_guesses_do_not_keep_the_right_password_out() {
    let world = world_of_ada().await;
    for _ in 0..3 {
        let answers =
            race(0..10, |i| log_in(&world, "ada", if i == 5 { PASSWORD } else { "wrong horse" }));
        let answers = answers.await;
        assert_eq!((count(&answers, 200), coded(&answers, "BAD_CREDENTIALS")), (1, 9));
        world.clock.advance(15 * MINUTE_MS);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn all_who_refresh_with_one_token_at_once_get_the_same_next_one() {
    let world = world_of_ada().await;
    let mut token = open(&world).await.refresh;
    for _ in 0..5 {
        let answers = race(0..10, |_| refresh(&world, &token)).await;
        let next: BTreeSet<_> = answers.into_iter().map(|a| Tokens::of(a).refresh).collect();
        assert_eq!(next.len(), 1);
        token = next.into_iter().next().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn changes_of_different_fields_at_once_are_all_kept() {
    let world = world_of_ada().await;
    let caller = open(&world).await.caller(&world);
    let changes = [
        json!({ "name": "Ada King" }),
        json!({ "timeZone": "Asia/Seoul" }),
        json!({ "phone": "+8223123456" }),
        json!({ "email": "ada@example.com" }),
    ];
    let answers = race(0..20, |i| {
        let (caller, change) = (caller.clone(), changes[i % 4].clone());
        async move { caller.send("PATCH", "/auth/me", change).await }
    });
    assert_eq!(count(&answers.await, 200), 20);
    let me = caller.get("/auth/me").await.expect(200).json;
    for change in changes {
        for (field, value) in change.as_object().unwrap() {
            assert_eq!(me[field], *value);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_new_passwords_at_once_one_holds() {
    let world = world_of_ada().await;
    let caller = open(&world).await.caller(&world);
    let new = |i: usize| format!("battery staple {i}");
    let answers = race(0..8, |i| {
        let caller = caller.clone();
        let body = json!({ "password": new(i), "currentPassword": PASSWORD });
        async move { caller.send("PATCH", "/auth/me", body).await }
    });
    let answers = answers.await;
    assert_eq!((count(&answers, 200), coded(&answers, "BAD_CREDENTIALS")), (1, 7));
    let winner = answers.iter().position(|answer| answer.status == 200).unwrap();
    Tokens::of(log_in(&world, "ada", &new(winner)).await);
    log_in(&world, "ada", PASSWORD).await.refused(401, "BAD_CREDENTIALS");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_session_of_the_old_password_outlives_a_new_one() {
    let world = World::start().await;
    for round in 0..5 {
        let login_id = format!("ada{round}");
        sign_up(&world, &login_id).await;
        let caller = Tokens::of(log_in(&world, &login_id, PASSWORD).await).caller(&world);
        let answers = race(0..6, |i| {
            let (caller, world, login_id) = (caller.clone(), &world, login_id.as_str());
            async move {
                if i != 3 {
                    return log_in(world, login_id, PASSWORD).await;
                }
                let body = json!({ "password": "battery staple", "currentPassword": PASSWORD });
                caller.send("PATCH", "/auth/me", body).await
            }
        });
        let mut answers = answers.await;
        answers.remove(3).expect(200);
        for answer in answers.into_iter().filter(|answer| answer.status == 200) {
            let tokens = Tokens::of(answer);
            refresh(&world, &tokens.refresh).await.refused(401, "SESSION_ENDED");
        }
        Tokens::of(log_in(&world, &login_id, "battery staple").await);
    }
}
