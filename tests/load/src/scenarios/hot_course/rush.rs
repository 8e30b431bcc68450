//! Users working through a list of errands: enrollments or drops.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use http::Method;
use serde_json::json;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

use super::ledger::Ledger;
use super::plan::Plan;
use crate::call::Request;
use crate::caller::Caller;
use crate::report::Decile;
use crate::status::Status;
use crate::users::{Script, Stop};
use crate::way::Way;

const TENTHS: usize = 10;

/// What to do for a student.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Action {
    /// Enroll in the course that it wants.
    Enroll,
    /// Drop it.
    Drop,
}

/// One request to make.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Errand {
    /// The student, by its place in the plan.
    pub(crate) student: usize,
    /// What to do.
    pub(crate) action: Action,
}

/// Errands that users take one after the other.
pub(crate) struct Rush {
    plan: Arc<Plan>,
    ledger: Arc<Ledger>,
    errands: Vec<Errand>,
    next: AtomicUsize,
    through: AtomicUsize,
    deciles: Option<UnboundedSender<usize>>,
}

impl Rush {
    /// A rush of these errands.
    pub(crate) fn new(plan: &Arc<Plan>, ledger: &Arc<Ledger>, errands: Vec<Errand>) -> Self {
        let (plan, ledger) = (Arc::clone(plan), Arc::clone(ledger));
        let (next, through) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self { plan, ledger, errands, next, through, deciles: None }
    }

    /// The same, telling `deciles` when each tenth is through.
    #[must_use]
    pub(crate) fn with_deciles(mut self, deciles: UnboundedSender<usize>) -> Self {
        self.deciles = Some(deciles);
        self
    }

    /// How many errands there are.
    pub(crate) fn total(&self) -> u64 {
        self.errands.len() as u64
    }

    fn request(&self, errand: Errand) -> Request {
        let course_id = self.plan.course_id(self.plan.wanted_by(errand.student));
        let student_id = self.plan.student_id(errand.student);
        let request = match errand.action {
            Action::Enroll => Request::new("enroll", Method::POST, "/enrollments")
                .body(json!({ "studentId": student_id, "courseId": course_id })),
            Action::Drop => {
                let path = format!("/enrollments/{student_id}/{course_id}");
                Request::new("drop", Method::DELETE, path)
            }
        };
        request.token(self.plan.token(errand.student))
    }

    fn count(&self) {
        let through = self.through.fetch_add(1, Ordering::Relaxed) + 1;
        let tenth = through * TENTHS / self.errands.len();
        let is_new = tenth > (through - 1) * TENTHS / self.errands.len();
        if let Some(deciles) = self.deciles.as_ref().filter(|_| is_new) {
            // Nobody listens when there is no status page.
            let _ = deciles.send(tenth);
        }
    }
}

#[async_trait]
impl Script for Rush {
    async fn play(&self, caller: &Caller, stop: &Stop) {
        while !stop.is_set() {
            let next = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(errand) = self.errands.get(next) else { return };
            let outcome = caller.send(&self.request(*errand)).await;
            self.ledger.note(errand.student, errand.action, &outcome);
            self.count();
        }
    }
}

/// Reads the status page whenever a tenth is through, and works out what an
/// enrollment cost since the tenth before.
pub(crate) async fn watch_deciles(
    way: Way,
) -> (UnboundedSender<usize>, JoinHandle<Option<Vec<Decile>>>) {
    let (sender, mut receiver) = unbounded_channel();
    let mut before = Status::read(&way).await.map(|status| status.of("enroll"));
    let watch = tokio::spawn(async move {
        let mut deciles = Vec::with_capacity(TENTHS);
        while let Some(tenth) = receiver.recv().await {
            let now = Status::read(&way).await?.of("enroll");
            let spent = now.since(&before?);
            before = Some(now);
            deciles.push(Decile { tenth, requests: spent.requests, cost: spent.per_request() });
        }
        Some(deciles)
    });
    (sender, watch)
}
