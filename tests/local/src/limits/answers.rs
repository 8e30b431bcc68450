//! How the services word their refusals.

use serde_json::{Value, json};

use super::partitions::{Access, Resource};
use crate::link::Answer;
use crate::template::table_arn;

/// What is said of a table on demand. All tables of the template are.
const THROTTLED: &str = "Throughput exceeds the current capacity of your table or index. DynamoDB \
     is automatically scaling your table or index so please try again shortly. If exceptions \
     persist, check if you have a hot key: \
     https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html";

const CONFLICT: &str = "Transaction is ongoing for the item";

/// Why one action of a transaction was not done; `None` if it was not that one.
pub(super) type Reason = Option<(&'static str, &'static str)>;

/// The reason of an action whose item another transaction holds
/// ([source](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html#API_TransactWriteItems_Errors)).
pub(super) const CONFLICTS: Reason = Some(("TransactionConflict", CONFLICT));

/// The reason of an action on a partition that is exhausted, of a table on
/// demand (same source).
pub(super) const THROTTLES: Reason = Some(("ThrottlingError", THROTTLED));

/// A transaction that was not done, with a reason for each of its actions.
pub(super) fn cancelled(reasons: &[Reason]) -> Answer {
    let codes: Vec<_> = reasons.iter().map(|reason| reason.map_or("None", |r| r.0)).collect();
    let message = format!(
        "Transaction cancelled, please refer cancellation reasons for specific reasons [{}]",
        codes.join(", ")
    );
    let reasons = reasons.iter().map(|reason| match reason {
        Some((code, message)) => json!({ "Code": code, "Message": message }),
        None => json!({ "Code": "None" }),
    });
    let body = json!({
        "__type": kind("TransactionCanceledException"),
        "Message": message,
        "CancellationReasons": reasons.collect::<Vec<_>>(),
    });
    answer(400, &body)
}

/// A write that stands alone and met a running transaction
/// ([source](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_PutItem.html#API_PutItem_Errors)).
pub(super) fn conflict() -> Answer {
    answer(400, &error("TransactionConflictException", CONFLICT))
}

/// A call to a partition that is exhausted. Tables on demand answer so, with the
/// reason ([source](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ThrottlingReason.html)).
pub(super) fn throttled(resource: &Resource, access: Access) -> Answer {
    let mut body = error("ThrottlingException", THROTTLED);
    let reason = throttling_reason(resource, access);
    body["throttlingReasons"] = json!([{ "reason": reason, "resource": arn(resource) }]);
    answer(400, &body)
}

/// As in `TableWriteKeyRangeThroughputExceeded`: what is throttled, on what
/// kind of operation, and why (same source).
pub(super) fn throttling_reason(resource: &Resource, access: Access) -> String {
    let kind = if resource.index.is_some() { "Index" } else { "Table" };
    let access = match access {
        Access::Read => "Read",
        Access::Write => "Write",
    };
    format!("{kind}{access}KeyRangeThroughputExceeded")
}

fn arn(resource: &Resource) -> String {
    let table = table_arn(&resource.table);
    match &resource.index {
        Some(index) => format!("{table}/index/{index}"),
        None => table,
    }
}

/// The service failed, and nobody knows whether it did anything
/// ([source](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html)).
pub(super) fn failed() -> Answer {
    answer(500, &error("InternalServerError", "Internal server error"))
}

fn error(name: &str, message: &str) -> Value {
    json!({ "__type": kind(name), "message": message })
}

fn kind(name: &str) -> String {
    format!("com.amazonaws.dynamodb.v20120810#{name}")
}

fn answer(status: u16, body: &Value) -> Answer {
    Answer { status, body: body.to_string().into() }
}
