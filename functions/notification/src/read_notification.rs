//! `PUT /notifications/{id}/read`: the caller has read a notification.
//!
//! The first time counts: reading it again changes nothing.

use platform::auth;
use platform::clock::Instant;
use platform::operation;
use platform::problem::Kind;
use platform::table::{Key, Read, Write, WriteError, n};
use platform::{App, Function, Operation, Problem, Reply, Request, http};

use crate::item::{self, Notification, View};
use crate::{TABLE, keys};

/// The function.
pub static FUNCTION: Function = Function::http("read-notification", |a, r| Box::pin(handle(a, r)));

/// There is no such notification, or it is somebody else's.
pub const NOTIFICATION_NOT_FOUND: Kind =
    Kind::new(404, "NOTIFICATION_NOT_FOUND", "There is no such notification.");

/// The longest id that is looked for.
const MOST_ID_BYTES: usize = 200;

platform::schema! {
    /// The id of a notification, in the document.
    NotificationId = operation::pattern("^[A-Za-z0-9_-]{1,200}$")
}

/// What the document says of it.
pub fn operation() -> Operation {
    let summary = "The caller has read a notification.";
    Operation::new(FUNCTION, "PUT /notifications/{id}/read", summary)
        .for_members()
        .path::<NotificationId>("id", "001893456000000-0000000002-0f1e2d3c4b5a69788796a5b4c3d2e1f0")
        .answers::<View>(item::example())
        .refuses([NOTIFICATION_NOT_FOUND])
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    let id = http::path::<String>(&request, "id")?;
    let is_plain = id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    if !is_plain || !(1..=MOST_ID_BYTES).contains(&id.len()) {
        return Err(Problem::invalid("id", "expected the id of a notification"));
    }
    let key = keys::notification(&caller.member_id, &id);
    let now = app.clock.now();
    let item = app.table(TABLE).get(key.clone(), Read::Consistent).await?;
    let found = item.map(Notification::from_item).transpose()?.filter(|item| item.is_kept(now));
    let mut notification = found.ok_or(NOTIFICATION_NOT_FOUND)?;
    if notification.read_at_ms.is_none() {
        notification.read_at_ms = mark(app, key, now).await?;
    }
    Reply::ok(&notification.into_view()?)
}

/// Marks it as read at `now`, unless somebody was faster; when it was read.
async fn mark(app: &App, key: Key, now: Instant) -> Result<Option<i64>, Problem> {
    let write = Write::update(key, "SET read_at_ms = :now")
        .when("attribute_exists(pk) AND attribute_not_exists(read_at_ms)")
        .bind(":now", n(now.as_millis()));
    match app.table(TABLE).commit(vec![write]).await {
        Ok(()) => Ok(Some(now.as_millis())),
        Err(WriteError::Refused(mut refusals)) => {
            let met = refusals.take(0).flatten().ok_or(NOTIFICATION_NOT_FOUND)?;
            Ok(Notification::from_item(met)?.read_at_ms)
        }
        Err(error) => Err(error.into()),
    }
}
