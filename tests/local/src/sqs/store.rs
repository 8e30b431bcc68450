//! What the queues do with their messages, in one transaction each.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::deduplication::{self, Id};
use super::error::QueueError;
use super::groups::Groups;
use super::receipt::Receipt;
use crate::template::{DeduplicationScope, Queue};

/// A message to be sent.
pub(super) struct Outgoing {
    pub(super) message_id: String,
    pub(super) group: Option<String>,
    pub(super) deduplication_id: Option<String>,
    pub(super) body: String,
    pub(super) body_md5: String,
    /// In JSON.
    pub(super) attributes: Option<String>,
    pub(super) trace_header: Option<String>,
    pub(super) delay_s: u32,
}

/// A message that was sent, now or, with the same deduplication id, before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) message_id: String,
    pub(super) sequence: i64,
}

/// A message as it lies in the database.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) sequence: i64,
    pub(super) message_id: String,
    pub(super) group: Option<String>,
    pub(super) deduplication_id: Option<String>,
    pub(super) body: String,
    pub(super) body_md5: String,
    pub(super) attributes: Option<String>,
    pub(super) trace_header: Option<String>,
    /// The queue that it could not be processed in.
    pub(super) dead_letter_of: Option<String>,
    pub(super) sent_at_ms: i64,
    visible_at_ms: i64,
    pub(super) first_received_at_ms: Option<i64>,
    /// How many times it was received from this queue.
    pub(super) receives: i64,
    /// How many times it was received from the queues before.
    pub(super) receives_before: i64,
}

const COLUMNS: &str = "sequence, message_id, message_group, deduplication_id, body, body_md5, \
    attributes, trace_header, dead_letter_of, sent_at_ms, visible_at_ms, first_received_at_ms, \
    receives, receives_before";

impl Stored {
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            sequence: row.get(0)?,
            message_id: row.get(1)?,
            group: row.get(2)?,
            deduplication_id: row.get(3)?,
            body: row.get(4)?,
            body_md5: row.get(5)?,
            attributes: row.get(6)?,
            trace_header: row.get(7)?,
            dead_letter_of: row.get(8)?,
            sent_at_ms: row.get(9)?,
            visible_at_ms: row.get(10)?,
            first_received_at_ms: row.get(11)?,
            receives: row.get(12)?,
            receives_before: row.get(13)?,
        })
    }

    /// The receipt of the time that it was received last.
    pub(super) fn receipt(&self) -> Receipt {
        Receipt { sequence: self.sequence, receives: self.receives }
    }
}

/// What a receiver wants.
pub(super) struct Wish {
    pub(super) most: usize,
    pub(super) hidden_s: u32,
}

/// What a receiver got, and whether messages went to the dead letters instead.
#[derive(Default)]
pub(super) struct Taken {
    pub(super) messages: Vec<Stored>,
    pub(super) moved: bool,
}

/// How much there is in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) visible: u64,
    pub(super) in_flight: u64,
    pub(super) delayed: u64,
    pub(super) oldest_sent_at_ms: Option<i64>,
}

/// The messages at one moment, inside a transaction.
pub(super) struct Store<'a> {
    pub(super) connection: &'a Connection,
    pub(super) now_ms: i64,
}

impl<'a> Store<'a> {
    fn groups<'b>(&'b self, queue: &'b Queue) -> Groups<'b> {
        Groups { connection: self.connection, queue: &queue.name, now_ms: self.now_ms }
    }

    fn later(&self, seconds: u32) -> i64 {
        self.now_ms + i64::from(seconds) * 1000
    }

    /// Sends a message, unless it is a duplicate.
    pub(super) fn send(&self, queue: &Queue, message: Outgoing) -> Result<Sent, QueueError> {
        let scope = match queue.deduplication_scope {
            DeduplicationScope::MessageGroup => message.group.as_deref().unwrap_or_default(),
            DeduplicationScope::Queue => "",
        };
        let id = message.deduplication_id.as_deref();
        let id = id.map(|id| Id { queue: &queue.name, scope, id });
        if let Some(id) = &id {
            deduplication::forget(self.connection, self.now_ms)?;
            if let Some(sent) = deduplication::find(self.connection, id)? {
                return Ok(sent);
            }
        }
        let stored = Stored {
            sequence: 0,
            message_id: message.message_id.clone(),
            group: message.group.clone(),
            deduplication_id: message.deduplication_id.clone(),
            body: message.body,
            body_md5: message.body_md5,
            attributes: message.attributes,
            trace_header: message.trace_header,
            dead_letter_of: None,
            sent_at_ms: self.now_ms,
            visible_at_ms: self.later(message.delay_s),
            first_received_at_ms: None,
            receives: 0,
            receives_before: 0,
        };
        let sequence = self.insert(queue, &stored)?;
        let sent = Sent { message_id: message.message_id, sequence };
        if let Some(id) = &id {
            deduplication::remember(self.connection, id, &sent, self.now_ms)?;
        }
        Ok(sent)
    }

    /// Puts a message at the end of a queue.
    fn insert(&self, queue: &Queue, message: &Stored) -> Result<i64, QueueError> {
        let sql = format!(
            "INSERT INTO messages (queue, {COLUMNS})
             VALUES (?1, NULL, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)"
        );
        self.connection.prepare_cached(&sql)?.execute(params![
            queue.name,
            message.message_id,
            message.group,
            message.deduplication_id,
            message.body,
            message.body_md5,
            message.attributes,
            message.trace_header,
            message.dead_letter_of,
            message.sent_at_ms,
            message.visible_at_ms,
            message.first_received_at_ms,
            message.receives,
            message.receives_before,
        ])?;
        let sequence = self.connection.last_insert_rowid();
        if let (true, Some(group)) = (queue.fifo, &message.group) {
            self.groups(queue).sent(group, sequence, message.visible_at_ms)?;
        }
        Ok(sequence)
    }

    /// Takes messages that may go, and hides them.
    pub(super) fn receive(
        &self,
        queue: &Queue,
        dead_letters: Option<&Queue>,
        wish: &Wish,
    ) -> Result<Taken, QueueError> {
        self.expire(queue)?;
        let mut taken = Taken::default();
        if queue.fifo {
            self.receive_in_order(queue, dead_letters, wish, &mut taken)?;
        } else {
            self.receive_any(queue, dead_letters, wish, &mut taken)?;
        }
        Ok(taken)
    }

    /// Those that have been visible longest. Only if some went to the dead
    /// letters are there others to look at.
    fn receive_any(
        &self,
        queue: &Queue,
        dead_letters: Option<&Queue>,
        wish: &Wish,
        taken: &mut Taken,
    ) -> Result<(), QueueError> {
        loop {
            let found = self.visible(queue, wish.most - taken.messages.len())?;
            let mut moved = false;
            for message in found {
                let is_new = taken.messages.iter().all(|m| m.sequence != message.sequence);
                if is_new {
                    moved |= !self.take(queue, dead_letters, wish, message, taken)?;
                }
            }
            taken.moved |= moved;
            if !moved {
                return Ok(());
            }
        }
    }

    /// As many as there are of the group that begins first, then of the next.
    fn receive_in_order(
        &self,
        queue: &Queue,
        dead_letters: Option<&Queue>,
        wish: &Wish,
        taken: &mut Taken,
    ) -> Result<(), QueueError> {
        let groups = self.groups(queue);
        groups.release()?;
        let mut after = 0;
        while taken.messages.len() < wish.most {
            let Some(ready) = groups.next_ready(after)? else {
                break;
            };
            after = ready.first_sequence;
            self.receive_group(queue, &ready.group, dead_letters, wish, taken)?;
            groups.refresh(&ready.group)?;
        }
        Ok(())
    }

    fn receive_group(
        &self,
        queue: &Queue,
        group: &str,
        dead_letters: Option<&Queue>,
        wish: &Wish,
        taken: &mut Taken,
    ) -> Result<(), QueueError> {
        let mut after = 0;
        while taken.messages.len() < wish.most {
            let most = wish.most - taken.messages.len();
            let found = self.of_group(queue, group, after, most)?;
            let is_last = found.len() < most;
            for message in found {
                if message.visible_at_ms > self.now_ms {
                    return Ok(()); // what comes behind may not overtake it
                }
                after = message.sequence;
                taken.moved |= !self.take(queue, dead_letters, wish, message, taken)?;
            }
            if is_last {
                break;
            }
        }
        Ok(())
    }

    /// Hides a message that goes to a receiver, or moves it to the dead letters:
    /// then `false`.
    fn take(
        &self,
        queue: &Queue,
        dead_letters: Option<&Queue>,
        wish: &Wish,
        mut message: Stored,
        taken: &mut Taken,
    ) -> Result<bool, QueueError> {
        let most_receives = queue.redrive.as_ref().map(|redrive| redrive.max_receive_count);
        if let (Some(most), Some(dead_letters)) = (most_receives, dead_letters)
            && message.receives >= i64::from(most)
        {
            self.bury(queue, dead_letters, message)?;
            return Ok(false);
        }
        let visible_at_ms = self.later(wish.hidden_s);
        let sql = "UPDATE messages SET visible_at_ms = ?2, receives = receives + 1,
                   first_received_at_ms = COALESCE(first_received_at_ms, ?3) WHERE sequence = ?1";
        let mut update = self.connection.prepare_cached(sql)?;
        update.execute(params![message.sequence, visible_at_ms, self.now_ms])?;
        message.receives += 1;
        message.visible_at_ms = visible_at_ms;
        message.first_received_at_ms.get_or_insert(self.now_ms);
        taken.messages.push(message);
        Ok(true)
    }

    /// Moves a message to the dead letters. In a FIFO queue it counts as sent
    /// now
    /// ([source](https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/setting-up-dead-letter-queue-retention.html)),
    /// and its id takes the place of its deduplication id
    /// ([source](https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-configure-dead-letter-queue-redrive.html)).
    fn bury(
        &self,
        queue: &Queue,
        dead_letters: &Queue,
        mut message: Stored,
    ) -> Result<(), QueueError> {
        self.delete_row(message.sequence)?;
        if queue.fifo {
            message.sent_at_ms = self.now_ms;
            message.deduplication_id = Some(message.message_id.clone());
        }
        message.visible_at_ms = self.now_ms;
        message.receives_before += message.receives;
        message.receives = 0;
        message.dead_letter_of = Some(queue.name.clone());
        self.insert(dead_letters, &message)?;
        Ok(())
    }

    /// Moves a dead letter that nobody holds to a queue, where it is a new
    /// message.
    pub(super) fn redrive(
        &self,
        from: &Queue,
        to: &Queue,
        message_id: String,
        mut message: Stored,
    ) -> Result<(), QueueError> {
        self.remove(from, &message)?;
        message.message_id = message_id;
        message.sent_at_ms = self.now_ms;
        message.visible_at_ms = self.now_ms;
        message.first_received_at_ms = None;
        message.receives = 0;
        message.receives_before = 0;
        message.dead_letter_of = None;
        self.insert(to, &message)?;
        Ok(())
    }

    /// Every message of a queue that is visible, in order.
    pub(super) fn all_visible(&self, queue: &Queue) -> Result<Vec<Stored>, QueueError> {
        self.expire(queue)?;
        let mut all = self.visible(queue, usize::MAX)?;
        all.sort_by_key(|message| message.sequence);
        Ok(all)
    }

    fn visible(&self, queue: &Queue, most: usize) -> Result<Vec<Stored>, QueueError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM messages WHERE queue = ?1 AND visible_at_ms <= ?2
             ORDER BY visible_at_ms, sequence LIMIT ?3"
        );
        let mut select = self.connection.prepare_cached(&sql)?;
        let rows =
            select.query_map(params![queue.name, self.now_ms, limit(most)], Stored::from_row)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    fn of_group(
        &self,
        queue: &Queue,
        group: &str,
        after: i64,
        most: usize,
    ) -> Result<Vec<Stored>, QueueError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM messages
             WHERE queue = ?1 AND message_group = ?2 AND sequence > ?3 ORDER BY sequence LIMIT ?4"
        );
        let mut select = self.connection.prepare_cached(&sql)?;
        let rows =
            select.query_map(params![queue.name, group, after, limit(most)], Stored::from_row)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// A message by its number, if it is there.
    pub(super) fn find(&self, queue: &Queue, sequence: i64) -> Result<Option<Stored>, QueueError> {
        let sql = format!("SELECT {COLUMNS} FROM messages WHERE sequence = ?1 AND queue = ?2");
        let mut select = self.connection.prepare_cached(&sql)?;
        let message = select.query_row(params![sequence, queue.name], Stored::from_row);
        Ok(message.optional()?)
    }

    /// Deletes what a receipt handle stands for. What is not there any more is
    /// deleted. A FIFO queue refuses a handle whose time is over; another queue
    /// takes it, unless the message was received again since.
    pub(super) fn delete(&self, queue: &Queue, handle: &str) -> Result<(), QueueError> {
        let receipt = Receipt::from_handle(handle, &queue.name)?;
        let Some(message) = self.find(queue, receipt.sequence)? else {
            return Ok(());
        };
        if queue.fifo && !self.is_held(&message, &receipt) {
            return Err(QueueError::expired(handle));
        }
        if message.receives == receipt.receives {
            self.remove(queue, &message)?;
        }
        Ok(())
    }

    /// Hides a message in flight for so long from now on.
    pub(super) fn hide(
        &self,
        queue: &Queue,
        handle: &str,
        hidden_s: u32,
    ) -> Result<(), QueueError> {
        let receipt = Receipt::from_handle(handle, &queue.name)?;
        let message = self.find(queue, receipt.sequence)?.ok_or_else(|| {
            let reason =
                "Message does not exist or is not available for visibility timeout change.";
            QueueError::invalid("ReceiptHandle", handle, reason)
        })?;
        if self.is_held(&message, &receipt) {
            return self.hide_for(queue, &message, hidden_s);
        }
        let expired = QueueError::expired(handle);
        Err(if queue.fifo { expired } else { QueueError::MessageNotInflight })
    }

    /// Whether a message is in flight under this receipt.
    pub(super) fn is_held(&self, message: &Stored, receipt: &Receipt) -> bool {
        message.visible_at_ms > self.now_ms && message.receipt() == *receipt
    }

    pub(super) fn hide_for(
        &self,
        queue: &Queue,
        message: &Stored,
        hidden_s: u32,
    ) -> Result<(), QueueError> {
        let visible_at_ms = self.later(hidden_s);
        let sql = "UPDATE messages SET visible_at_ms = ?2 WHERE sequence = ?1";
        let mut update = self.connection.prepare_cached(sql)?;
        update.execute(params![message.sequence, visible_at_ms])?;
        self.refresh_group(queue, message.group.as_deref())
    }

    fn remove(&self, queue: &Queue, message: &Stored) -> Result<(), QueueError> {
        self.delete_row(message.sequence)?;
        self.refresh_group(queue, message.group.as_deref())
    }

    fn delete_row(&self, sequence: i64) -> Result<(), QueueError> {
        let sql = "DELETE FROM messages WHERE sequence = ?1";
        self.connection.prepare_cached(sql)?.execute([sequence])?;
        Ok(())
    }

    fn refresh_group(&self, queue: &Queue, group: Option<&str>) -> Result<(), QueueError> {
        if let (true, Some(group)) = (queue.fifo, group) {
            self.groups(queue).refresh(group)?;
        }
        Ok(())
    }

    /// Deletes every message of a queue.
    pub(super) fn purge(&self, queue: &Queue) -> Result<(), QueueError> {
        for table in ["messages", "groups"] {
            let sql = format!("DELETE FROM {table} WHERE queue = ?1");
            self.connection.prepare_cached(&sql)?.execute([&queue.name])?;
        }
        Ok(())
    }

    /// Deletes what is older than the queue keeps it.
    fn expire(&self, queue: &Queue) -> Result<(), QueueError> {
        let kept_since_ms = self.now_ms - i64::from(queue.retention_s) * 1000;
        let sql = "DELETE FROM messages WHERE queue = ?1 AND sent_at_ms <= ?2
                   RETURNING message_group";
        let mut delete = self.connection.prepare_cached(sql)?;
        let groups = delete.query_map(params![queue.name, kept_since_ms], |row| row.get(0))?;
        let groups: Vec<Option<String>> = groups.collect::<rusqlite::Result<_>>()?;
        for group in groups {
            self.refresh_group(queue, group.as_deref())?;
        }
        Ok(())
    }

    /// When the next hidden message can be received.
    pub(super) fn next_visible_at_ms(&self, queue: &Queue) -> Result<Option<i64>, QueueError> {
        let sql = "SELECT MIN(visible_at_ms) FROM messages
                   WHERE queue = ?1 AND visible_at_ms > ?2";
        let mut select = self.connection.prepare_cached(sql)?;
        Ok(select.query_row(params![queue.name, self.now_ms], |row| row.get(0))?)
    }

    pub(super) fn counts(&self, queue: &Queue) -> Result<Counts, QueueError> {
        self.expire(queue)?;
        let sql = "SELECT COUNT(*) FILTER (WHERE visible_at_ms <= ?2),
                   COUNT(*) FILTER (WHERE visible_at_ms > ?2 AND receives > 0),
                   COUNT(*) FILTER (WHERE visible_at_ms > ?2 AND receives = 0)
                   FROM messages INDEXED BY messages_by_visibility WHERE queue = ?1";
        let mut select = self.connection.prepare_cached(sql)?;
        let mut counts = select.query_row(params![queue.name, self.now_ms], |row| {
            Ok(Counts {
                visible: row.get(0)?,
                in_flight: row.get(1)?,
                delayed: row.get(2)?,
                oldest_sent_at_ms: None,
            })
        })?;
        let sql = "SELECT MIN(sent_at_ms) FROM messages WHERE queue = ?1";
        let mut select = self.connection.prepare_cached(sql)?;
        counts.oldest_sent_at_ms = select.query_row([&queue.name], |row| row.get(0))?;
        Ok(counts)
    }
}

fn limit(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX)
}
