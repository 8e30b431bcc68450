//! What the queues refuse, with the service's codes
//! ([source](https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/CommonErrors.html)).

use serde_json::{Value, json};

use crate::link::Answer;

/// The header that tells clients an error's older name, which they go by
/// ([source](https://smithy.io/2.0/aws/protocols/aws-query-protocol.html#aws-protocols-awsquerycompatible-trait)).
pub(crate) const QUERY_ERROR: &str = "x-amzn-query-error";

/// Errors whose older name is not their name: it stands behind this prefix.
const PREFIX: &str = "AWS.SimpleQueueService.";
const PREFIXED: [&str; 8] = [
    "BatchEntryIdsNotDistinct",
    "BatchRequestTooLong",
    "EmptyBatchRequest",
    "InvalidBatchEntryId",
    "MessageNotInflight",
    "NonExistentQueue",
    "TooManyEntriesInBatchRequest",
    "UnsupportedOperation",
];

/// A call, or an entry of a batch, that is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum QueueError {
    #[error("The specified queue does not exist.")]
    QueueDoesNotExist,
    #[error("The input receipt handle \"{0}\" is not a valid receipt handle.")]
    ReceiptHandleIsInvalid(String),
    #[error("The specified message isn't in flight.")]
    MessageNotInflight,
    #[error("There should be at least one {0} in the request.")]
    EmptyBatchRequest(&'static str),
    #[error("Maximum number of entries per request are 10. You have sent {0}.")]
    TooManyEntriesInBatchRequest(usize),
    #[error("Id {0} repeated.")]
    BatchEntryIdsNotDistinct(String),
    #[error(
        "A batch entry id can only contain alphanumeric characters, hyphens and underscores. \
         It can be at most 80 letters long."
    )]
    InvalidBatchEntryId,
    #[error(
        "Batch requests cannot be longer than {most} bytes. \
         You have sent {sent} bytes."
    )]
    BatchRequestTooLong { most: usize, sent: usize },
    #[error(
        "Invalid binary character '#x{0:X}' was found in the message body, the set of allowed \
         characters is #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF"
    )]
    InvalidMessageContents(u32),
    #[error("Unknown Attribute {0}.")]
    InvalidAttributeName(String),
    #[error("The local cloud does not know {0}; its queues are those of template.yaml")]
    UnsupportedOperation(String),
    #[error("{0}")]
    InvalidParameterValue(String),
    #[error("The request must contain the parameter {0}.")]
    MissingParameter(&'static str),
    #[error("{0}")]
    ResourceNotFound(String),
    #[error("The request cannot be read: {0}")]
    Serialization(#[from] serde_json::Error),
    #[error("the queues' database failed: {0}")]
    Storage(#[from] rusqlite::Error),
}

impl QueueError {
    /// A parameter whose value cannot be, and why.
    pub(super) fn invalid(parameter: &str, value: impl std::fmt::Display, reason: &str) -> Self {
        Self::InvalidParameterValue(format!(
            "Value {value} for parameter {parameter} is invalid. Reason: {reason}"
        ))
    }

    /// A parameter that this kind of queue has not.
    pub(super) fn not_for_this_queue(parameter: &str, value: impl std::fmt::Display) -> Self {
        let reason = "The request include parameter that is not valid for this queue type.";
        Self::invalid(parameter, value, reason)
    }

    /// A receipt whose time is over. Only FIFO queues refuse it
    /// ([source](https://repost.aws/knowledge-center/sqs-receipt-handle-error)).
    pub(super) fn expired(receipt_handle: &str) -> Self {
        Self::invalid("ReceiptHandle", receipt_handle, "The receipt handle has expired.")
    }

    /// Its name in the protocol.
    fn name(&self) -> &'static str {
        match self {
            Self::QueueDoesNotExist => "QueueDoesNotExist",
            Self::ReceiptHandleIsInvalid(_) => "ReceiptHandleIsInvalid",
            Self::MessageNotInflight => "MessageNotInflight",
            Self::EmptyBatchRequest(_) => "EmptyBatchRequest",
            Self::TooManyEntriesInBatchRequest(_) => "TooManyEntriesInBatchRequest",
            Self::BatchEntryIdsNotDistinct(_) => "BatchEntryIdsNotDistinct",
            Self::InvalidBatchEntryId => "InvalidBatchEntryId",
            Self::BatchRequestTooLong { .. } => "BatchRequestTooLong",
            Self::InvalidMessageContents(_) => "InvalidMessageContents",
            Self::InvalidAttributeName(_) => "InvalidAttributeName",
            Self::UnsupportedOperation(_) => "UnsupportedOperation",
            Self::InvalidParameterValue(_) => "InvalidParameterValue",
            Self::MissingParameter(_) => "MissingParameter",
            Self::ResourceNotFound(_) => "ResourceNotFoundException",
            Self::Serialization(_) => "SerializationException",
            Self::Storage(_) => "InternalError",
        }
    }

    fn status(&self) -> u16 {
        match self {
            Self::ReceiptHandleIsInvalid(_) | Self::ResourceNotFound(_) => 404,
            Self::Storage(_) => 500,
            Self::QueueDoesNotExist
            | Self::MessageNotInflight
            | Self::EmptyBatchRequest(_)
            | Self::TooManyEntriesInBatchRequest(_)
            | Self::BatchEntryIdsNotDistinct(_)
            | Self::InvalidBatchEntryId
            | Self::BatchRequestTooLong { .. }
            | Self::InvalidMessageContents(_)
            | Self::InvalidAttributeName(_)
            | Self::UnsupportedOperation(_)
            | Self::InvalidParameterValue(_)
            | Self::MissingParameter(_)
            | Self::Serialization(_) => 400,
        }
    }

    /// The answer to a call that is refused.
    pub(super) fn to_answer(&self) -> Answer {
        error(self.status(), self.name(), &self.to_string())
    }

    /// The answer to one entry of a batch that is refused.
    pub(super) fn to_entry(&self, id: &str) -> Value {
        failed_entry(id, self.status() < 500, self.name(), &self.to_string())
    }
}

/// An answer that is an error.
pub(crate) fn error(status: u16, name: &str, message: &str) -> Answer {
    let body = json!({ "__type": format!("com.amazonaws.sqs#{name}"), "message": message });
    Answer { status, body: body.to_string().into() }
}

/// An entry of a batch that failed.
pub(crate) fn failed_entry(id: &str, sender_fault: bool, code: &str, message: &str) -> Value {
    json!({ "Id": id, "SenderFault": sender_fault, "Code": older(code), "Message": message })
}

/// An error's older name.
fn older(name: &str) -> String {
    let name = if name == "QueueDoesNotExist" { "NonExistentQueue" } else { name };
    let prefix = if PREFIXED.contains(&name) { PREFIX } else { "" };
    format!("{prefix}{name}")
}

/// What the header [`QUERY_ERROR`] says of an answer: none if it is no error.
pub(crate) fn query_error(answer: &Answer) -> Option<String> {
    if answer.status < 400 {
        return None;
    }
    let body: Value = serde_json::from_slice(&answer.body).ok()?;
    let name = body["__type"].as_str()?.strip_prefix("com.amazonaws.sqs#")?;
    let fault = if answer.status < 500 { "Sender" } else { "Receiver" };
    Some(format!("{};{fault}", older(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_the_name_that_clients_go_by() {
        let named = |error: QueueError| query_error(&error.to_answer()).unwrap();
        let missing = named(QueueError::QueueDoesNotExist);
        assert_eq!(missing, "AWS.SimpleQueueService.NonExistentQueue;Sender");
        assert_eq!(named(QueueError::expired("x")), "InvalidParameterValue;Sender");
        let broken = QueueError::Storage(rusqlite::Error::InvalidQuery);
        assert_eq!(named(broken), "InternalError;Receiver");
        assert_eq!(query_error(&Answer { status: 200, body: "{}".into() }), None);
        let other = r#"{"__type":"com.amazonaws.dynamodb.v20120810#X"}"#;
        assert_eq!(query_error(&Answer { status: 400, body: other.into() }), None);
    }

    #[test]
    fn an_entry_says_whose_fault_it_was() {
        let entry = QueueError::MissingParameter("MessageGroupId").to_entry("a");
        assert_eq!((&entry["Id"], &entry["SenderFault"]), (&json!("a"), &json!(true)));
        assert_eq!(entry["Code"], "MissingParameter");
        let entry = QueueError::Storage(rusqlite::Error::InvalidQuery).to_entry("a");
        assert_eq!(entry["SenderFault"], false);
    }
}
