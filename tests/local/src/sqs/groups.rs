//! The groups of FIFO queues: which may give a message, and which waits for
//! one that is in flight or delayed.

use rusqlite::{Connection, OptionalExtension, params};

/// The groups of one queue, at one moment.
pub(super) struct Groups<'a> {
    pub(super) connection: &'a Connection,
    pub(super) queue: &'a str,
    pub(super) now_ms: i64,
}

/// A group whose first message may go.
pub(super) struct Ready {
    pub(super) group: String,
    pub(super) first_sequence: i64,
}

impl Groups<'_> {
    /// A message of `group` was sent. What stands before it decides if there is
    /// something.
    pub(super) fn sent(
        &self,
        group: &str,
        sequence: i64,
        visible_at_ms: i64,
    ) -> rusqlite::Result<()> {
        let sql = "INSERT OR IGNORE INTO groups VALUES (?1, ?2, ?3, ?4)";
        let blocked_until_ms = self.blocked_until(visible_at_ms);
        let mut insert = self.connection.prepare_cached(sql)?;
        insert.execute(params![self.queue, group, sequence, blocked_until_ms])?;
        Ok(())
    }

    /// Lets those go that nothing blocks any more.
    pub(super) fn release(&self) -> rusqlite::Result<()> {
        let sql = "UPDATE groups SET blocked_until_ms = 0
                   WHERE queue = ?1 AND blocked_until_ms > 0 AND blocked_until_ms <= ?2";
        self.connection.prepare_cached(sql)?.execute(params![self.queue, self.now_ms])?;
        Ok(())
    }

    /// The group that is ready and begins next after `sequence`.
    pub(super) fn next_ready(&self, sequence: i64) -> rusqlite::Result<Option<Ready>> {
        let sql = "SELECT message_group, first_sequence FROM groups
                   WHERE queue = ?1 AND blocked_until_ms = 0 AND first_sequence > ?2
                   ORDER BY first_sequence LIMIT 1";
        let mut select = self.connection.prepare_cached(sql)?;
        let ready = select.query_row(params![self.queue, sequence], |row| {
            Ok(Ready { group: row.get(0)?, first_sequence: row.get(1)? })
        });
        ready.optional()
    }

    /// A message of `group` came or went, or is hidden for another time.
    pub(super) fn refresh(&self, group: &str) -> rusqlite::Result<()> {
        let Some((first_sequence, first_visible_at_ms)) = self.first(group)? else {
            let sql = "DELETE FROM groups WHERE queue = ?1 AND message_group = ?2";
            self.connection.prepare_cached(sql)?.execute(params![self.queue, group])?;
            return Ok(());
        };
        let blocked_until_ms = self.last_in_flight(group)?.max(first_visible_at_ms);
        let sql = "UPDATE groups SET first_sequence = ?3, blocked_until_ms = ?4
                   WHERE queue = ?1 AND message_group = ?2";
        let blocked_until_ms = self.blocked_until(blocked_until_ms);
        let mut update = self.connection.prepare_cached(sql)?;
        update.execute(params![self.queue, group, first_sequence, blocked_until_ms])?;
        Ok(())
    }

    fn blocked_until(&self, ms: i64) -> i64 {
        if ms <= self.now_ms { 0 } else { ms }
    }

    fn first(&self, group: &str) -> rusqlite::Result<Option<(i64, i64)>> {
        let sql = "SELECT sequence, visible_at_ms FROM messages
                   WHERE queue = ?1 AND message_group = ?2 ORDER BY sequence LIMIT 1";
        let mut select = self.connection.prepare_cached(sql)?;
        let first = select.query_row([self.queue, group], |row| Ok((row.get(0)?, row.get(1)?)));
        first.optional()
    }

    /// When the last message in flight comes back.
    fn last_in_flight(&self, group: &str) -> rusqlite::Result<i64> {
        let sql = "SELECT MAX(visible_at_ms) FROM messages
                   WHERE queue = ?1 AND message_group = ?2 AND receives > 0";
        let mut select = self.connection.prepare_cached(sql)?;
        let last: Option<i64> = select.query_row([self.queue, group], |row| row.get(0))?;
        Ok(last.unwrap_or(0))
    }
}
