//! The embedded database: DynamoDB's JSON calls on a file.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use axum::body::Bytes;
use dynoxide::{Database, DynoxideError};
use futures_util::future::BoxFuture;
use platform::clock::Clock;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::time::Instant;

use super::streams::Streams;
use super::tokens::{Claim, Tokens, payload_hash};
use crate::link::{Answer, Call, Link, Lost};
use crate::template::Table;

/// The longest `ClientRequestToken`. The database refuses longer ones.
const LONGEST_TOKEN: usize = 36;

/// The operations that may change an item.
const WRITES: [&str; 8] = [
    "BatchExecuteStatement",
    "BatchWriteItem",
    "DeleteItem",
    "ExecuteStatement",
    "ExecuteTransaction",
    "PutItem",
    "TransactWriteItems",
    "UpdateItem",
];

/// DynamoDB in a file of this process.
pub struct Embedded {
    database: Database,
    tokens: Tokens,
    streams: Streams,
    /// How often something was written.
    writes: watch::Sender<u64>,
    path: PathBuf,
    /// Dropped after the database.
    _home: Home,
}

/// Where the file lies.
enum Home {
    /// In a folder that goes when the database does.
    Temporary { _folder: TempDir },
    /// In a folder of the caller's, locked against a second process.
    Kept { _lock: File },
}

/// A database that cannot be opened or made ready.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// The folder cannot be used.
    #[error("cannot use {} for data: {error}; choose another --data-dir", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why not.
        error: std::io::Error,
    },
    /// Another local cloud has it open.
    #[error("{} is in use by another local cloud: stop it, or choose another --data-dir", .0.display())]
    InUse(PathBuf),
    /// The file is there and is none of ours.
    #[error("{} is no database, or a damaged one: choose another --data-dir", .0.display())]
    NoDatabase(PathBuf),
    /// The database itself failed.
    #[error("the database failed: {0}")]
    Database(String),
    /// A table was made by another version of the template.
    #[error("the table {0} is not the one in template.yaml: start with an empty --data-dir")]
    OtherTable(String),
}

impl From<DynoxideError> for StorageError {
    fn from(error: DynoxideError) -> Self {
        Self::Database(error.to_string())
    }
}

impl From<rusqlite::Error> for StorageError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error.to_string())
    }
}

impl Embedded {
    /// Opens the database in `data_dir`, which survives this process and a
    /// crash of it, or a new one that goes when it is dropped. Its streams have
    /// the time of `clock`.
    pub fn open(data_dir: Option<&Path>, clock: &Clock) -> Result<Self, StorageError> {
        let (folder, home) = match data_dir {
            Some(folder) => (folder.to_owned(), Home::keep(folder)?),
            None => Home::temporary()?,
        };
        let path = folder.join("dynamodb.sqlite");
        let database = Database::new(&path.to_string_lossy())
            .map_err(|_| StorageError::NoDatabase(path.clone()))?;
        match home {
            Home::Temporary { .. } => database.enable_bulk_loading()?, // never waits for the disk
            Home::Kept { .. } => database.disable_bulk_loading()?,     // every write is in the log
        }
        let streams = Streams::open(&path, clock)?;
        let (tokens, writes) = (Tokens::default(), watch::Sender::default());
        Ok(Self { database, tokens, streams, writes, path, _home: home })
    }

    /// Creates those of `tables` that are missing.
    pub fn create_tables(&self, tables: &[Table]) -> Result<(), StorageError> {
        for table in tables {
            self.create_table(table)?;
        }
        if tables.iter().any(Table::has_stream) {
            self.streams.add_index()?;
        }
        Ok(())
    }

    fn create_table(&self, table: &Table) -> Result<(), StorageError> {
        let name = json!({ "TableName": table.name });
        let (status, there) = self.run("DescribeTable", &name);
        if status == 200 {
            return if is_made_by(&there["Table"], &table.definition) {
                Ok(())
            } else {
                Err(StorageError::OtherTable(table.name.clone()))
            };
        }
        self.require("CreateTable", &table.definition)?;
        if let Some(attribute) = &table.ttl_attribute {
            let specification = json!({ "AttributeName": attribute, "Enabled": true });
            let request = json!({
                "TableName": table.name,
                "TimeToLiveSpecification": specification,
            });
            self.require("UpdateTimeToLive", &request)?;
        }
        Ok(())
    }

    /// The records of what was changed.
    pub(crate) fn streams(&self) -> &Streams {
        &self.streams
    }

    /// How often something was written so far, for whom it is a sign to look
    /// at the streams.
    pub(crate) fn writes(&self) -> watch::Receiver<u64> {
        self.writes.subscribe()
    }

    pub(super) fn run(&self, operation: &str, request: &Value) -> (u16, Value) {
        let answer = self.answer(operation, request.to_string().as_bytes());
        let body = serde_json::from_slice(&answer.body).unwrap_or_default();
        (answer.status, body)
    }

    fn require(&self, operation: &str, request: &Value) -> Result<(), StorageError> {
        match self.run(operation, request) {
            (200, _) => Ok(()),
            (_, error) => Err(StorageError::Database(format!("{operation}: {error}"))),
        }
    }

    /// Answers one call, and blocks until it has.
    fn answer(&self, operation: &str, body: &[u8]) -> Answer {
        let writes = WRITES.contains(&operation);
        if writes {
            self.streams.keep_time();
        }
        let done = match operation {
            "TransactWriteItems" => self.transact(body),
            _ => dispatch(&self.database, operation, body),
        };
        if writes && done.is_ok() {
            self.writes.send_modify(|count| *count += 1);
        }
        match done {
            Ok(body) => Answer { status: 200, body },
            Err(Refusal { status, body }) => Answer { status, body },
        }
    }

    fn transact(&self, body: &[u8]) -> Result<Bytes, Refusal> {
        let request: Value = read(body)?;
        let token = request["ClientRequestToken"].as_str();
        let token = token.filter(|token| (1..=LONGEST_TOKEN).contains(&token.len()));
        let Some(token) = token else {
            return run(body, |r| self.database.transact_write_items(r));
        };
        let claim = self.tokens.claim(token, payload_hash(&request), Instant::now());
        let running = match claim {
            Claim::New(running) => running,
            Claim::Done(response) => return Ok(response),
            Claim::Mismatch => {
                return Err(DynoxideError::IdempotentParameterMismatchException(
                    "The ClientRequestToken was used before, with other items".to_owned(),
                )
                .into());
            }
            Claim::InProgress => {
                return Err(Refusal::named(
                    "com.amazonaws.dynamodb.v20120810#TransactionInProgressException",
                    "The transaction with the given request token is already in progress",
                ));
            }
        };
        let response = run(
            body,
            |mut r: dynoxide::actions::transact_write_items::TransactWriteItemsRequest| {
                r.client_request_token = None;
                self.database.transact_write_items(r)
            },
        )?;
        running.succeeded(response.clone(), Instant::now());
        Ok(response)
    }
}

impl Link for Embedded {
    /// Runs on the caller's thread, so that in simulated time it takes none, and
    /// lets other requests go first, which otherwise wait for those that never
    /// pause. 100 users enrolling on two busy cores: 1,314/s, p95 117 ms; without
    /// the pause 618/s, 427 ms; on a thread of its own 890/s, 156 ms.
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Answer, Lost>> {
        Box::pin(async move {
            tokio::task::yield_now().await;
            Ok(self.answer(&call.operation, &call.body))
        })
    }
}

impl std::fmt::Debug for Embedded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Embedded").field("path", &self.path).finish()
    }
}

impl Home {
    fn temporary() -> Result<(PathBuf, Self), StorageError> {
        let folder = tempfile::Builder::new().prefix("hotseat-").tempdir();
        let folder =
            folder.map_err(|error| StorageError::Folder { path: std::env::temp_dir(), error })?;
        Ok((folder.path().to_owned(), Self::Temporary { _folder: folder }))
    }

    fn keep(folder: &Path) -> Result<Self, StorageError> {
        let unusable = |error| StorageError::Folder { path: folder.to_owned(), error };
        std::fs::create_dir_all(folder).map_err(unusable)?;
        let lock = File::create(folder.join("lock")).map_err(unusable)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self::Kept { _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(StorageError::InUse(folder.to_owned())),
            Err(TryLockError::Error(error)) => Err(unusable(error)),
        }
    }
}

/// Whether a table that is there has the keys, indexes and stream of
/// `definition`.
fn is_made_by(there: &Value, definition: &Value) -> bool {
    let indexes = |table: &Value, kind: &str| {
        let indexes = table[kind].as_array().into_iter().flatten();
        let mut indexes: Vec<_> = indexes
            .map(|index| json!([index["IndexName"], index["KeySchema"]]).to_string())
            .collect();
        indexes.sort();
        indexes
    };
    let stream = |table: &Value| table["StreamSpecification"]["StreamViewType"].clone();
    there["KeySchema"] == definition["KeySchema"]
        && stream(there) == stream(definition)
        && ["GlobalSecondaryIndexes", "LocalSecondaryIndexes"]
            .iter()
            .all(|kind| indexes(there, kind) == indexes(definition, kind))
}

/// An answer that is an error.
struct Refusal {
    status: u16,
    body: Bytes,
}

impl Refusal {
    fn named(kind: &str, message: &str) -> Self {
        let body = json!({ "__type": kind, "message": message });
        Self { status: 400, body: body.to_string().into() }
    }
}

impl From<DynoxideError> for Refusal {
    fn from(error: DynoxideError) -> Self {
        Self { status: error.status_code(), body: error.to_json().into() }
    }
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(body).map_err(|error| unreadable(&error.to_string()).into())
}

/// DynamoDB tells JSON of the wrong shape from values that it does not allow.
/// The database marks some of its messages with which it is.
fn unreadable(message: &str) -> DynoxideError {
    let (marker, rest) = message.split_once(':').unwrap_or_default();
    let values = ["missing field", "unknown variant", "invalid type: null", "AttributeValue"];
    match marker {
        "VALIDATION" | "VALIDATION_REQUEST" => DynoxideError::ValidationException(rest.to_owned()),
        "SERIALIZATION" => DynoxideError::SerializationException(rest.to_owned()),
        _ if values.iter().any(|value| message.contains(value)) => {
            DynoxideError::ValidationException(message.to_owned())
        }
        _ => DynoxideError::SerializationException(message.to_owned()),
    }
}

fn run<T: DeserializeOwned, R: Serialize>(
    body: &[u8],
    operation: impl FnOnce(T) -> dynoxide::Result<R>,
) -> Result<Bytes, Refusal> {
    let response = operation(read(body)?)?;
    let response = serde_json::to_vec(&response);
    let response = response.map_err(|e| DynoxideError::InternalServerError(e.to_string()))?;
    Ok(response.into())
}

fn dispatch(database: &Database, operation: &str, body: &[u8]) -> Result<Bytes, Refusal> {
    match operation {
        "BatchExecuteStatement" => run(body, |r| database.batch_execute_statement(r)),
        "BatchGetItem" => run(body, |r| database.batch_get_item(r)),
        "BatchWriteItem" => run(body, |r| database.batch_write_item(r)),
        "CreateTable" => run(body, |r| database.create_table(r)),
        "DeleteItem" => run(body, |r| database.delete_item(r)),
        "DeleteTable" => run(body, |r| database.delete_table(r)),
        "DescribeStream" => run(body, |r| database.describe_stream(r)),
        "DescribeTable" => run(body, |r| database.describe_table(r)),
        "DescribeTimeToLive" => run(body, |r| database.describe_time_to_live(r)),
        "ExecuteStatement" => run(body, |r| database.execute_statement(r)),
        "ExecuteTransaction" => run(body, |r| database.execute_transaction(r)),
        "GetItem" => run(body, |r| database.get_item(r)),
        "GetRecords" => run(body, |r| database.get_records(r)),
        "GetShardIterator" => run(body, |r| database.get_shard_iterator(r)),
        "ListStreams" => run(body, |r| database.list_streams(r)),
        "ListTables" => run(body, |r| database.list_tables(r)),
        "ListTagsOfResource" => run(body, |r| database.list_tags_of_resource(r)),
        "PutItem" => run(body, |r| database.put_item(r)),
        "Query" => run(body, |r| database.query(r)),
        "Scan" => run(body, |r| database.scan(r)),
        "TagResource" => run(body, |r| database.tag_resource(r)),
        "TransactGetItems" => run(body, |r| database.transact_get_items(r)),
        "UntagResource" => run(body, |r| database.untag_resource(r)),
        "UpdateItem" => run(body, |r| database.update_item(r)),
        "UpdateTable" => run(body, |r| database.update_table(r)),
        "UpdateTimeToLive" => run(body, |r| database.update_time_to_live(r)),
        _ => Err(Refusal::named(
            "com.amazon.coral.service#UnknownOperationException",
            "The local cloud does not know this operation",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str, stream: bool) -> Table {
        let mut definition = json!({
            "TableName": name,
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{ "AttributeName": "pk", "AttributeType": "S" }],
            "KeySchema": [{ "AttributeName": "pk", "KeyType": "HASH" }],
        });
        if stream {
            definition["StreamSpecification"] =
                json!({ "StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES" });
        }
        Table {
            logical_id: format!("{name}Table"),
            name: name.to_owned(),
            definition,
            ttl_attribute: Some("expires_at_s".to_owned()),
        }
    }

    fn opened() -> Embedded {
        let embedded = Embedded::open(None, &Clock::System).unwrap();
        embedded.create_tables(&[table("Things", true)]).unwrap();
        embedded
    }

    fn add_one(token: Option<&str>) -> Value {
        let mut request = json!({ "TransactItems": [{ "Update": {
            "TableName": "Things",
            "Key": { "pk": { "S": "a" } },
            "UpdateExpression": "ADD n :one",
            "ConditionExpression": "attribute_not_exists(n) OR n < :most",
            "ExpressionAttributeValues": { ":one": { "N": "1" }, ":most": { "N": "3" } },
        }}]});
        if let Some(token) = token {
            request["ClientRequestToken"] = json!(token);
        }
        request
    }

    fn count(embedded: &Embedded) -> String {
        let key = json!({ "TableName": "Things", "Key": { "pk": { "S": "a" } } });
        let (status, item) = embedded.run("GetItem", &key);
        assert_eq!(status, 200, "{item}");
        item["Item"]["n"]["N"].as_str().unwrap_or("none").to_owned()
    }

    #[tokio::test]
    async fn a_transaction_with_a_token_is_done_once() {
        let embedded = opened();
        for _ in 0..3 {
            assert_eq!(embedded.run("TransactWriteItems", &add_one(Some("t"))).0, 200);
        }
        assert_eq!(count(&embedded), "1");
        let mut other = add_one(Some("t"));
        other["TransactItems"][0]["Update"]["Key"]["pk"]["S"] = json!("b");
        let (status, error) = embedded.run("TransactWriteItems", &other);
        assert_eq!(status, 400);
        let kind = error["__type"].as_str().unwrap();
        assert!(kind.ends_with("#IdempotentParameterMismatchException"), "{kind}");
    }

    #[tokio::test]
    async fn a_refused_transaction_may_be_sent_again_with_its_token() {
        let embedded = opened();
        for _ in 0..3 {
            assert_eq!(embedded.run("TransactWriteItems", &add_one(None)).0, 200);
        }
        for _ in 0..2 {
            let (status, error) = embedded.run("TransactWriteItems", &add_one(Some("t")));
            assert_eq!(status, 400);
            assert_eq!(error["CancellationReasons"][0]["Code"], "ConditionalCheckFailed");
        }
        assert_eq!(count(&embedded), "3");
    }

    #[tokio::test]
    async fn a_token_of_a_wrong_length_is_refused() {
        let embedded = opened();
        let long = "t".repeat(LONGEST_TOKEN + 1);
        let (status, error) = embedded.run("TransactWriteItems", &add_one(Some(&long)));
        assert_eq!(status, 400, "{error}");
        assert!(error["__type"].as_str().unwrap().ends_with("#ValidationException"));
    }

    #[test]
    fn what_is_no_call_is_refused() {
        let embedded = opened();
        let kind = |operation: &str, body: &str| {
            let answer = embedded.answer(operation, body.as_bytes());
            assert_eq!(answer.status, 400);
            let error: Value = serde_json::from_slice(&answer.body).unwrap();
            error["__type"].as_str().unwrap().rsplit('#').next().unwrap().to_owned()
        };
        assert_eq!(kind("Fly", "{}"), "UnknownOperationException");
        assert_eq!(kind("GetItem", "{"), "SerializationException");
        assert_eq!(kind("TransactWriteItems", ""), "SerializationException");
        let nowhere = r#"{"TableName": "Nowhere", "Key": {"pk": {"S": "a"}}}"#;
        assert_eq!(kind("GetItem", nowhere), "ResourceNotFoundException");
        let empty = r#"{"TableName": "Things", "Key": {"pk": {}}}"#;
        assert_eq!(kind("GetItem", empty), "ValidationException");
    }

    #[test]
    fn tables_are_made_once_and_must_be_those_of_the_template() {
        let folder = tempfile::tempdir().unwrap();
        let open = |tables: &[Table]| {
            Embedded::open(Some(folder.path()), &Clock::System)?.create_tables(tables)
        };
        open(&[table("Things", false)]).unwrap();
        open(&[table("Things", false), table("Others", true)]).unwrap();
        let mut changed = table("Things", false);
        changed.definition["KeySchema"][0]["AttributeName"] = json!("id");
        let error = open(&[changed]).unwrap_err().to_string();
        assert!(error.contains("Things") && error.contains("--data-dir"), "{error}");
    }

    #[test]
    fn a_file_that_is_no_database_is_named() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("dynamodb.sqlite"), [b'x'; 4096]).unwrap();
        let error = Embedded::open(Some(folder.path()), &Clock::System).unwrap_err().to_string();
        assert!(error.contains("dynamodb.sqlite is no database"), "{error}");
    }

    #[test]
    fn temporary_files_go_with_the_database() {
        let embedded = opened();
        let folder = embedded.path.parent().unwrap().to_owned();
        assert!(folder.exists());
        drop(embedded);
        assert!(!folder.exists());
    }
}
