//! What waits to be told: how much, second by second, and how long it takes
//! until nothing does.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior};

use crate::call::Call;
use crate::invariants::Invariant;
use crate::record::three_digits;
use crate::status::{Status, Waiting};

/// How often to look at the status page.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Looks in a row that must find nothing: between two of them a record may be
/// on its way from a stream to a queue.
const EMPTY_LOOKS: u32 = 2;
/// When it has not become less for so long, it will not. A message that was not
/// told comes back after 90 seconds.
const STALLED_AFTER: Duration = Duration::from_secs(200);
/// The least that a backlog must have grown by to be called growing.
const NOISE: f64 = 10.0;

/// What waited in one second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Depth {
    /// Which second of the run.
    pub(crate) second: u64,
    /// Records in streams and messages in queues.
    pub(crate) depth: u64,
}

/// Looks at the status page, from the beginning of the load on until it is
/// dropped.
pub(crate) struct Watch {
    started: Instant,
    looks: Arc<Mutex<Vec<Look>>>,
    task: JoinHandle<()>,
}

/// What one look found.
#[derive(Clone, Copy)]
struct Look {
    at: Instant,
    waiting: Waiting,
}

impl Watch {
    /// Begins with second 0. `None` if there is no page to look at.
    pub(crate) async fn start(call: Arc<dyn Call>) -> Option<Self> {
        waiting(&*call).await?;
        let started = Instant::now();
        let looks = Arc::new(Mutex::new(Vec::new()));
        let task = tokio::spawn(watch(call, Arc::clone(&looks)));
        Some(Self { started, looks, task })
    }

    /// Waits until nothing waits in streams and queues, and says how long that
    /// took from `since` on, which may lie in the past.
    pub(crate) async fn until_empty(&self, since: Instant) -> Emptied {
        let (mut seen, mut empty, mut empty_at) = (0, 0, since);
        let (mut least, mut latest, mut lessened_at) = (u64::MAX, Waiting::default(), since);
        loop {
            for look in self.looks_from(seen) {
                seen += 1;
                latest = look.waiting;
                let depth = latest.depth();
                if look.at < since {
                    continue;
                }
                empty_at = if empty == 0 { look.at } else { empty_at };
                empty = if depth == 0 { empty + 1 } else { 0 };
                if empty == EMPTY_LOOKS {
                    return Emptied::After(empty_at - since);
                }
                if depth < least {
                    (least, lessened_at) = (depth, look.at);
                }
            }
            if lessened_at.elapsed() >= STALLED_AFTER {
                return Emptied::Stalled(latest);
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    fn looks_from(&self, place: usize) -> Vec<Look> {
        let looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        looks.iter().skip(place).copied().collect()
    }

    /// What waited, by the first look in each second. Seconds in which the page
    /// did not answer are not there.
    pub(crate) fn stop(self) -> Vec<Depth> {
        let mut depths: Vec<Depth> = Vec::new();
        for look in self.looks_from(0) {
            let second = (look.at - self.started).as_secs();
            if depths.last().is_none_or(|last| last.second < second) {
                depths.push(Depth { second, depth: look.waiting.depth() });
            }
        }
        depths
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn watch(call: Arc<dyn Call>, looks: Arc<Mutex<Vec<Look>>>) {
    let mut times = tokio::time::interval(LOOK_EVERY);
    times.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        let at = times.tick().await;
        if let Some(waiting) = waiting(&*call).await {
            looks.lock().unwrap_or_else(PoisonError::into_inner).push(Look { at, waiting });
        }
    }
}

async fn waiting(call: &dyn Call) -> Option<Waiting> {
    Status::read(call).await?.waiting()
}

/// How waiting for the end went.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Emptied {
    /// Nothing waited any more.
    After(Duration),
    /// So much is still there, and has not become less for minutes.
    Stalled(Waiting),
    /// There is no page that says so.
    Unseen,
}

impl Emptied {
    /// Seconds until nothing waited, if it ever did.
    pub(crate) fn seconds(self) -> Option<f64> {
        match self {
            Self::After(time) => Some(three_digits(time.as_secs_f64())),
            Self::Stalled(_) | Self::Unseen => None,
        }
    }

    /// Streams and queues must be empty at the end.
    pub(crate) fn invariant(self) -> Invariant {
        const NAME: &str = "nothing unsent";
        match self {
            Self::After(_) => Invariant::new(NAME, true, "streams and queues are empty".into()),
            Self::Stalled(Waiting { records, messages }) => {
                let detail =
                    format!("{records} records and {messages} messages stay where they are");
                Invariant::new(NAME, false, detail)
            }
            Self::Unseen => Invariant::unchecked(
                NAME,
                "there is no status page; waited until what was told became no more",
            ),
        }
    }
}

/// Whether the backlog grew through a run.
///
/// It did if more waited on average in the last quarter of the load than in the
/// second one (the first is that in which users arrive), by more than came in
/// within one second, and by more than a hundredth of what came in between. A
/// relay that keeps up has a backlog that goes up and down by what its batches
/// hold; one that does not falls behind by part of all that comes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Growth {
    /// The most that waited.
    pub(crate) peak: u64,
    /// In which second that was.
    pub(crate) peak_second: u64,
    /// What waited on average in the second quarter.
    pub(crate) second_quarter: f64,
    /// What waited on average in the last one.
    pub(crate) last_quarter: f64,
    /// What it may have grown by without being called growing.
    pub(crate) tolerance: f64,
    /// Whether it grew.
    pub(crate) grew: bool,
}

impl Growth {
    /// Of a load that took so many seconds and made so many events. `None` if
    /// nobody looked in one of the two quarters.
    pub(crate) fn of(depths: &[Depth], load_s: f64, events: u64) -> Option<Self> {
        let peak = depths.iter().max_by_key(|depth| depth.depth)?;
        let mean_of = |quarter: f64| {
            let times = load_s / 4.0 * quarter..load_s / 4.0 * (quarter + 1.0);
            let within = depths.iter().filter(|depth| times.contains(&(depth.second as f64)));
            let (sum, count) =
                within.fold((0, 0), |(sum, count), depth| (sum + depth.depth, count + 1));
            (count > 0).then(|| sum as f64 / f64::from(count))
        };
        let (second_quarter, last_quarter) = (mean_of(1.0)?, mean_of(3.0)?);
        let (a_second, between) = (events as f64 / load_s, events as f64 / 2.0);
        let tolerance = a_second.max(between / 100.0).max(NOISE);
        Some(Self {
            peak: peak.depth,
            peak_second: peak.second,
            second_quarter: three_digits(second_quarter),
            last_quarter: three_digits(last_quarter),
            tolerance: three_digits(tolerance),
            grew: last_quarter - second_quarter > tolerance,
        })
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;

    use super::*;
    use crate::call::{Answer, Lost, Request};

    /// A status page on which so many records wait, the last number for ever.
    struct Page(Mutex<Vec<u64>>);

    #[async_trait]
    impl Call for Page {
        async fn call(&self, _: &Request) -> Result<Answer, Lost> {
            let mut depths = self.0.lock().unwrap();
            let records = if depths.len() > 1 { depths.remove(0) } else { depths[0] };
            let lag = serde_json::json!({ "records": records });
            let page = serde_json::json!({ "functions": {}, "stream_lag": { "relay T": lag } });
            Ok(Answer { status: 200, body: page.to_string().into_bytes() })
        }
    }

    fn page(depths: &[u64]) -> Page {
        Page(Mutex::new(depths.to_vec()))
    }

    async fn watch(depths: &[u64]) -> Watch {
        Watch::start(Arc::new(page(depths))).await.unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn empty_is_what_two_looks_find_empty() {
        let watch = watch(&[9, 5, 0, 3, 0, 0]).await;
        let emptied = watch.until_empty(Instant::now()).await;
        assert_eq!(emptied, Emptied::After(LOOK_EVERY * 3));
        assert_eq!(emptied.seconds(), Some(0.75));
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_empty_before_anybody_asked_is_known() {
        let watch = watch(&[9, 0, 0, 2, 0]).await;
        let end_of_load = Instant::now() + LOOK_EVERY * 2;
        tokio::time::sleep(LOOK_EVERY * 20).await;
        assert_eq!(watch.until_empty(end_of_load).await, Emptied::After(LOOK_EVERY));
    }

    #[tokio::test(start_paused = true)]
    async fn what_does_not_become_less_is_given_up() {
        let started = Instant::now();
        let emptied = watch(&[9, 8, 7]).await.until_empty(started).await;
        assert_eq!(emptied, Emptied::Stalled(Waiting { records: 7, messages: 0 }));
        assert_eq!(started.elapsed(), STALLED_AFTER + LOOK_EVERY);
        assert!(emptied.invariant().is_broken());
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_page_nobody_sees_anything() {
        struct Nothing;
        #[async_trait]
        impl Call for Nothing {
            async fn call(&self, _: &Request) -> Result<Answer, Lost> {
                Ok(Answer { status: 404, body: Vec::new() })
            }
        }
        assert!(Watch::start(Arc::new(Nothing)).await.is_none());
        assert_eq!(Emptied::Unseen.invariant().held, None);
    }

    #[tokio::test(start_paused = true)]
    async fn every_second_is_told_by_its_first_look() {
        let watch = watch(&[0, 1, 9, 9, 9, 2, 9, 9, 9, 3]).await;
        tokio::time::sleep(Duration::from_millis(2_100)).await;
        let depth = |second, depth| Depth { second, depth };
        assert_eq!(watch.stop(), [depth(0, 1), depth(1, 2), depth(2, 3)]);
    }

    /// 400 seconds of load at 100 events a second.
    fn growth(depth_at: impl Fn(u64) -> u64) -> Growth {
        let depths = (0..420).map(|second| Depth { second, depth: depth_at(second) });
        Growth::of(&depths.collect::<Vec<_>>(), 400.0, 40_000).unwrap()
    }

    #[test]
    fn a_relay_that_falls_behind_has_a_growing_backlog() {
        let behind = growth(|second| second * 2);
        assert!(behind.grew, "{behind:?}");
        assert_eq!((behind.second_quarter, behind.last_quarter), (299.0, 699.0));
        assert_eq!((behind.peak, behind.peak_second), (838, 419));
    }

    #[test]
    fn a_backlog_that_goes_up_and_down_does_not_grow() {
        let steady = growth(|second| 100 + second % 7 * 20);
        assert!(!steady.grew && steady.tolerance == 200.0, "{steady:?}");
        let high_at_first = growth(|second| 5_000_u64.saturating_sub(second * 20));
        assert!(!high_at_first.grew && high_at_first.peak == 5_000);
    }

    #[test]
    fn a_few_that_wait_in_a_small_run_are_noise() {
        let depths = [0, 1, 2, 9].map(|second| Depth { second, depth: second });
        assert!(!Growth::of(&depths, 4.0, 12).is_some_and(|growth| growth.grew));
        assert_eq!(Growth::of(&depths[..2], 4.0, 12), None);
        assert_eq!(Growth::of(&[], 4.0, 12), None);
    }
}
