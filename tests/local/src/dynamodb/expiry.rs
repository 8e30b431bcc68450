//! Expiry: items whose time is over are deleted, and their stream says by whom.
//!
//! By the cloud's clock, which the embedded database's own sweep does not know.
//! Writers wait for no search, and each deletion has the condition that the
//! item's time is still the one seen.

use rusqlite::Connection;
use serde_json::{Map, Value, json};

use super::embedded::Embedded;
use super::{StorageError, streams};
use crate::template::Table;
use platform::clock::Instant;

/// DynamoDB lets items be whose time was over so long ago
/// ([source](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/time-to-live-ttl-before-you-start.html)).
const FIVE_YEARS_S: i64 = 5 * 365 * 86_400;

/// How many items are looked at before others have their turn.
const PAGE: u32 = 2_000;

/// Who deletes, as a stream's record has it
/// ([source](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/time-to-live-ttl-streams.html)).
const IDENTITY: &str = r#"{"type":"Service","principalId":"dynamodb.amazonaws.com"}"#;

/// Some items of a table.
struct Page {
    /// The last of them.
    last: i64,
    /// Those whose time is over.
    expired: Vec<Value>,
}

impl Embedded {
    /// Deletes the items that have expired, and says how many there were.
    pub(crate) async fn expire(
        &self,
        tables: &[Table],
        now: Instant,
    ) -> Result<usize, StorageError> {
        let mut deleted = 0;
        for table in tables {
            let Some(attribute) = &table.ttl_attribute else { continue };
            let mut after = 0;
            while let Some(page) = self.page(table, attribute, after, now)? {
                after = page.last;
                for item in &page.expired {
                    deleted += usize::from(self.delete_expired(table, attribute, item)?);
                    tokio::task::yield_now().await;
                }
                tokio::task::yield_now().await;
            }
        }
        Ok(deleted)
    }

    /// Looks at the items after the row `after`; `None` if there are none.
    fn page(
        &self,
        table: &Table,
        attribute: &str,
        after: i64,
        now: Instant,
    ) -> Result<Option<Page>, StorageError> {
        let connection = self.streams().connection();
        let mut statement = connection.prepare_cached(&format!(
            "SELECT rowid, CASE WHEN CAST(json_extract(item_json, ?1) AS REAL) < ?2
                                 AND CAST(json_extract(item_json, ?1) AS REAL) > ?3
                           THEN item_json END
             FROM \"{}\" WHERE rowid > ?4 ORDER BY rowid LIMIT {PAGE}",
            table.name
        ))?;
        let (path, now_s) = (format!("$.\"{attribute}\".N"), now.as_seconds());
        let parameters = rusqlite::params![path, now_s, now_s - FIVE_YEARS_S, after];
        let rows = statement.query_map(parameters, |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, Option<String>>(1)?))
        })?;
        let mut page = None;
        for row in rows {
            let (last, expired) = row?;
            let page = page.get_or_insert_with(|| Page { last, expired: Vec::new() });
            page.last = last;
            page.expired.extend(expired.and_then(|item| serde_json::from_str(&item).ok()));
        }
        Ok(page)
    }

    /// Deletes one item. Nobody reads the stream until the record says by whom.
    fn delete_expired(
        &self,
        table: &Table,
        attribute: &str,
        item: &Value,
    ) -> Result<bool, StorageError> {
        let names = table.definition["KeySchema"].as_array().into_iter().flatten();
        let names = names.filter_map(|key| key["AttributeName"].as_str());
        let key: Map<_, _> = names.map(|name| (name.to_owned(), item[name].clone())).collect();
        let request = json!({
            "TableName": table.name,
            "Key": key,
            "ConditionExpression": "#expires = :seen",
            "ExpressionAttributeNames": { "#expires": attribute },
            "ExpressionAttributeValues": { ":seen": item[attribute] },
        });
        let connection = self.streams().connection();
        let before = streams::last(&connection, &table.name)?;
        let (status, _) = self.run("DeleteItem", &request);
        if status == 200 && table.has_stream() {
            sign(&connection, &table.name, before, &Value::Object(key))?;
        }
        Ok(status == 200)
    }
}

/// Writes into the record of a deletion who deleted.
fn sign(connection: &Connection, table: &str, after: i64, key: &Value) -> Result<(), StorageError> {
    let mut statement = connection.prepare_cached(
        "SELECT id, keys_json FROM _stream_records
         WHERE table_name = ?1 AND CAST(sequence_number AS INTEGER) > ?2
           AND event_name = 'REMOVE'",
    )?;
    let records = statement.query_map(rusqlite::params![table, after], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
    })?;
    for record in records {
        let (id, keys) = record?;
        if serde_json::from_str::<Value>(&keys).is_ok_and(|keys| keys == *key) {
            let update = "UPDATE _stream_records SET user_identity = ?1 WHERE id = ?2";
            connection.execute(update, rusqlite::params![IDENTITY, id])?;
            break;
        }
    }
    Ok(())
}
