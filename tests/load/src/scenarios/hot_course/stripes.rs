//! Spreads the seats of courses over another number of stripes than `put-course`
//! does, to see what that number is good for.

use aws_sdk_dynamodb::Client;
use enrollment::{CourseId, TABLE, keys};
use platform::stripes;
use platform::table::{Key, n};

use super::plan::Plan;
use crate::error::Error;

/// Of each course, puts all seats into its first `count` stripes. Nobody may
/// have enrolled yet.
pub(super) async fn spread(client: &Client, plan: &Plan, count: u32) -> Result<(), Error> {
    for course in 0..plan.courses() {
        let id = CourseId::try_from(plan.course_id(course)).map_err(failed)?;
        let seats = plan.capacity(course);
        let count = count.min(stripes::count(seats));
        for (number, seats) in (0..count).zip(stripes::split(seats, count)) {
            let key = keys::seats(id, number);
            set(client, key, &[("seats", seats), ("seats_left", seats)]).await?;
        }
        set(client, keys::course(id), &[("stripes", count.into())]).await?;
    }
    Ok(())
}

async fn set(client: &Client, key: Key, numbers: &[(&str, u64)]) -> Result<(), Error> {
    let sets: Vec<_> = numbers.iter().map(|(name, _)| format!("{name} = :{name}")).collect();
    let mut update = client
        .update_item()
        .table_name(TABLE.default)
        .set_key(Some(key.into_item()))
        .update_expression(format!("SET {}", sets.join(", ")))
        .condition_expression("attribute_exists(pk)");
    for (name, number) in numbers {
        update = update.expression_attribute_values(format!(":{name}"), n(number));
    }
    update.send().await.map(drop).map_err(|error| failed(error.into_service_error()))
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Stripes(error.to_string())
}
