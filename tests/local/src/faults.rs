//! What can go wrong between a function and DynamoDB or SQS, on demand.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::link::{Answer, Call, Link, Lost};
use crate::sqs;

/// Puts a link in front of another one.
pub type Layer = Arc<dyn Fn(Arc<dyn Link>) -> Arc<dyn Link> + Send + Sync>;

/// One thing that goes wrong with a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is applied, and its answer is lost.
    LostAnswer,
    /// Likewise, but only the first time that a transaction is sent: under the
    /// same token it is answered.
    LostFirstAnswer,
    /// It never arrives.
    LostRequest,
    /// It is refused for want of throughput.
    Throttled,
    /// It is answered with a 500 and not applied.
    ServerError,
    /// It is refused as malformed.
    Rejected,
    /// A transaction meets another one that holds its items at these places, or
    /// a write that stands alone meets one that holds its item.
    Conflict(Vec<usize>),
    /// Likewise, but it is applied all the same: as if an earlier sending of it
    /// arrived after the conflict was answered.
    LateSuccess(Vec<usize>),
    /// The entries of a batch at these places fail, by no fault of the sender's.
    /// The others are passed on.
    RefusedEntries(Vec<usize>),
}

/// Which calls go wrong, and how: none until told.
#[derive(Clone, Debug, Default)]
pub struct Faults(Arc<Mutex<Plan>>);

#[derive(Debug, Default)]
struct Plan {
    next: VecDeque<(&'static str, Fault)>,
    always: Option<(&'static str, Fault)>,
    sent: HashSet<String>,
    met: u64,
}

impl Faults {
    /// The layer to start a cloud with.
    pub fn layer(&self) -> Layer {
        let faults = self.clone();
        Arc::new(move |next| Arc::new(Faulty { next, faults: faults.clone() }))
    }

    /// The next `count` calls of `operation` meet `fault`, after those that are
    /// to come already.
    pub fn next(&self, operation: &'static str, fault: &Fault, count: u64) {
        let mut plan = self.plan();
        for _ in 0..count {
            plan.next.push_back((operation, fault.clone()));
        }
    }

    /// Every call of `operation` meets `fault`, until told otherwise.
    pub fn always(&self, operation: &'static str, fault: Fault) {
        self.plan().always = Some((operation, fault));
    }

    /// Nothing goes wrong any more.
    pub fn stop(&self) {
        let mut plan = self.plan();
        plan.next.clear();
        plan.always = None;
    }

    /// How many calls went wrong.
    pub fn met(&self) -> u64 {
        self.plan().met
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Plan {
    /// What goes wrong with `call`, if anything.
    fn fault(&mut self, call: &Call) -> Option<Fault> {
        let at = self.next.iter().position(|(operation, _)| *operation == call.operation);
        let fault = match at {
            Some(at) => self.next.remove(at).map(|(_, fault)| fault),
            None => self
                .always
                .clone()
                .and_then(|(operation, fault)| (operation == call.operation).then_some(fault)),
        }?;
        if fault == Fault::LostFirstAnswer && !self.sent.insert(token(call)) {
            return None;
        }
        self.met += 1;
        Some(fault)
    }
}

/// What makes two sendings one: a transaction's token, or else all of it.
fn token(call: &Call) -> String {
    let body: Value = serde_json::from_slice(&call.body).unwrap_or_default();
    match &body["ClientRequestToken"] {
        Value::Null => body.to_string(),
        token => token.to_string(),
    }
}

#[derive(Debug)]
struct Faulty {
    next: Arc<dyn Link>,
    faults: Faults,
}

impl Link for Faulty {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Answer, Lost>> {
        let fault = self.faults.plan().fault(&call);
        Box::pin(async move {
            match fault {
                None => self.next.call(call).await,
                Some(Fault::LostAnswer | Fault::LostFirstAnswer) => {
                    self.next.call(call).await?;
                    Err(Lost)
                }
                Some(Fault::LostRequest) => Err(Lost),
                Some(Fault::Throttled) => Ok(throttled(&call)),
                Some(Fault::ServerError) => Ok(failed(&call)),
                Some(Fault::Rejected) => Ok(rejected(&call)),
                Some(Fault::Conflict(places)) => Ok(conflict(&call, &places)),
                Some(Fault::LateSuccess(places)) => {
                    self.next.call(call.clone()).await?;
                    Ok(conflict(&call, &places))
                }
                Some(Fault::RefusedEntries(places)) => self.refuse(&call, &places).await,
            }
        })
    }
}

impl Faulty {
    /// Passes a batch on without the entries at `places`, and reports those as
    /// failed.
    async fn refuse(&self, call: &Call, places: &[usize]) -> Result<Answer, Lost> {
        let mut body: Value = serde_json::from_slice(&call.body).unwrap_or_default();
        let entries = body["Entries"].as_array().cloned().unwrap_or_default();
        let (mut passed, mut failed) = (Vec::new(), Vec::new());
        for (place, entry) in entries.into_iter().enumerate() {
            let id = entry["Id"].as_str().unwrap_or_default();
            if places.contains(&place) {
                failed.push(sqs::failed_entry(id, false, "InternalError", "try again"));
            } else {
                passed.push(entry);
            }
        }
        let mut answer = Answer { status: 200, body: r#"{"Successful":[]}"#.into() };
        if !passed.is_empty() {
            body["Entries"] = passed.into();
            let call = Call { operation: call.operation.clone(), body: body.to_string().into() };
            answer = self.next.call(call).await?;
        }
        if answer.status != 200 {
            return Ok(answer);
        }
        let mut response: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        failed.extend(response["Failed"].as_array().cloned().unwrap_or_default());
        response["Failed"] = failed.into();
        Ok(Answer { status: 200, body: response.to_string().into() })
    }
}

/// Whether a call is for SQS.
fn is_for_queue(call: &Call) -> bool {
    // Every operation of SQS that a function makes has one of these in its name,
    // and none of DynamoDB's has.
    ["Queue", "Message"].iter().any(|word| call.operation.contains(word))
}

fn failed(call: &Call) -> Answer {
    if is_for_queue(call) {
        return sqs::error(500, "InternalError", "try again");
    }
    error(500, "InternalServerError", "try again")
}

fn rejected(call: &Call) -> Answer {
    if is_for_queue(call) {
        return sqs::error(400, "InvalidParameterValue", "no such thing");
    }
    error(400, "ValidationException", "no such thing")
}

/// A transaction says in its reasons that it was throttled; other calls fail as
/// a whole ([errors](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html)).
fn throttled(call: &Call) -> Answer {
    if is_for_queue(call) {
        return sqs::error(403, "RequestThrottled", "The request was denied due to throttling.");
    }
    let message = "The level of configured provisioned throughput for the table was exceeded.";
    if call.operation == "TransactWriteItems" {
        return cancelled(call, |place| (place == 0).then_some(("ThrottlingError", message)));
    }
    error(400, "ProvisionedThroughputExceededException", message)
}

fn conflict(call: &Call, places: &[usize]) -> Answer {
    let message = "Transaction is ongoing for the item";
    if call.operation != "TransactWriteItems" {
        return error(400, "TransactionConflictException", message);
    }
    cancelled(call, |place| places.contains(&place).then_some(("TransactionConflict", message)))
}

fn cancelled(
    call: &Call,
    reason: impl Fn(usize) -> Option<(&'static str, &'static str)>,
) -> Answer {
    let body: Value = serde_json::from_slice(&call.body).unwrap_or_default();
    let count = body["TransactItems"].as_array().map_or(0, Vec::len);
    let reasons = (0..count).map(|place| match reason(place) {
        Some((code, message)) => json!({ "Code": code, "Message": message }),
        None => json!({ "Code": "None" }),
    });
    let body = json!({
        "__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
        "Message": "Transaction cancelled, please refer cancellation reasons for specific reasons",
        "CancellationReasons": reasons.collect::<Vec<_>>(),
    });
    Answer { status: 400, body: body.to_string().into() }
}

fn error(status: u16, kind: &str, message: &str) -> Answer {
    let kind = format!("com.amazonaws.dynamodb.v20120810#{kind}");
    let body = json!({ "__type": kind, "message": message });
    Answer { status, body: body.to_string().into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(operation: &str, token: &str) -> Call {
        let body = json!({ "ClientRequestToken": token, "TransactItems": [1, 2] });
        Call { operation: operation.to_owned(), body: body.to_string().into() }
    }

    #[test]
    fn only_the_calls_that_are_named_go_wrong_and_only_so_many() {
        let faults = Faults::default();
        faults.next("GetItem", &Fault::LostAnswer, 2);
        let meets = |operation| faults.plan().fault(&call(operation, "t"));
        assert_eq!(meets("Query"), None);
        assert_eq!(meets("GetItem"), Some(Fault::LostAnswer));
        assert_eq!(meets("GetItem"), Some(Fault::LostAnswer));
        assert_eq!(meets("GetItem"), None);
        assert_eq!(faults.met(), 2);
    }

    #[test]
    fn a_first_answer_is_lost_once_for_each_transaction() {
        let faults = Faults::default();
        faults.always("TransactWriteItems", Fault::LostFirstAnswer);
        let meets = |token| faults.plan().fault(&call("TransactWriteItems", token)).is_some();
        assert_eq!(["a", "b", "a", "a", "b"].map(meets), [true, true, false, false, false]);
        faults.stop();
        assert!(!meets("c"));
    }

    #[test]
    fn the_first_answer_to_each_message_is_lost() {
        let faults = Faults::default();
        faults.always("SendMessage", Fault::LostFirstAnswer);
        let meets = |text: &str| {
            let body = json!({ "MessageBody": text }).to_string().into();
            let call = Call { operation: "SendMessage".to_owned(), body };
            faults.plan().fault(&call).is_some()
        };
        assert_eq!(["a", "b", "a"].map(meets), [true, true, false]);
    }

    #[test]
    fn a_conflict_names_the_items_that_are_held() {
        let answer = conflict(&call("TransactWriteItems", "t"), &[1]);
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(body["CancellationReasons"][0]["Code"], "None");
        assert_eq!(body["CancellationReasons"][1]["Code"], "TransactionConflict");
        let alone = conflict(&call("UpdateItem", "t"), &[]);
        let body: Value = serde_json::from_slice(&alone.body).unwrap();
        assert!(body["__type"].as_str().unwrap().ends_with("#TransactionConflictException"));
    }
}
