//! `StartMessageMoveTask`: gives dead letters another chance. All of them are
//! moved when it is answered.

use serde::Deserialize;
use serde_json::{Value, json};

use super::send::message_id;
use super::{Queue, QueueError, Queues, read, required};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Task {
    source_arn: Option<String>,
    destination_arn: Option<String>,
}

pub(super) fn start(queues: &Queues, body: &[u8]) -> Result<Value, QueueError> {
    let task: Task = read(body)?;
    let source_arn = required("SourceArn", task.source_arn)?;
    let from = by_arn(queues, &source_arn)?;
    if queues.sources(from).next().is_none() {
        let reason = "Source queue must be configured as a Dead Letter Queue.";
        return Err(QueueError::InvalidParameterValue(reason.to_owned()));
    }
    let to = task.destination_arn.map(|arn| by_arn(queues, &arn)).transpose()?;
    if to.is_some_and(|to| to.fifo != from.fifo) {
        let reason = "Source queue and destination queue must be of the same type.";
        return Err(QueueError::InvalidParameterValue(reason.to_owned()));
    }
    queues.store(|store| {
        for message in store.all_visible(from)? {
            let source = message.dead_letter_of.as_ref();
            let to = to.or_else(|| source.and_then(|name| queues.queues.get(name)));
            if let Some(to) = to {
                store.redrive(from, to, message_id(), message)?;
            } // what was sent to the dead letters by hand has nowhere to go back to
        }
        Ok(())
    })?;
    queues.tell();
    Ok(json!({ "TaskHandle": message_id() }))
}

fn by_arn<'a>(queues: &'a Queues, arn: &str) -> Result<&'a Queue, QueueError> {
    let missing = "The resource that you specified for the SourceArn or DestinationArn parameter \
                   doesn't exist.";
    let name = arn.rsplit(':').next().unwrap_or_default();
    queues.queue(name).map_err(|_| QueueError::ResourceNotFound(missing.to_owned()))
}
