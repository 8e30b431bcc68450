//! What a request costs: DynamoDB calls, capacity units, password hashes. And
//! what it leaves open: writes of which nobody knows whether they were applied.
//!
//! DynamoDB reports the units of every call that succeeds. It reports none for
//! a write that it refused, although it bills those too
//! ([source](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html)),
//! so units of refusals are missing here while their calls are counted.

use std::sync::{Mutex, PoisonError};

/// Calls and units of one request, or of many added up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Usage {
    /// Calls by table and action, as in `("Enrollment", "TransactWriteItems")`.
    pub calls: Vec<Calls>,
    /// Read capacity units.
    pub read_units: f64,
    /// Write capacity units.
    pub write_units: f64,
    /// Password hashes, each of which keeps a processor busy for a while.
    pub password_hashes: u64,
    /// Writes whose outcome was never learned.
    pub unknown_outcomes: u64,
    /// Writes that were not made although the request was answered.
    pub dropped_writes: u64,
}

/// How often one action was called on one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calls {
    /// The table's name.
    pub table: String,
    /// The action, as IAM names it without its service.
    pub action: &'static str,
    /// How often.
    pub count: u64,
}

impl Usage {
    /// All calls together.
    pub fn total_calls(&self) -> u64 {
        self.calls.iter().map(|calls| calls.count).sum()
    }

    /// Calls of one action on any table.
    pub fn calls_of(&self, action: &str) -> u64 {
        self.calls.iter().filter(|calls| calls.action == action).map(|calls| calls.count).sum()
    }

    /// Adds another request's usage.
    pub fn add(&mut self, other: &Self) {
        for calls in &other.calls {
            self.count(&calls.table, calls.action, calls.count);
        }
        self.read_units += other.read_units;
        self.write_units += other.write_units;
        self.password_hashes += other.password_hashes;
        self.unknown_outcomes += other.unknown_outcomes;
        self.dropped_writes += other.dropped_writes;
    }

    fn count(&mut self, table: &str, action: &'static str, count: u64) {
        let known = self.calls.iter_mut().find(|c| c.action == action && c.table == table);
        match known {
            Some(calls) => calls.count += count,
            None => self.calls.push(Calls { table: table.to_owned(), action, count }),
        }
    }
}

/// Counts for one execution environment, which serves one request at a time.
#[derive(Debug, Default)]
pub struct Meter(Mutex<Usage>);

impl Meter {
    /// A call was made.
    pub fn called(&self, table: &str, action: &'static str) {
        self.change(|usage| usage.count(table, action, 1));
    }

    /// Read units were consumed.
    pub fn read(&self, units: f64) {
        self.change(|usage| usage.read_units += units);
    }

    /// Write units were consumed.
    pub fn wrote(&self, units: f64) {
        self.change(|usage| usage.write_units += units);
    }

    /// A password was hashed.
    pub fn hashed_password(&self) {
        self.change(|usage| usage.password_hashes += 1);
    }

    /// The outcome of a write will not be learned.
    pub fn lost_track(&self) {
        self.change(|usage| usage.unknown_outcomes += 1);
    }

    /// A write was given up, and the request is answered all the same.
    pub fn dropped(&self) {
        self.change(|usage| usage.dropped_writes += 1);
    }

    /// What was counted since it was last taken.
    pub fn take(&self) -> Usage {
        self.change(std::mem::take)
    }

    fn change<T>(&self, change: impl FnOnce(&mut Usage) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_kept_apart_by_table_and_action_and_taken_once() {
        let meter = Meter::default();
        meter.called("A", "GetItem");
        meter.called("A", "GetItem");
        meter.called("B", "GetItem");
        meter.called("A", "Query");
        meter.read(1.5);
        meter.wrote(8.0);
        meter.lost_track();
        meter.dropped();
        let usage = meter.take();
        assert_eq!(usage.calls.len(), 3);
        assert_eq!((usage.total_calls(), usage.calls_of("GetItem")), (4, 3));
        assert_eq!((usage.read_units, usage.write_units), (1.5, 8.0));
        assert_eq!((usage.unknown_outcomes, usage.dropped_writes), (1, 1));
        let mut twice = usage.clone();
        twice.add(&usage);
        assert_eq!((twice.unknown_outcomes, twice.dropped_writes), (2, 2));
        assert_eq!(meter.take(), Usage::default());
    }
}
