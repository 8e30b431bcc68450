//! The file that the messages lie in.

use std::path::Path;

use rusqlite::Connection;

use crate::dynamodb::StorageError;

/// One row per message in `messages`: what was received and not deleted is
/// hidden until `visible_at_ms`. In a FIFO queue `receives` above 0 stands at
/// the front of each group only.
///
/// `groups` has a row for each group of a FIFO queue that has messages: 0 in
/// `blocked_until_ms` means that its first message may go. `deduplications`
/// outlive their messages.
const TABLES: &str = "
CREATE TABLE IF NOT EXISTS messages (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    queue TEXT NOT NULL,
    message_id TEXT NOT NULL,
    message_group TEXT,
    deduplication_id TEXT,
    body TEXT NOT NULL,
    body_md5 TEXT NOT NULL,
    attributes TEXT,
    trace_header TEXT,
    dead_letter_of TEXT,
    sent_at_ms INTEGER NOT NULL,
    visible_at_ms INTEGER NOT NULL,
    first_received_at_ms INTEGER,
    receives INTEGER NOT NULL DEFAULT 0,
    receives_before INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS messages_by_visibility
    ON messages (queue, visible_at_ms, sequence, receives);
CREATE INDEX IF NOT EXISTS messages_by_age ON messages (queue, sent_at_ms);
CREATE INDEX IF NOT EXISTS messages_of_group
    ON messages (queue, message_group, sequence) WHERE message_group IS NOT NULL;
CREATE INDEX IF NOT EXISTS received_messages_of_group
    ON messages (queue, message_group, visible_at_ms)
    WHERE message_group IS NOT NULL AND receives > 0;
CREATE TABLE IF NOT EXISTS groups (
    queue TEXT NOT NULL,
    message_group TEXT NOT NULL,
    first_sequence INTEGER NOT NULL,
    blocked_until_ms INTEGER NOT NULL,
    PRIMARY KEY (queue, message_group)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS groups_by_readiness
    ON groups (queue, blocked_until_ms, first_sequence);
CREATE TABLE IF NOT EXISTS deduplications (
    queue TEXT NOT NULL,
    scope TEXT NOT NULL,
    deduplication_id TEXT NOT NULL,
    message_id TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    sent_at_ms INTEGER NOT NULL,
    PRIMARY KEY (queue, scope, deduplication_id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS deduplications_by_age ON deduplications (sent_at_ms);
";

/// Room for every statement that the queues use.
const STATEMENTS: usize = 64;

/// Opens the database in `data_dir`, which survives a crash of this process, or
/// a new one in memory.
pub(super) fn open(data_dir: Option<&Path>) -> Result<Connection, StorageError> {
    let connection = match data_dir {
        Some(folder) => open_file(&folder.join("sqs.sqlite"))?,
        None => Connection::open_in_memory()?,
    };
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.execute_batch(TABLES)?;
    Ok(connection)
}

fn open_file(path: &Path) -> Result<Connection, StorageError> {
    let connection = Connection::open(path)?;
    // The first statement that reads the file finds out what it is.
    let pragmas = "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;";
    let made_ready = connection.execute_batch(pragmas);
    made_ready.map_err(|_| StorageError::NoDatabase(path.to_owned()))?;
    Ok(connection)
}
