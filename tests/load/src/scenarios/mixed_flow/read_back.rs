//! Reads back what a run left behind: through the API, as its members see it,
//! and reminders, which nobody sees before they are due, from the table.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt, stream};
use http::Method;
use platform::clock::Instant;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::plan::{Account, Plan};
use super::session::Session;
use crate::call::Request;
use crate::caller::Caller;
use crate::error::Error;
use crate::users::Stop;

/// Items on one page.
const PAGE: usize = 100;
/// Accounts that are read at the same time.
const AT_A_TIME: usize = 4;
/// How often to count notifications where no page says what waits.
const COUNT_EVERY: Duration = Duration::from_secs(5);
/// So many counts in a row that are the same mean that no more will come.
const SAME_COUNTS: u32 = 4;
/// After so many counts, they are taken as they are.
const MOST_COUNTS: u32 = 240;

/// What one account has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// Its schedules, by start.
    pub(crate) schedules: Vec<Schedule>,
    /// Its notifications, oldest first.
    pub(crate) notifications: Vec<Notification>,
    /// The schedules that its reminders are of. `None` where nobody can look.
    pub(crate) reminders: Option<Vec<String>>,
}

/// A schedule.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Schedule {
    /// Its id.
    pub(crate) id: String,
    /// Its title.
    pub(crate) title: String,
    /// When it begins.
    pub(crate) start_time: Instant,
    /// Its version.
    pub(crate) version: u64,
}

/// A notification.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Notification {
    /// What happened.
    pub(crate) r#type: String,
    /// To which thing.
    pub(crate) aggregate_id: String,
    /// The thing's version after it.
    pub(crate) version: u64,
}

/// Reads what every account has.
pub(crate) async fn read(
    caller: &Caller,
    plan: &Plan,
    tables: Option<&aws_sdk_dynamodb::Client>,
) -> Result<Vec<Seen>, Error> {
    stream::iter(plan.accounts())
        .map(|account| read_account(caller, plan, account, tables))
        .buffered(AT_A_TIME)
        .try_collect()
        .await
}

/// Waits until notifications become no more; how many there were in all.
pub(crate) async fn wait_until_told(caller: &Caller, plan: &Plan) -> Result<usize, Error> {
    let (mut last, mut same) = (0, 0);
    for _ in 0..MOST_COUNTS {
        let told = read(caller, plan, None).await?;
        let count = told.iter().map(|seen| seen.notifications.len()).sum();
        same = if count == last { same + 1 } else { 0 };
        last = count;
        if same == SAME_COUNTS {
            break;
        }
        tokio::time::sleep(COUNT_EVERY).await;
    }
    Ok(last)
}

async fn read_account(
    caller: &Caller,
    plan: &Plan,
    account: &Account,
    tables: Option<&aws_sdk_dynamodb::Client>,
) -> Result<Seen, Error> {
    let session = Session::open(caller, account, &Stop::new()).await;
    let mut session = session.ok_or_else(|| Error::NotLetIn(account.login_id.clone()))?;
    let token = session.token(caller, &Stop::new()).await;
    let reader = Reader { caller, token: token.ok_or(Error::NotLetIn(account.login_id.clone()))? };
    let (from, to) = plan.range();
    let schedules = format!("/schedules?from={from}&to={to}&limit={PAGE}");
    let schedules = reader.all("list-schedules", &schedules).await?;
    let notifications = format!("/notifications?limit={PAGE}");
    let mut notifications: Vec<Notification> =
        reader.all("list-notifications", &notifications).await?;
    notifications.reverse();
    let reminders = match tables {
        Some(client) => Some(reminders(client, &account.member_id, &schedules).await?),
        None => None,
    };
    Ok(Seen { schedules, notifications, reminders })
}

struct Reader<'a> {
    caller: &'a Caller,
    token: Arc<str>,
}

impl Reader<'_> {
    /// Every item of a list, page by page.
    async fn all<T: DeserializeOwned>(
        &self,
        operation: &'static str,
        path: &str,
    ) -> Result<Vec<T>, Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Page<T> {
            items: Vec<T>,
            next_cursor: Option<String>,
        }
        let mut all = Vec::new();
        let mut cursor = None;
        loop {
            let from = cursor.map_or_else(String::new, |cursor| format!("&cursor={cursor}"));
            let request = Request::new(operation, Method::GET, format!("{path}{from}"));
            let answer = self.caller.insist(&request.token(&self.token)).await?;
            let page: Page<T> =
                answer.json().map_err(|error| Error::NotAsPromised { operation, error })?;
            all.extend(page.items);
            cursor = page.next_cursor;
            if cursor.is_none() {
                return Ok(all);
            }
        }
    }
}

/// The schedules of a member's reminders: those of `schedules` that have one,
/// and `?` for each that is of none.
async fn reminders(
    client: &aws_sdk_dynamodb::Client,
    member_id: &str,
    schedules: &[Schedule],
) -> Result<Vec<String>, Error> {
    let keys = reminder_keys(client, member_id).await?;
    let mut left = keys;
    let mut found = Vec::new();
    for schedule in schedules {
        if left.remove(&reminder_key(&schedule.id)) {
            found.push(schedule.id.clone());
        }
    }
    found.extend(left.iter().map(|_| "?".to_owned()));
    Ok(found)
}

async fn reminder_keys(
    client: &aws_sdk_dynamodb::Client,
    member_id: &str,
) -> Result<BTreeSet<String>, Error> {
    let pages = client
        .query()
        .table_name(schedule::TABLE.default)
        .key_condition_expression("pk = :pk AND begins_with(sk, :reminder)")
        .expression_attribute_values(":pk", platform::table::s(format!("MEMBER#{member_id}")))
        .expression_attribute_values(":reminder", platform::table::s(reminder_key("")))
        .projection_expression("sk")
        .consistent_read(true)
        .into_paginator()
        .items()
        .send();
    let items = pages.collect::<Result<Vec<_>, _>>().await;
    let items = items.map_err(|error| {
        Error::Tables(aws_sdk_dynamodb::error::DisplayErrorContext(error).to_string())
    })?;
    Ok(items.iter().filter_map(|item| Some(item.get("sk")?.as_s().ok()?.clone())).collect())
}

fn reminder_key(schedule_id: &str) -> String {
    format!("REMINDER#{schedule_id}")
}
