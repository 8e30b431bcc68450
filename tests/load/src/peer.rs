//! The peer: a service with the same endpoint over a relational database, which
//! the same users send the same enrollments to.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use http::Method;
use serde_json::json;

use crate::call::Request;
use crate::caller::Caller;
use crate::error::Error;
use crate::progress;
use crate::record::{Recorder, Samples};
use crate::users::{Script, Stop, Users};

/// The students that the peer has.
pub(crate) const STUDENTS: u64 = 100_000;
/// The course that everybody wants there.
const COURSE: u64 = 1;

/// Students from 1 on, who enroll one after the other.
struct Enrollments {
    next: AtomicU64,
    last: u64,
}

#[async_trait]
impl Script for Enrollments {
    async fn play(&self, caller: &Caller, stop: &Stop) {
        while !stop.is_set() {
            let student = self.next.fetch_add(1, Ordering::Relaxed);
            if student > self.last {
                return;
            }
            let body = json!({ "studentId": student, "courseId": COURSE });
            let request = Request::new("enroll", Method::POST, "/enrollments").body(body);
            // The recorder has the outcome, and that is all that is asked here.
            let _ = caller.send(&request).await;
        }
    }
}

/// Lets `users` enroll the peer's first students.
pub(crate) async fn run(users: &Users, enrollments: u64) -> Result<Samples, Error> {
    let recorder = Arc::new(Recorder::new()?);
    let script = Arc::new(Enrollments { next: AtomicU64::new(1), last: enrollments });
    let playing = users.play(script, &recorder);
    progress::show("peer", enrollments, &recorder, playing).await?;
    Ok(recorder.samples())
}
