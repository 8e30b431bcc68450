//! What many do at once: whatever the order in which it happens, nobody gets a
//! seat that somebody else has, and nothing is freed or sold twice.

use serde_json::json;
use suites::{Answer, World, count, race};

const MINUTE_MS: i64 = 60_000;

/// How many there are.
const CROWD: usize = 64;

/// The codes of all that were refused, without repetition.
fn codes(answers: &[Answer]) -> Vec<&str> {
    let mut codes: Vec<&str> = answers.iter().map(Answer::code).filter(|c| !c.is_empty()).collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_who_want_one_seat_one_gets_it() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let world = &world;
    let answers = race(0..80, |n| async move {
        world.admitted("final", &format!("m{n}")).hold("final", &["A-1-1"]).await
    })
    .await;
    assert_eq!((count(&answers, 201), count(&answers, 409)), (1, 79));
    assert!(answers.iter().all(|answer| answer.status == 201 || answer.code() == "SEAT_TAKEN"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_devices_of_one_member_make_one_hold() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let caller = world.admitted("final", "m");
    let seats: Vec<String> = (0..80).map(|n| format!("B-{}-{}", n / 10 + 1, n % 10 + 1)).collect();
    let answers = race(&seats, |seat| caller.hold("final", std::slice::from_ref(seat))).await;
    assert_eq!(count(&answers, 201), 1);
    let held = answers.iter().find(|answer| answer.status == 201).unwrap();
    for refused in answers.iter().filter(|answer| answer.status != 201) {
        assert_eq!(refused.code(), "HOLD_EXISTS");
        assert_eq!(refused.json["existing"], held.json["holdId"]);
    }
    let free = seats.iter().filter(|seat| seat.as_str() != held.json["seats"][0]);
    let others = race(free.enumerate(), |(n, seat)| {
        let world = &world;
        async move { world.admitted("final", &format!("o{n}")).hold("final", &[seat]).await }
    });
    assert_eq!(count(&others.await, 201), 79, "no other seat was touched");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_pairs_that_overlap_each_is_held_whole_or_not_at_all() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    // A ring: each shares a seat with the one before and with the one after it.
    let seat = |n: usize| format!("B-{}-{}", n % CROWD / 10 + 1, n % CROWD % 10 + 1);
    let world = &world;
    let answers = race(0..CROWD, |n| async move {
        // Half of them name their seats the other way around.
        let seats = if n % 2 == 0 { [seat(n), seat(n + 1)] } else { [seat(n + 1), seat(n)] };
        world.admitted("final", &format!("m{n}")).hold("final", &seats).await
    });
    let answers = answers.await;
    assert_eq!(codes(&answers), ["SEAT_TAKEN"]);
    // Who was refused has a neighbor who was not: so at least a third.
    let held = count(&answers, 201);
    assert!((CROWD / 3..=CROWD / 2).contains(&held), "{held} of {CROWD}");
    world.assert_seats_sound(4).await;
    assert_eq!(world.bearers("final").await.len(), 2 * held);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hold_is_whole_until_the_millisecond_and_then_somebody_elses() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let world = &world;
    let all = async |round: &str| {
        race(0..CROWD, |n| {
            let member = format!("{round}{n}");
            async move { world.admitted("final", &member).hold("final", &["A-1-1"]).await }
        })
        .await
    };
    world.admitted("final", "first").held("final", &["A-1-1"]).await;
    world.clock.advance(5 * MINUTE_MS - 1);
    assert_eq!(count(&all("early").await, 409), CROWD);
    world.clock.advance(1);
    assert_eq!(count(&all("due").await, 201), 1);
    // And while the clock goes over it: at most one, and only those before are refused.
    world.clock.advance(5 * MINUTE_MS - 1);
    let answers = race(0..=CROWD, |n| async move {
        if n == CROWD / 2 {
            world.clock.advance(1);
        }
        world.admitted("final", &format!("last{n}")).hold("final", &["A-1-1"]).await
    });
    let answers = answers.await;
    assert_eq!((count(&answers, 201), codes(&answers)), (1, vec!["SEAT_TAKEN"]));
    world.assert_seats_sound(4).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_order_that_is_placed_while_its_hold_lapses_has_all_its_seats_or_is_none() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let world = &world;
    let mut outcomes = [0, 0];
    for round in 0..8 {
        let seats = [format!("A-1-{}", round + 1), format!("A-2-{}", round + 1)];
        let (seats, owner) = (&seats, &format!("owner{round}"));
        let hold = &world.admitted("final", owner).held("final", seats).await;
        world.clock.advance(5 * MINUTE_MS - 1);
        let answers = race(0..CROWD, |n| async move {
            match n {
                n if n % 8 == round => world.admitted("final", owner).order(hold).await,
                n => {
                    if n == CROWD / 2 {
                        world.clock.advance(1);
                    }
                    let member = format!("r{round}m{n}");
                    world.admitted("final", &member).hold("final", &seats[..1 + n % 2]).await
                }
            }
        });
        let answers = answers.await;
        let ordered = answers.iter().filter(|answer| answer.json["orderId"].is_string()).count();
        let taken = answers.iter().filter(|answer| answer.json["holdId"].is_string()).count();
        assert!(ordered == 0 || taken == 0, "both the order and somebody else");
        assert!(taken <= 1 && ordered + taken > 0, "{ordered} {taken}");
        outcomes[usize::from(taken > 0)] += 1;
        world.assert_seats_sound(4).await;
    }
    assert_eq!(outcomes[0] + outcomes[1], 8);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_devices_that_order_one_hold_get_one_order() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let caller = world.admitted("final", "m");
    let hold = caller.held("final", &["A-1-1", "A-1-2"]).await;
    let answers = race(0..CROWD, |_| caller.order(&hold)).await;
    assert_eq!(count(&answers, 201), CROWD);
    assert!(answers.iter().all(|answer| answer.json == answers[0].json));
    assert_eq!(caller.list("/orders", 100).await.len(), 1);
    world.assert_seats_sound(4).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hold_is_either_ordered_or_released() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let caller = world.admitted("final", "m");
    for _ in 0..4 {
        let (caller, hold) = (&caller, &caller.held("final", &["A-1-1", "A-1-2"]).await);
        let answers = race(0..CROWD, |n| async move {
            if n % 2 == 0 { caller.order(hold).await } else { caller.release(hold).await }
        });
        let answers = answers.await;
        let (ordered, released) = (count(&answers, 201), count(&answers, 204));
        assert!((ordered == 0) != (released == 0), "{ordered} ordered, {released} released");
        assert_eq!(codes(&answers), ["HOLD_NOT_FOUND"]);
        world.assert_seats_sound(4).await;
        for order in caller.list("/orders", 100).await {
            caller.cancel(order["orderId"].as_str().unwrap()).await.expect(204);
        }
        assert!(world.bearers("final").await.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn released_seats_go_to_one_of_those_who_wait() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let world = &world;
    let hold = &world.admitted("final", "first").held("final", &["A-1-1", "A-1-2"]).await;
    let answers = race(0..=CROWD, |n| async move {
        if n == CROWD / 2 {
            return world.admitted("final", "first").release(hold).await;
        }
        let caller = world.admitted("final", &format!("m{n}"));
        for _ in 0..8 {
            let answer = caller.hold("final", &["A-1-2", "A-1-3"]).await;
            if answer.status == 201 {
                return answer;
            }
        }
        caller.hold("final", &["A-1-2", "A-1-3"]).await
    });
    let answers = answers.await;
    assert_eq!((count(&answers, 204), count(&answers, 201)), (1, 1));
    assert_eq!(codes(&answers), ["SEAT_TAKEN"]);
    world.assert_seats_sound(4).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_order_that_is_paid_and_cancelled_at_once_is_owed_and_its_seats_are_free() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let world = &world;
    let caller = &world.admitted("final", "m");
    for round in 0..4 {
        let order = &caller.ordered("final", &["A-1-1", "A-1-2"]).await;
        let payment = &format!("p-{round}");
        let answers = race(0..CROWD, |n| async move {
            if n % 2 == 0 {
                world.pay(order, payment, 18_000).await
            } else {
                caller.cancel(order).await
            }
        });
        let answers = answers.await;
        assert_eq!((count(&answers, 200), count(&answers, 204)), (CROWD / 2, CROWD / 2));
        let paid: Vec<_> = answers.iter().filter(|answer| answer.status == 200).collect();
        assert!(paid.iter().all(|answer| answer.json == paid[0].json), "one answer to a payment");
        assert_eq!(caller.status(order).await, "REFUND_DUE");
        assert!(world.bearers("final").await.is_empty());
        world.assert_seats_sound(4).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_order_takes_one_of_many_payments() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let world = &world;
    let order = &world.admitted("final", "m").ordered("final", &["A-1-1"]).await;
    let answers =
        race(0..CROWD, |n| async move { world.pay(order, &format!("p-{}", n % 16), 9_000).await });
    let answers = answers.await;
    assert_eq!((count(&answers, 200), count(&answers, 409)), (4, CROWD - 4));
    assert_eq!(codes(&answers), ["ORDER_PAID"]);
    world.assert_seats_sound(4).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_payment_that_is_sent_on_to_many_orders_pays_one() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let world = &world;
    let mut orders = Vec::new();
    for n in 0..16 {
        let seats = [format!("B-{}-{}", n / 10 + 1, n % 10 + 1)];
        orders.push(world.admitted("final", &format!("m{n}")).ordered("final", &seats).await);
    }
    let orders = &orders;
    let answers = race(0..CROWD, |n| async move { world.pay(&orders[n % 16], "p-1", 5_000).await });
    let answers = answers.await;
    assert_eq!((count(&answers, 200), count(&answers, 409)), (4, CROWD - 4));
    assert_eq!(codes(&answers), ["PAYMENT_REUSED"]);
    world.assert_seats_sound(4).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_order_that_many_cancel_frees_its_seats_once() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let world = &world;
    for is_paid in [false, true] {
        let caller = &world.admitted("final", "m");
        let order = &caller.ordered("final", &["A-1-1", "A-1-2"]).await;
        if is_paid {
            world.pay(order, "p-1", 18_000).await.expect(200);
        }
        // Others take the seats as soon as they can, between one and the next.
        let answers = race(0..CROWD, |n| async move {
            if n % 2 == 0 {
                return caller.cancel(order).await;
            }
            let member = format!("{is_paid}{n}");
            world
                .admitted("final", &member)
                .hold("final", &[format!("A-1-{}", n / 2 % 2 + 1)])
                .await
        });
        let answers = answers.await;
        assert_eq!(count(&answers, 204), CROWD / 2);
        let held = count(&answers, 201);
        assert!(held <= 2);
        assert_eq!(world.bearers("final").await.len(), held, "nothing is freed a second time");
        world.assert_seats_sound(4).await;
        world.clock.advance(5 * MINUTE_MS);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_two_late_orders_of_one_member_only_as_much_is_sold_as_is_allowed() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let world = &world;
    for round in 0..4 {
        let mut orders = Vec::new();
        for block in ["A", "B"] {
            let seats: Vec<String> = (1..4).map(|n| format!("{block}-{}-{n}", round + 1)).collect();
            let caller = world.admitted("final", &format!("m{round}"));
            orders.push(caller.ordered("final", &seats).await);
            world.clock.advance(10 * MINUTE_MS);
        }
        let (orders, amounts) = (&orders, [27_000, 15_000]);
        let answers = race(0..CROWD, |n| async move {
            let which = n % 2;
            world.pay(&orders[which], &format!("r{round}p{which}"), amounts[which]).await
        });
        let answers = answers.await;
        assert_eq!(count(&answers, 200), CROWD);
        let sold = answers.iter().filter(|answer| answer.json["status"] == "PAID").count();
        assert_eq!(sold, CROWD / 2, "one is sold, and the other owed");
        world.assert_seats_sound(4).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_two_late_orders_of_one_seat_the_one_that_has_it_is_sold() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let world = &world;
    let mut orders = Vec::new();
    for (member, seats) in [("a", ["A-1-1", "A-1-2"]), ("b", ["A-1-2", "A-1-3"])] {
        orders.push(world.admitted("final", member).ordered("final", &seats).await);
        world.clock.advance(10 * MINUTE_MS);
    }
    let orders = &orders;
    // And others want the seats, too.
    let answers = race(0..CROWD, |n| async move {
        match n % 4 {
            3 => world.admitted("final", &format!("m{n}")).hold("final", &["A-1-1", "A-1-3"]).await,
            which => world.pay(&orders[which % 2], &format!("p-{}", which % 2), 18_000).await,
        }
    });
    let answers = answers.await;
    let status = async |member: &str, n: usize| world.as_member(member).status(&orders[n]).await;
    assert_eq!(status("a", 0).await, "REFUND_DUE", "of its seats one was taken");
    let (sold, held) = (status("b", 1).await == "PAID", count(&answers, 201));
    assert_eq!(held, usize::from(!sold), "either the order or somebody else");
    world.assert_seats_sound(4).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_late_payment_and_a_new_hold_of_its_member_stay_within_the_limit() {
    let world = World::start().await;
    world.a_match("final", json!({})).await;
    let world = &world;
    for round in 0..4 {
        let member = &format!("m{round}");
        let seats: Vec<String> = (1..4).map(|n| format!("A-{}-{n}", round + 1)).collect();
        let order = &world.admitted("final", member).ordered("final", &seats).await;
        world.clock.advance(10 * MINUTE_MS);
        let other = &[format!("B-{}-1", round + 1), format!("B-{}-2", round + 1)];
        let answers = race(0..CROWD, |n| async move {
            if n % 2 == 0 {
                world.pay(order, member, 27_000).await
            } else {
                world.admitted("final", member).hold("final", other).await
            }
        });
        let answers = answers.await;
        let sold = answers.iter().any(|answer| answer.json["status"] == "PAID");
        assert_eq!(count(&answers, 201), usize::from(!sold));
        world.assert_seats_sound(4).await;
    }
}
