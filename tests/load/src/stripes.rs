//! Spreads counters and pools over another number of stripes than the system does,
//! to see what that number is good for.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::DisplayErrorContext;
use platform::table::{Key, n};

use crate::error::Error;

/// Sets numbers of an item that has them already.
pub(crate) async fn set(
    client: &Client,
    table: &str,
    key: Key,
    numbers: &[(&str, u64)],
) -> Result<(), Error> {
    let sets: Vec<_> = numbers.iter().map(|(name, _)| format!("{name} = :{name}")).collect();
    let there: Vec<_> =
        numbers.iter().map(|(name, _)| format!("attribute_exists({name})")).collect();
    let mut update = client
        .update_item()
        .table_name(table)
        .set_key(Some(key.into_item()))
        .update_expression(format!("SET {}", sets.join(", ")))
        .condition_expression(there.join(" AND "));
    for (name, number) in numbers {
        update = update.expression_attribute_values(format!(":{name}"), n(number));
    }
    let updated = update.send().await;
    updated.map_err(|error| Error::Stripes(DisplayErrorContext(error).to_string()))?;
    Ok(())
}
