//! Reminders: when they are sent, and that it is once.

use std::time::Duration;

use serde_json::{Value, json};
use suites::{Caller, World, instant, race};

use crate::calendar::{
    assert_sound, body, created, delete, holdings, on_the_second, put_waiting, reminder,
    send_reminders, update, waiting, with,
};

const MINUTE_MS: i64 = 60 * 1000;
const HOUR_MS: i64 = 60 * MINUTE_MS;

/// Write units that sending one reminder takes.
const UNITS_TO_SEND: f64 = 3.0;

/// At nine on the second of January, and ten minutes before it a reminder.
fn nine() -> Value {
    with(on_the_second("09:00", "10:00"), "remindBeforeMinutes", 10)
}

/// Moves the clock to a time such as `2030-01-02T08:50:00Z`.
fn go_to(world: &World, time: &str) {
    let now = world.clock.now();
    world.clock.advance(instant(time).as_millis() - now.as_millis());
}

/// The member, with a token that holds now.
fn me(world: &World) -> Caller<'_> {
    world.as_member("m1")
}

async fn fired_at(world: &World) -> Option<i64> {
    reminder(world, "m1").await.fired_at_ms
}

#[tokio::test]
async fn a_reminder_is_sent_when_it_is_due_and_not_before() {
    let world = World::start().await;
    created(&me(&world), nine()).await;
    for early in ["2030-01-01T00:00:00Z", "2030-01-02T08:49:59.999Z"] {
        go_to(&world, early);
        send_reminders(&world).await;
        assert_eq!(fired_at(&world).await, None, "{early}");
    }
    go_to(&world, "2030-01-02T08:50:00Z");
    send_reminders(&world).await;
    let sent_at_ms = instant("2030-01-02T08:50:00Z").as_millis();
    assert_eq!(fired_at(&world).await, Some(sent_at_ms));
    assert_eq!(waiting(&world).await, 0);
    assert_sound(&world, "m1").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn it_is_sent_once_however_often_and_late_one_looks() {
    let world = World::start().await;
    for member in 0..40 {
        created(&world.as_member(&format!("m{member}")), nine()).await;
    }
    go_to(&world, "2030-01-03T12:00:00Z"); // nobody looked for a day
    let runs = (0..8).map(|_| send_reminders(&world));
    let runs = futures_util::future::join_all(runs).await;
    assert_eq!(waiting(&world).await, 0);
    let units: f64 = runs.iter().map(|usage| usage.write_units).sum();
    assert_eq!(units, 40.0 * UNITS_TO_SEND, "each is written once");
    let sent = holdings(&world, "m7").await.reminders;
    world.clock.advance(MINUTE_MS);
    assert_eq!(send_reminders(&world).await.write_units, 0.0);
    assert_eq!(holdings(&world, "m7").await.reminders, sent);
}

#[tokio::test]
async fn a_backlog_of_many_pages_is_sent_in_one_run() {
    let world = World::start().await;
    put_waiting(&world, 1_000).await;
    assert_eq!(waiting(&world).await, 1_000);
    send_reminders(&world).await;
    assert_eq!(waiting(&world).await, 0);
    let reminders = holdings(&world, "m1").await.reminders;
    assert_eq!(reminders.values().filter(|r| r.fired_at_ms.is_some()).count(), 1_000);
}

#[tokio::test]
async fn a_schedule_that_moves_takes_its_reminder_along() {
    let world = World::start().await;
    let id = created(&me(&world), nine()).await;
    let noon = with(on_the_second("12:00", "13:00"), "remindBeforeMinutes", 10);
    update(&me(&world), &id, noon.clone()).await.expect(200);
    go_to(&world, "2030-01-02T11:49:00Z");
    send_reminders(&world).await;
    assert_eq!(fired_at(&world).await, None);
    go_to(&world, "2030-01-02T11:50:00Z");
    send_reminders(&world).await;
    assert!(fired_at(&world).await.is_some());
    // Sent, it is set anew by another move, and by another lead.
    let evening = with(on_the_second("20:00", "21:00"), "remindBeforeMinutes", 10);
    update(&me(&world), &id, evening.clone()).await.expect(200);
    assert_eq!((fired_at(&world).await, waiting(&world).await), (None, 1));
    go_to(&world, "2030-01-02T19:50:00Z");
    send_reminders(&world).await;
    assert!(fired_at(&world).await.is_some());
    update(&me(&world), &id, with(evening, "remindBeforeMinutes", 5)).await.expect(200);
    assert_eq!((fired_at(&world).await, waiting(&world).await), (None, 1));
    assert_sound(&world, "m1").await;
}

#[tokio::test]
async fn a_change_of_anything_else_leaves_it_waiting_or_sent() {
    let world = World::start().await;
    let id = created(&me(&world), nine()).await;
    update(&me(&world), &id, with(nine(), "title", "Doctor")).await.expect(200);
    assert_eq!(waiting(&world).await, 1);
    go_to(&world, "2030-01-02T08:55:00Z");
    send_reminders(&world).await;
    let sent = reminder(&world, "m1").await;
    assert_eq!((sent.title.as_str(), sent.version), ("Doctor", 2));
    let longer = with(nine(), "endTime", "2030-01-02T11:00:00Z");
    for wanted in [with(longer, "progressStatus", "IN_PROGRESS"), with(nine(), "title", "A")] {
        update(&me(&world), &id, wanted).await.expect(200);
        assert_eq!(fired_at(&world).await, sent.fired_at_ms);
        assert_eq!(waiting(&world).await, 0);
        assert_sound(&world, "m1").await;
    }
}

#[tokio::test]
async fn a_reminder_comes_and_goes_as_its_schedule_says() {
    let world = World::start().await;
    let id = created(&me(&world), on_the_second("09:00", "10:00")).await;
    assert_eq!(waiting(&world).await, 0);
    update(&me(&world), &id, nine()).await.expect(200);
    assert_eq!(waiting(&world).await, 1);
    assert_sound(&world, "m1").await;
    update(&me(&world), &id, on_the_second("09:00", "10:00")).await.expect(200);
    assert_eq!(waiting(&world).await, 0);
    assert!(assert_sound(&world, "m1").await.reminders.is_empty());
    update(&me(&world), &id, nine()).await.expect(200);
    delete(&me(&world), &id).await.expect(204);
    go_to(&world, "2030-01-02T09:00:00Z");
    send_reminders(&world).await;
    assert!(assert_sound(&world, "m1").await.reminders.is_empty());
}

#[tokio::test]
async fn one_whose_time_is_over_is_sent_at_once_unless_its_schedule_has_begun() {
    let world = World::start().await;
    go_to(&world, "2030-01-02T08:55:00Z");
    let id = created(&me(&world), nine()).await;
    assert_eq!(waiting(&world).await, 1);
    send_reminders(&world).await;
    assert!(fired_at(&world).await.is_some());
    // Moved while it is too late for the reminder, and then for the schedule.
    let soon = with(on_the_second("09:05", "10:00"), "remindBeforeMinutes", 10);
    update(&me(&world), &id, soon).await.expect(200);
    assert_eq!(waiting(&world).await, 1);
    send_reminders(&world).await;
    let past = with(on_the_second("08:00", "10:00"), "remindBeforeMinutes", 10);
    update(&me(&world), &id, past).await.expect(200);
    send_reminders(&world).await;
    assert_eq!((fired_at(&world).await, waiting(&world).await), (None, 0));
    // Moved to the future, it waits again.
    let future = with(on_the_second("18:00", "19:00"), "remindBeforeMinutes", 10);
    update(&me(&world), &id, future).await.expect(200);
    assert_eq!(waiting(&world).await, 1);
    assert_sound(&world, "m1").await;
}

#[tokio::test]
async fn one_that_begins_this_very_moment_is_reminded_of_and_one_of_the_past_is_not() {
    let world = World::start().await;
    let now = body("2030-01-01T00:00:00Z", "2030-01-01T01:00:00Z");
    created(&me(&world), with(now, "remindBeforeMinutes", 0)).await;
    for (start, end) in [
        ("2029-12-31T23:00:00Z", "2030-01-01T00:00:00Z"),
        ("1960-01-01T00:00:00Z", "1960-01-02T00:00:00Z"),
    ] {
        created(&me(&world), with(body(start, end), "remindBeforeMinutes", 0)).await;
    }
    assert_eq!(waiting(&world).await, 1);
    send_reminders(&world).await;
    let holdings = holdings(&world, "m1").await;
    assert_eq!(holdings.reminders.len(), 3, "each has one");
    assert_eq!(holdings.reminders.values().filter(|r| r.fired_at_ms.is_some()).count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_that_moves_while_it_is_sent_is_sent_for_one_time_or_the_other() {
    let world = World::start().await;
    for day in 1..=20 {
        let at = |hour: u32| format!("2030-02-{day:02}T{hour:02}:00:00Z");
        let wanted = |hour| with(body(&at(hour), &at(hour + 1)), "remindBeforeMinutes", 60);
        let id = created(&me(&world), wanted(9)).await;
        go_to(&world, &at(8));
        let caller = me(&world);
        let moving = race([11, 9, 12], |hour| {
            let (caller, id, wanted) = (&caller, &id, wanted(hour));
            async move { update(caller, id, wanted).await.expect(200) }
        });
        let renaming = update(&caller, &id, with(wanted(9), "title", "Doctor"));
        let race_reminders = async { tokio::join!(send_reminders(&world), send_reminders(&world)) };
        let (_, moved, renamed) = tokio::join!(race_reminders, moving, renaming);
        assert_eq!((moved.len(), renamed.status), (3, 200));
        // Whatever its last time is, it is sent for that, and then waits no more.
        let last = assert_sound(&world, "m1").await.reminders.remove(&id).unwrap();
        assert!(last.fired_at_ms.is_none_or(|at_ms| at_ms >= last.due_at_ms), "{last:?}");
        world.clock.advance(5 * HOUR_MS);
        send_reminders(&world).await;
        let sent = assert_sound(&world, "m1").await.reminders.remove(&id).unwrap();
        assert!(sent.fired_at_ms.is_some(), "{sent:?}");
        assert_eq!(waiting(&world).await, 0);
    }
}

#[tokio::test]
async fn a_run_without_anything_to_do_succeeds_whatever_its_event_says() {
    let world = World::start().await;
    for event in [json!({}), json!(null), json!({ "time": "2030-01-01T00:00:00Z" })] {
        let run = world.cloud.invoke_event("send-reminders", event).await.unwrap();
        run.response.unwrap();
        assert_eq!(run.usage.calls_of("Query"), 8);
        assert_eq!(run.usage.total_calls(), 8);
    }
}

#[test]
fn a_run_ends_before_its_time_out_and_runs_come_every_minute() {
    let template = local::template::Template::of_checkout().unwrap();
    let function = template.functions.iter().find(|f| f.name == "send-reminders").unwrap();
    assert!(function.timeout - schedule::send_reminders::RUN >= Duration::from_secs(6));
    let template = std::fs::read_to_string(suites::project().join("template.yaml")).unwrap();
    assert!(template.contains("ScheduleExpression: rate(1 minute)"));
}
