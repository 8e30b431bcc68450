//! Streams: what was changed, as Lambda hands it to a function.
//!
//! The embedded database writes a record beside each change. They are read here
//! on a connection of their own, which never waits for a writer and never makes
//! one wait, and by an index, so that a backlog costs nothing. Records have the
//! cloud's time: with a clock other than the machine's, a trigger stamps each with it.

use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use platform::clock::Clock;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::{Map, Value, json};

use super::StorageError;
use crate::template::{REGION, Table, stream_arn};

/// Turns the number of a record here into one of 21 digits, as DynamoDB's are.
const FIRST_SEQUENCE_NUMBER: u128 = 100_000_000_000_000_000_000;

/// How long to wait for a write of somebody else to end.
const PATIENCE: Duration = Duration::from_secs(5);

/// How many records are trimmed at once, so that writers wait for few.
const TRIMMED_AT_ONCE: usize = 1_000;

/// The records of every table's stream.
pub(crate) struct Streams {
    connection: Mutex<Connection>,
    stamp: Option<Stamp>,
}

/// One change of one item.
#[derive(Debug, PartialEq)]
pub(crate) struct Record {
    /// Its place in the stream.
    pub(crate) sequence: i64,
    /// When the change was made, by the cloud's clock.
    pub(crate) made_at_s: i64,
    /// About how many bytes it has.
    pub(crate) size: usize,
    /// It, as Lambda has it
    /// ([example](https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html));
    /// null if nobody wanted it.
    pub(crate) json: Value,
}

/// A record's place in the form that functions see.
pub(crate) fn sequence_number(sequence: i64) -> String {
    let sequence = u128::try_from(sequence).unwrap_or_default();
    (FIRST_SEQUENCE_NUMBER + sequence).to_string()
}

impl Streams {
    pub(super) fn open(path: &Path, clock: &Clock) -> Result<Self, StorageError> {
        let connection = connect(path)?;
        let stamp = match clock {
            Clock::System => {
                connection.execute_batch("DROP TRIGGER IF EXISTS local_stamp")?;
                None
            }
            Clock::Manual(_) | Clock::Tokio { .. } => {
                Some(Stamp::install(connect(path)?, clock.clone())?)
            }
        };
        Ok(Self { connection: Mutex::new(connection), stamp })
    }

    /// Each write of a table with a stream looks for the stream's last record,
    /// which takes longer the more there are, unless there is an index.
    pub(super) fn add_index(&self) -> Result<(), StorageError> {
        self.connection().execute_batch(
            "CREATE INDEX IF NOT EXISTS local_last_record
             ON _stream_records(table_name, CAST(sequence_number AS INTEGER));",
        )?;
        Ok(())
    }

    /// Before a write: what it records is of this moment.
    pub(super) fn keep_time(&self) {
        if let Some(stamp) = &self.stamp {
            stamp.keep_time();
        }
    }

    /// Up to `most` records of a table's stream after `sequence`, in order. Of
    /// those whose keys are not `wanted` nothing is read but their places.
    pub(crate) fn read(
        &self,
        table: &Table,
        after: i64,
        most: usize,
        wanted: impl Fn(&Value) -> bool,
    ) -> Result<Vec<Record>, StorageError> {
        let connection = self.connection();
        let mut statement = connection.prepare_cached(
            "SELECT CAST(sequence_number AS INTEGER), created_at, event_id, event_name,
                    keys_json, new_image, old_image, user_identity
             FROM _stream_records
             WHERE table_name = ?1 AND CAST(sequence_number AS INTEGER) > ?2
             ORDER BY CAST(sequence_number AS INTEGER) LIMIT ?3",
        )?;
        let view = table.definition["StreamSpecification"]["StreamViewType"].as_str();
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let records = statement.query_map(params![table.name, after, most], |row| {
            record(row, &table.name, view.unwrap_or_default(), &wanted)
        })?;
        Ok(records.collect::<Result<_, _>>()?)
    }

    /// The place of the newest record, or 0.
    pub(crate) fn last(&self, table: &str) -> Result<i64, StorageError> {
        last(&self.connection(), table)
    }

    /// How many records come after `sequence`, and when the first was made.
    pub(crate) fn backlog(
        &self,
        table: &str,
        after: i64,
    ) -> Result<(u64, Option<i64>), StorageError> {
        let connection = self.connection();
        let count: i64 = connection
            .prepare_cached(
                "SELECT COUNT(*) FROM _stream_records
                 WHERE table_name = ?1 AND CAST(sequence_number AS INTEGER) > ?2",
            )?
            .query_row(params![table, after], |row| row.get(0))?;
        let oldest = connection
            .prepare_cached(
                "SELECT created_at FROM _stream_records
                 WHERE table_name = ?1 AND CAST(sequence_number AS INTEGER) > ?2
                 ORDER BY CAST(sequence_number AS INTEGER) LIMIT 1",
            )?
            .query_row(params![table, after], |row| row.get(0))
            .optional()?;
        Ok((u64::try_from(count).unwrap_or_default(), oldest))
    }

    /// Removes the records up to `sequence`, but never the last one, which the
    /// next record's number is counted from.
    pub(crate) fn trim(&self, table: &str, up_to: i64) -> Result<(), StorageError> {
        let connection = self.connection();
        let up_to = up_to.min(last(&connection, table)? - 1);
        loop {
            let removed = connection
                .prepare_cached(
                    "DELETE FROM _stream_records WHERE id IN (
                         SELECT id FROM _stream_records
                         WHERE table_name = ?1 AND CAST(sequence_number AS INTEGER) <= ?2
                         LIMIT ?3)",
                )?
                .execute(params![table, up_to, TRIMMED_AT_ONCE])?;
            if removed < TRIMMED_AT_ONCE {
                return Ok(());
            }
        }
    }

    /// The connection. While somebody holds it, nobody reads a record.
    pub(super) fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn last(connection: &Connection, table: &str) -> Result<i64, StorageError> {
    let last: Option<i64> = connection
        .prepare_cached(
            "SELECT MAX(CAST(sequence_number AS INTEGER)) FROM _stream_records
             WHERE table_name = ?1",
        )?
        .query_row([table], |row| row.get(0))?;
    Ok(last.unwrap_or_default())
}

fn connect(path: &Path) -> Result<Connection, StorageError> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(PATIENCE)?;
    connection.execute_batch("PRAGMA synchronous = NORMAL")?;
    Ok(connection)
}

fn record(
    row: &Row<'_>,
    table: &str,
    view: &str,
    wanted: impl Fn(&Value) -> bool,
) -> rusqlite::Result<Record> {
    let (sequence, made_at_s): (i64, i64) = (row.get(0)?, row.get(1)?);
    let keys = row.get_ref(4)?.as_str_or_null()?.unwrap_or_default();
    let mut size = keys.len();
    let keys: Value = serde_json::from_str(keys).unwrap_or_default();
    if !wanted(&keys) {
        return Ok(Record { sequence, made_at_s, size: 0, json: Value::Null });
    }
    let (id, name): (Option<String>, String) = (row.get(2)?, row.get(3)?);
    let mut change = Map::from_iter([
        ("ApproximateCreationDateTime".to_owned(), json!(made_at_s)),
        ("SequenceNumber".to_owned(), json!(sequence_number(sequence))),
        ("StreamViewType".to_owned(), json!(view)),
    ]);
    change.insert("Keys".to_owned(), keys);
    for (column, field) in [(5, "NewImage"), (6, "OldImage")] {
        if let Some(text) = row.get_ref(column)?.as_str_or_null()? {
            size += text.len();
            change.insert(field.to_owned(), serde_json::from_str(text).unwrap_or_default());
        }
    }
    change.insert("SizeBytes".to_owned(), json!(size));
    let mut json = json!({
        "eventID": id.unwrap_or_else(|| sequence.to_string()),
        "eventName": name,
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": REGION,
        "eventSourceARN": stream_arn(table),
        "dynamodb": change,
    });
    if let Some(identity) = row.get::<_, Option<String>>(7)? {
        json["userIdentity"] = serde_json::from_str(&identity).unwrap_or_default();
    }
    Ok(Record { sequence, made_at_s, size, json })
}

/// Gives records the time of a clock that is not the machine's.
struct Stamp {
    connection: Mutex<Connection>,
    clock: Clock,
    at_s: AtomicI64,
}

impl Stamp {
    fn install(connection: Connection, clock: Clock) -> Result<Self, StorageError> {
        let at_s = clock.now().as_seconds();
        connection.execute_batch(
            "CREATE TABLE IF NOT EXISTS local_clock (id INTEGER PRIMARY KEY, at_s INTEGER);
             CREATE TRIGGER IF NOT EXISTS local_stamp AFTER INSERT ON _stream_records BEGIN
                 UPDATE _stream_records SET created_at = (SELECT at_s FROM local_clock)
                 WHERE id = NEW.id;
             END;",
        )?;
        set(&connection, at_s)?;
        Ok(Self { connection: Mutex::new(connection), clock, at_s: AtomicI64::new(at_s) })
    }

    /// Writes the clock's second down when it is another one.
    fn keep_time(&self) {
        let now_s = self.clock.now().as_seconds();
        if self.at_s.swap(now_s, Ordering::SeqCst) != now_s {
            let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
            if let Err(error) = set(&connection, now_s) {
                tracing::error!(%error, "cannot tell the stream the time");
            }
        }
    }
}

fn set(connection: &Connection, at_s: i64) -> Result<(), StorageError> {
    connection.execute("INSERT OR REPLACE INTO local_clock VALUES (1, ?1)", [at_s])?;
    Ok(())
}
