//! Creates the courses and students of a run, through the API.

use std::sync::Arc;

use futures_util::{TryStreamExt, stream};
use http::Method;

use super::plan::Plan;
use crate::call::Request;
use crate::caller::{Caller, Refused};

/// Requests under way at a time.
pub(crate) const AT_A_TIME: usize = 50;

/// Creates the courses, then the students.
pub(crate) async fn create(staff: &Caller, token: &Arc<str>, plan: &Plan) -> Result<(), Refused> {
    let courses = (0..plan.courses()).map(|course| {
        let path = format!("/courses/{}", plan.course_id(course));
        Request::new("put-course", Method::PUT, path).body(plan.course_body(course))
    });
    let students = (0..plan.students()).map(|student| {
        let path = format!("/students/{}", plan.student_id(student));
        Request::new("put-student", Method::PUT, path).body(plan.student_body(student))
    });
    let put = |request: Request| async move { staff.insist(&request.token(token)).await };
    stream::iter(courses.chain(students).map(Ok))
        .try_for_each_concurrent(AT_A_TIME, |request| async move { put(request).await.map(drop) })
        .await
}
