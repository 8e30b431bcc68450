//! A gate on the way to the table: it holds one call while others overtake it.
//!
//! A test that uses it pauses Tokio's clock (`start_paused`), so that what is
//! held is not taken for lost.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use local::faults::Layer;
use local::link::{Answer, Call, Link, Lost};
use tokio::sync::Notify;

/// Holds one call until it is opened.
#[derive(Clone, Debug, Default)]
pub struct Gate(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    to_hold: Mutex<Option<ToHold>>,
    reached: Notify,
    opened: Notify,
}

#[derive(Debug)]
struct ToHold {
    operation: &'static str,
    nth: u32,
}

impl Gate {
    /// The `nth` call of `operation` from now on is the one to hold.
    pub fn hold(&self, operation: &'static str, nth: u32) {
        *self.to_hold() = Some(ToHold { operation, nth });
    }

    /// Waits until the call is held.
    pub async fn reached(&self) {
        self.0.reached.notified().await;
    }

    /// What comes of `late`, whose `nth` call of `operation` is held while
    /// `meanwhile` happens.
    pub async fn overtaken<T>(
        &self,
        (operation, nth): (&'static str, u32),
        late: impl Future<Output = T>,
        meanwhile: impl Future<Output = ()>,
    ) -> T {
        self.hold(operation, nth);
        let overtake = async {
            self.reached().await;
            meanwhile.await;
            self.open();
        };
        tokio::join!(late, overtake).0
    }

    /// Lets the call pass.
    pub fn open(&self) {
        self.0.opened.notify_one();
    }

    pub(crate) fn layer(&self) -> Layer {
        let gate = self.clone();
        Arc::new(move |next| Arc::new(Gated { next, gate: gate.clone() }))
    }

    fn to_hold(&self) -> MutexGuard<'_, Option<ToHold>> {
        self.0.to_hold.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether `call` is the one to hold.
    fn holds(&self, call: &Call) -> bool {
        let mut to_hold = self.to_hold();
        let Some(ToHold { nth, .. }) =
            to_hold.as_mut().filter(|to_hold| to_hold.operation == call.operation)
        else {
            return false;
        };
        *nth -= 1;
        let is_it = *nth == 0;
        if is_it {
            *to_hold = None;
        }
        is_it
    }
}

#[derive(Debug)]
struct Gated {
    next: Arc<dyn Link>,
    gate: Gate,
}

impl Link for Gated {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Answer, Lost>> {
        let is_held = self.gate.holds(&call);
        Box::pin(async move {
            if is_held {
                self.gate.0.reached.notify_one();
                self.gate.0.opened.notified().await;
            }
            self.next.call(call).await
        })
    }
}
