//! `DeleteMessage`, `ChangeMessageVisibility`, and their batches.

use serde::Deserialize;
use serde_json::{Value, json};

use super::batch::Batch;
use super::{Queue, QueueError, Queues, Target, read, required, within};
use crate::sqs::store::Store;

/// The longest time that a message may be hidden.
pub(super) const LONGEST_HIDDEN_S: u32 = 43_200;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Delete {
    receipt_handle: Option<String>,
}

impl Delete {
    fn apply(self, store: &Store<'_>, queue: &Queue) -> Result<Value, QueueError> {
        let handle = required("ReceiptHandle", self.receipt_handle)?;
        store.delete(queue, &handle)?;
        Ok(json!({}))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Hide {
    receipt_handle: Option<String>,
    visibility_timeout: Option<i64>,
}

impl Hide {
    fn apply(self, store: &Store<'_>, queue: &Queue) -> Result<Value, QueueError> {
        let handle = required("ReceiptHandle", self.receipt_handle)?;
        let missing = QueueError::MissingParameter("VisibilityTimeout");
        let hidden_s = self.visibility_timeout.ok_or(missing)?;
        let hidden_s = within("VisibilityTimeout", hidden_s, 0, LONGEST_HIDDEN_S)?;
        store.hide(queue, &handle, hidden_s)?;
        Ok(json!({}))
    }
}

pub(super) fn one(queues: &Queues, body: &[u8]) -> Result<Value, QueueError> {
    let queue = read::<Target>(body)?.queue(queues)?;
    let delete: Delete = read(body)?;
    changed(queues, |store| delete.apply(store, queue))
}

pub(super) fn batch(queues: &Queues, body: &[u8]) -> Result<Value, QueueError> {
    let queue = read::<Target>(body)?.queue(queues)?;
    let batch: Batch<Delete> = read(body)?;
    batch.check("DeleteMessageBatchRequestEntry")?;
    changed(queues, |store| batch.each(|delete| delete.apply(store, queue)))
}

pub(super) fn hide(queues: &Queues, body: &[u8]) -> Result<Value, QueueError> {
    let queue = read::<Target>(body)?.queue(queues)?;
    let hide: Hide = read(body)?;
    changed(queues, |store| hide.apply(store, queue))
}

pub(super) fn hide_batch(queues: &Queues, body: &[u8]) -> Result<Value, QueueError> {
    let queue = read::<Target>(body)?.queue(queues)?;
    let batch: Batch<Hide> = read(body)?;
    batch.check("ChangeMessageVisibilityBatchRequestEntry")?;
    changed(queues, |store| batch.each(|hide| hide.apply(store, queue)))
}

fn changed(
    queues: &Queues,
    work: impl FnOnce(&Store<'_>) -> Result<Value, QueueError>,
) -> Result<Value, QueueError> {
    let result = queues.store(work)?;
    queues.tell();
    Ok(result)
}
