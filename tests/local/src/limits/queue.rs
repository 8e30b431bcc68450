//! SQS with its limits: calls take their time, some are throttled, and some
//! answers are lost.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;

use super::{Limits, SLOW, Trouble};
use crate::link::{Answer, Call, Link, Lost};
use crate::sqs;

/// Queues with limits.
#[derive(Debug)]
pub(crate) struct LimitedQueue {
    next: Arc<dyn Link>,
    limits: Limits,
    random: Mutex<fastrand::Rng>,
}

impl LimitedQueue {
    pub(crate) fn new(next: Arc<dyn Link>, limits: Limits, random: fastrand::Rng) -> Self {
        Self { next, limits, random: Mutex::new(random) }
    }
}

impl Link for LimitedQueue {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Answer, Lost>> {
        let (fate, is_throttled) = {
            let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
            (self.limits.fate(&mut random), random.f64() < self.limits.queue_throttles)
        };
        Box::pin(async move {
            tokio::time::sleep(fate.way).await;
            let answer = match fate.trouble {
                _ if is_throttled => throttled(),
                Trouble::ErrorBefore => failed(),
                _ => self.next.call(call).await?,
            };
            tokio::time::sleep(fate.way).await;
            match fate.trouble {
                Trouble::LostAnswer => return Err(Lost),
                Trouble::ErrorAfter => return Ok(failed()),
                Trouble::SlowAnswer => tokio::time::sleep(SLOW).await,
                Trouble::None | Trouble::ErrorBefore => {}
            }
            Ok(answer)
        })
    }
}

/// Words of the service
/// ([source](https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html#API_SendMessage_Errors)).
fn throttled() -> Answer {
    sqs::error(403, "RequestThrottled", "The request was denied due to request throttling.")
}

fn failed() -> Answer {
    sqs::error(500, "InternalError", "We encountered an internal error. Please try again.")
}
