//! Deduplication: of messages with the same id, those that come within five
//! minutes of the first are accepted and not delivered, also when the first was
//! received and deleted meanwhile
//! ([source](https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/FIFO-key-terms.html)).

use aws_lc_rs::digest::{SHA256, digest};
use rusqlite::{Connection, OptionalExtension, params};

use super::store::Sent;

/// How long an id counts.
const INTERVAL_MS: i64 = 5 * 60 * 1000;

/// The id of a message that brings none, where its content may give it.
pub(super) fn content_id(body: &str) -> String {
    let digest = digest(&SHA256, body.as_bytes());
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Where and under which name a message is known.
pub(super) struct Id<'a> {
    pub(super) queue: &'a str,
    /// The group, or nothing where an id counts in the whole queue.
    pub(super) scope: &'a str,
    pub(super) id: &'a str,
}

/// Forgets the ids that do not count any more.
pub(super) fn forget(connection: &Connection, now_ms: i64) -> rusqlite::Result<()> {
    let sql = "DELETE FROM deduplications WHERE sent_at_ms <= ?1";
    connection.prepare_cached(sql)?.execute([now_ms - INTERVAL_MS])?;
    Ok(())
}

/// The message that was sent under this id, if there is one.
pub(super) fn find(connection: &Connection, id: &Id<'_>) -> rusqlite::Result<Option<Sent>> {
    let sql = "SELECT message_id, sequence FROM deduplications
               WHERE queue = ?1 AND scope = ?2 AND deduplication_id = ?3";
    let mut select = connection.prepare_cached(sql)?;
    let sent = select.query_row([id.queue, id.scope, id.id], |row| {
        Ok(Sent { message_id: row.get(0)?, sequence: row.get(1)? })
    });
    sent.optional()
}

/// Remembers a message that was sent.
pub(super) fn remember(
    connection: &Connection,
    id: &Id<'_>,
    sent: &Sent,
    now_ms: i64,
) -> rusqlite::Result<()> {
    let sql = "INSERT INTO deduplications VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let mut insert = connection.prepare_cached(sql)?;
    insert.execute(params![id.queue, id.scope, id.id, sent.message_id, sent.sequence, now_ms])?;
    Ok(())
}
