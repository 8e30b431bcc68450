//! Who writes what: the accounts, users and time slots of one run.

use std::time::Duration;

use platform::clock::Instant;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::caller::Think;

/// Accounts that users are spread over.
pub(crate) const ACCOUNTS: usize = 30;
/// The most time slots of an account: they reach into the next century.
pub(crate) const MOST_SLOTS: usize = 1_000_000;
/// Log-ins of one account at the same time: ten that have not succeeded yet
/// lock it.
const DOORS: usize = 5;

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;
/// How far ahead the first slot lies: no reminder is due before a run is over.
const AHEAD_MS: i64 = 48 * HOUR_MS;
/// A schedule is half a slot long, and moves a quarter of it with each update.
const LENGTH_MS: i64 = 30 * MINUTE_MS;
const STEP_MS: i64 = 15 * MINUTE_MS;
/// Places within a slot.
const STEPS: u32 = 3;

/// How large a run is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Users.
    pub(crate) users: usize,
    /// How often each of them writes.
    pub(crate) loops: usize,
    /// How long they think.
    pub(crate) think: Think,
    /// How long it takes until all have arrived.
    pub(crate) ramp: Duration,
}

impl Shape {
    /// Time slots that the users of an account need.
    pub(crate) fn slots_per_account(&self) -> usize {
        self.users.div_ceil(ACCOUNTS).saturating_mul(self.loops)
    }
}

/// The accounts of one run, and what their users write.
pub(crate) struct Plan {
    /// How large it is.
    pub(crate) shape: Shape,
    run: String,
    first_slot: Instant,
    accounts: Vec<Account>,
}

/// An account that several users share.
pub(crate) struct Account {
    /// What they log in with.
    pub(crate) login_id: String,
    /// And with it.
    pub(crate) password: String,
    /// Its member, once it is signed up.
    pub(crate) member_id: String,
    /// How many may log in now.
    pub(crate) doors: Semaphore,
}

/// What a schedule says after so many updates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    /// Its title, which tells it from all others of the account.
    pub(crate) title: String,
    /// When it begins.
    pub(crate) start: Instant,
    body: Value,
}

impl Content {
    /// The body that writes it.
    pub(crate) fn body(&self) -> Value {
        self.body.clone()
    }
}

impl Plan {
    /// A plan whose accounts nobody had before `now`; `run` tells it from others
    /// that begin at the same moment.
    pub(crate) fn new(shape: Shape, now: Instant, run: u32) -> Self {
        let run = format!("{}-{run:08x}", now.as_seconds());
        let hour = (now.as_millis() + AHEAD_MS) / HOUR_MS * HOUR_MS;
        let account = |number: usize| Account {
            login_id: format!("load-{run}-{number}"),
            password: format!("load password {run} {number}"),
            member_id: String::new(),
            doors: Semaphore::new(DOORS),
        };
        let accounts = (0..ACCOUNTS).map(account).collect();
        Self { shape, run, first_slot: Instant::from_millis(hour), accounts }
    }

    /// Notes the member of an account.
    pub(crate) fn signed_up(&mut self, account: usize, member_id: String) {
        self.accounts[account].member_id = member_id;
    }

    /// The accounts.
    pub(crate) fn accounts(&self) -> &[Account] {
        &self.accounts
    }

    /// The account of a user.
    pub(crate) fn account_of(&self, user: usize) -> usize {
        user % ACCOUNTS
    }

    /// When a user arrives, from the beginning.
    pub(crate) fn arrives_after(&self, user: usize) -> Duration {
        let share = user as f64 / self.shape.users as f64;
        self.shape.ramp.mul_f64(share)
    }

    /// The time slot that only this user has in its account, and that only in
    /// this turn.
    pub(crate) fn slot(&self, user: usize, turn: usize) -> usize {
        user / ACCOUNTS * self.shape.loops + turn
    }

    /// The key under which a schedule is created once.
    pub(crate) fn idempotency_key(&self, user: usize, turn: usize) -> String {
        format!("load-{}-{user}-{turn}", self.run)
    }

    /// What the schedule in `slot` says after so many updates.
    pub(crate) fn content(&self, slot: usize, updates: u32) -> Content {
        let slot_ms = i64::try_from(slot).unwrap_or(i64::MAX).saturating_mul(HOUR_MS);
        let start = self.first_slot.plus_millis(slot_ms + i64::from(updates % STEPS) * STEP_MS);
        let title = format!("Meeting {slot}, update {updates}");
        let body = json!({
            "title": title,
            "contents": "Everybody brings what was written since the last time.",
            "startTime": start.to_string(),
            "endTime": start.plus_millis(LENGTH_MS).to_string(),
            "progressStatus": if updates == 0 { "PLANNED" } else { "IN_PROGRESS" },
            "remindBeforeMinutes": 30,
        });
        Content { title, start, body }
    }

    /// From the first slot to the end of the last one.
    pub(crate) fn range(&self) -> (Instant, Instant) {
        let slots = i64::try_from(self.shape.slots_per_account()).unwrap_or(i64::MAX);
        (self.first_slot, self.first_slot.plus_millis(slots.saturating_mul(HOUR_MS)))
    }

    /// Requests that read everything back, about: a log-in and two lists for
    /// each account, in pages of a hundred.
    pub(crate) fn read_back_requests(&self) -> u64 {
        3 * ACCOUNTS as u64 + self.requests() / 60
    }

    /// Requests of the load, without log-ins.
    pub(crate) fn requests(&self) -> u64 {
        (self.shape.users * self.shape.loops) as u64
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeSet;

    use super::*;

    pub(crate) fn plan(users: usize, loops: usize) -> Plan {
        let second = Duration::from_secs(1);
        let think = Think { least: second, most: second * 5 };
        let shape = Shape { users, loops, think, ramp: second * 60 };
        Plan::new(shape, Instant::from_millis(1_893_456_000_001), 7)
    }

    #[test]
    fn every_user_has_slots_of_its_own_within_its_account() {
        let plan = plan(490, 4);
        let mut taken = BTreeSet::new();
        for user in 0..490 {
            for turn in 0..4 {
                assert!(taken.insert((plan.account_of(user), plan.slot(user, turn))));
            }
        }
        assert!(taken.iter().all(|(_, slot)| *slot < plan.shape.slots_per_account()));
        assert_eq!((plan.shape.slots_per_account(), plan.requests()), (68, 1_960));
    }

    #[test]
    fn a_schedule_stays_in_its_slot_however_often_it_is_moved() {
        let plan = plan(1, 1);
        let time =
            |content: &Content, name: &str| content.body()[name].as_str().unwrap().to_owned();
        let next_slot = plan.content(1, 0);
        for updates in 0..7 {
            let content = plan.content(0, updates);
            assert!(content.start >= plan.content(0, 0).start);
            assert!(time(&content, "endTime") <= time(&next_slot, "startTime"));
        }
        assert_eq!(time(&plan.content(0, 1), "startTime"), "2030-01-03T00:15:00Z");
        assert_eq!(plan.content(5, 2).title, "Meeting 5, update 2");
        assert!(plan.content(0, 0).start >= plan.range().0);
        assert!(time(&plan.content(0, 2), "endTime") <= plan.range().1.to_string());
    }

    #[test]
    fn users_arrive_evenly_over_the_ramp() {
        let plan = plan(60, 1);
        assert_eq!(plan.arrives_after(0), Duration::ZERO);
        assert_eq!(plan.arrives_after(30), Duration::from_secs(30));
    }

    #[test]
    fn thinking_is_between_its_bounds_and_on_average_in_the_middle() {
        let think = plan(1, 1).shape.think;
        let mut random = fastrand::Rng::with_seed(1);
        let picked: Vec<Duration> = (0..1_000).map(|_| think.pick(&mut random)).collect();
        assert!(picked.iter().all(|time| (think.least..=think.most).contains(time)));
        let mean = picked.iter().sum::<Duration>() / 1_000;
        assert!(mean.abs_diff(think.mean()) < Duration::from_millis(100), "{mean:?}");
    }

    #[test]
    fn logins_are_what_sign_up_takes_and_differ_between_runs() {
        let plan = plan(1, 1);
        let login = &plan.accounts()[29].login_id;
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!((3..=64).contains(&login.len()) && login.chars().all(allowed), "{login}");
        let other = Plan::new(plan.shape, Instant::from_millis(1_893_456_000_001), 8);
        assert_ne!(*login, other.accounts()[29].login_id);
    }
}
