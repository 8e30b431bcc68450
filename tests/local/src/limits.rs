//! The limits of the real services, in front of the local ones.
//!
//! A database in this process answers at once and never says no. DynamoDB takes
//! its time, throttles a partition that takes too much, and refuses whoever
//! meets a running transaction; and any answer can be late or lost. [`Limits`]
//! says which of that happens. All of it comes from one seed, so a run that is
//! alone on its clock repeats.
//!
//! | what | as the service has it |
//! |---|---|
//! | [latency](Limits::latency) | single-digit milliseconds a call ([source](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Introduction.html)) |
//! | [transaction](Limits::transaction) | it holds its items for some 10 ms, in which it [conflicts](Limits::conflicts) with others ([source](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html#transaction-conflict-handling)) |
//! | [partitions](Limits::partitions) | 1,000 write and 3,000 read units a second each ([source](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html)) |
//! | [lost](Limits::lost), [errors](Limits::errors), [slow](Limits::slow) | a failure after which nobody knows ([source](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html)) |
//! | [queue throttles](Limits::queue_throttles) | `RequestThrottled` ([source](https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/CommonErrors.html)) |
//! | [again](Limits::again) | batches that succeeded come a second time ([source](https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html)) |
//!
//! What is not modelled: partitions do not split under load, tables do not
//! grow beyond what they began with, and a transaction that met a conflict is
//! billed nothing.

mod answers;
mod database;
mod footprint;
mod hot_keys;
mod partitions;
mod queue;
mod sample;
mod tally;
#[cfg(test)]
mod tests;

use std::str::FromStr;
use std::time::Duration;

pub(crate) use database::Limited;
pub(crate) use queue::LimitedQueue;
pub(crate) use sample::Sampled;

/// What is limited and what fails, and how often.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// How long a call takes.
    pub latency: Span,
    /// How long a transaction holds its items, beside that.
    pub transaction: Span,
    /// Over how many partitions the keys of each table and index are spread; 0
    /// lifts the limits of throughput.
    pub partitions: u32,
    /// Whether items that a transaction holds refuse others.
    pub conflicts: bool,
    /// Which part of the answers is lost after the call was applied.
    pub lost: f64,
    /// Which part of the calls is answered with a 500: half of them after they
    /// were applied.
    pub errors: f64,
    /// Which part of the answers takes [`SLOW`] longer.
    pub slow: f64,
    /// Which part of the calls to queues is throttled.
    pub queue_throttles: f64,
    /// Which part of the batches from streams and queues comes again although
    /// it was handled.
    pub again: f64,
}

/// How much longer a slow answer takes: so long that who asked has given up.
pub const SLOW: Duration = Duration::from_secs(2);

impl Default for Limits {
    /// What the services always do, and no failures. A new table on demand
    /// takes 4,000 write and 12,000 read units a second, which four partitions
    /// do ([source](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/on-demand-capacity-mode.html#on-demand-capacity-mode-initial)).
    fn default() -> Self {
        Self {
            latency: Span::of_ms(2, 4),
            transaction: Span::of_ms(10, 15),
            partitions: 4,
            conflicts: true,
            lost: 0.0,
            errors: 0.0,
            slow: 0.0,
            queue_throttles: 0.0,
            again: 0.0,
        }
    }
}

/// From how long to how long, any of it as likely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    least_us: u64,
    most_us: u64,
}

impl Span {
    /// From `least` to `most` milliseconds.
    pub const fn of_ms(least: u64, most: u64) -> Self {
        Self { least_us: least * 1_000, most_us: most * 1_000 }
    }

    fn draw(self, random: &mut fastrand::Rng) -> Duration {
        Duration::from_micros(random.u64(self.least_us..=self.most_us.max(self.least_us)))
    }
}

impl std::fmt::Display for Span {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}..{}", self.least_us / 1_000, self.most_us / 1_000)
    }
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let ms = |text: &str| text.parse().ok().filter(|ms| *ms <= 60_000);
        let (least, most) = text.split_once("..").unwrap_or((text, text));
        let span = ms(least).zip(ms(most)).filter(|(least, most)| least <= most);
        let span = span.map(|(least, most)| Self::of_ms(least, most));
        span.ok_or_else(|| format!("expected milliseconds, as in 5 or 2..4, not {text:?}"))
    }
}

/// The words that the text form understands.
const WORDS: &str = "latency, transaction, partitions, conflicts, lost, errors, slow, \
     queue-throttles, again";

/// As in `partitions=40,lost=0.01`: what is not named stays as it is by default.
impl FromStr for Limits {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut limits = Self::default();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').ok_or_else(|| {
                format!("expected name=value, not {part:?}; the names are {WORDS}")
            })?;
            limits.set(name, value).map_err(|wrong| format!("{name}: {wrong}"))?;
        }
        Ok(limits)
    }
}

impl Limits {
    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "latency" => self.latency = value.parse()?,
            "transaction" => self.transaction = value.parse()?,
            "partitions" => self.partitions = value.parse().map_err(|_| "expected a number")?,
            "conflicts" => {
                self.conflicts = match value {
                    "on" => true,
                    "off" => false,
                    _ => return Err("expected on or off".to_owned()),
                }
            }
            "lost" => self.lost = part(value)?,
            "errors" => self.errors = part(value)?,
            "slow" => self.slow = part(value)?,
            "queue-throttles" => self.queue_throttles = part(value)?,
            "again" => self.again = part(value)?,
            _ => return Err(format!("there is no such limit; the names are {WORDS}")),
        }
        Ok(())
    }
}

fn part(text: &str) -> Result<f64, String> {
    let part = text.parse().ok().filter(|part| (0.0..=1.0).contains(part));
    part.ok_or_else(|| "expected a part from 0 to 1: 0.01 is one of a hundred".to_owned())
}

impl std::fmt::Display for Limits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { latency, transaction, partitions, conflicts, .. } = self;
        let conflicts = if *conflicts { "on" } else { "off" };
        write!(f, "latency={latency},transaction={transaction},partitions={partitions}")?;
        write!(f, ",conflicts={conflicts}")?;
        for (name, part) in [
            ("lost", self.lost),
            ("errors", self.errors),
            ("slow", self.slow),
            ("queue-throttles", self.queue_throttles),
            ("again", self.again),
        ] {
            if part > 0.0 {
                write!(f, ",{name}={part}")?;
            }
        }
        Ok(())
    }
}

/// What is to become of one call.
#[derive(Clone, Copy, Debug)]
struct Fate {
    /// How long it takes to the service, and the answer back.
    way: Duration,
    /// How long it holds its items, if it is a transaction.
    held: Duration,
    trouble: Trouble,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    None,
    LostAnswer,
    SlowAnswer,
    /// A 500, and nothing was done.
    ErrorBefore,
    /// A 500, and all was done.
    ErrorAfter,
}

impl Limits {
    /// Draws as many numbers for every call, so that one switch does not turn
    /// the dice of the others.
    fn fate(&self, random: &mut fastrand::Rng) -> Fate {
        let way = self.latency.draw(random) / 2;
        let held = self.transaction.draw(random);
        let (dice, is_before) = (random.f64(), random.bool());
        let (lost, errors) = (self.lost, self.lost + self.errors);
        let trouble = match dice {
            dice if dice < lost => Trouble::LostAnswer,
            dice if dice < errors && is_before => Trouble::ErrorBefore,
            dice if dice < errors => Trouble::ErrorAfter,
            dice if dice < errors + self.slow => Trouble::SlowAnswer,
            _ => Trouble::None,
        };
        Fate { way, held, trouble }
    }
}
