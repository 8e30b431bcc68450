//! What carries a call to a service of AWS, and its answer back.

use axum::body::Bytes;
use futures_util::future::BoxFuture;

/// A call of the API of DynamoDB or SQS.
#[derive(Clone, Debug)]
pub struct Call {
    /// The operation, as in `TransactWriteItems`.
    pub operation: String,
    /// The request in JSON.
    pub body: Bytes,
}

/// What the service answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The response or the error in JSON.
    pub body: Bytes,
}

/// No answer came. The call may have been applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the connection broke before the answer came")]
pub struct Lost;

/// A way to a service. A link may delay calls, change what comes back, or lose
/// it, and pass the rest on to another.
pub trait Link: Send + Sync + std::fmt::Debug {
    /// Makes one call.
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Answer, Lost>>;
}
