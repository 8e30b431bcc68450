//! Spreads the seats of courses over another number of stripes than `put-course`
//! does, to see what that number is good for.

use aws_sdk_dynamodb::Client;
use enrollment::{CourseId, TABLE, keys};
use platform::stripes;

use super::plan::Plan;
use crate::error::Error;
use crate::stripes::set;

/// Of each course, puts all seats into its first `count` stripes. Nobody may
/// have enrolled yet.
pub(super) async fn spread(client: &Client, plan: &Plan, count: u32) -> Result<(), Error> {
    for course in 0..plan.courses() {
        let id = CourseId::try_from(plan.course_id(course)).map_err(failed)?;
        let seats = plan.capacity(course);
        let count = count.min(stripes::count(seats));
        for (number, seats) in (0..count).zip(stripes::split(seats, count)) {
            let key = keys::seats(id, number);
            set(client, TABLE.default, key, &[("seats", seats), ("seats_left", seats)]).await?;
        }
        set(client, TABLE.default, keys::course(id), &[("stripes", count.into())]).await?;
    }
    Ok(())
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Stripes(error.to_string())
}
