//! What batches have in common
//! ([source](https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-batch-api-actions.html)).

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::{Value, json};

use super::QueueError;

const MOST_ENTRIES: usize = 10;
const LONGEST_ID: usize = 80;

/// A batch of entries.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Batch<T> {
    #[serde(default = "Vec::new")]
    pub(super) entries: Vec<Entry<T>>,
}

/// One entry.
#[derive(Deserialize)]
pub(super) struct Entry<T> {
    #[serde(rename = "Id", default)]
    pub(super) id: String,
    #[serde(flatten)]
    pub(super) request: T,
}

impl<T> Batch<T> {
    /// Refuses a batch that is empty or too long, or whose ids do not tell its
    /// entries apart. `kind` is an entry's name in the protocol.
    pub(super) fn check(&self, kind: &'static str) -> Result<(), QueueError> {
        if self.entries.is_empty() {
            return Err(QueueError::EmptyBatchRequest(kind));
        }
        if self.entries.len() > MOST_ENTRIES {
            return Err(QueueError::TooManyEntriesInBatchRequest(self.entries.len()));
        }
        let mut ids = HashSet::new();
        for Entry { id, .. } in &self.entries {
            let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
            if !(1..=LONGEST_ID).contains(&id.len()) || !id.bytes().all(allowed) {
                return Err(QueueError::InvalidBatchEntryId);
            }
            if !ids.insert(id) {
                return Err(QueueError::BatchEntryIdsNotDistinct(id.clone()));
            }
        }
        Ok(())
    }

    /// Does each entry's work, and gathers what became of it. An entry that is
    /// refused is no failure of the others.
    pub(super) fn each(
        self,
        mut work: impl FnMut(T) -> Result<Value, QueueError>,
    ) -> Result<Value, QueueError> {
        let (mut successful, mut failed) = (Vec::new(), Vec::new());
        for Entry { id, request } in self.entries {
            match work(request) {
                Ok(mut result) => {
                    result["Id"] = json!(id);
                    successful.push(result);
                }
                Err(broken @ QueueError::Storage(_)) => return Err(broken),
                Err(refusal) => failed.push(refusal.to_entry(&id)),
            }
        }
        Ok(json!({ "Successful": successful, "Failed": failed }))
    }
}
