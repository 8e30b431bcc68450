//! A member's calendar: its version, and what stands in the way of a schedule.

use platform::table::{Item, Query, Write, item, n, read, s};
use platform::{App, Problem};
use serde::{Deserialize, Serialize};

use crate::ids::ScheduleId;
use crate::schedule::Schedule;
use crate::{TABLE, keys};

/// A member's calendar, as the table keeps it.
#[derive(Serialize, Deserialize)]
struct Calendar {
    version: u64,
}

/// A schedule in the local index.
#[derive(Deserialize)]
struct Entry {
    sk: String,
    ends_at_ms: i64,
}

/// How often more time of the calendar was taken up. A member without a
/// calendar has none yet, and its version is 0.
pub fn version_of(calendar: Option<Item>) -> Result<u64, Problem> {
    let calendar: Option<Calendar> = calendar.map(read).transpose()?;
    Ok(calendar.map_or(0, |calendar| calendar.version))
}

/// The write that takes up time, if nobody else did since the version `seen`.
pub fn take_up_time(member_id: &str, seen: u64) -> Result<Write, Problem> {
    let calendar = item(keys::calendar(member_id), &Calendar { version: seen + 1 })?;
    let write = Write::put(calendar);
    Ok(match seen {
        0 => write.when("attribute_not_exists(pk)"),
        _ => write.when("version = :seen").bind(":seen", n(seen)),
    })
}

/// The schedule that `wanted` would overlap, if there is one, whatever version
/// of `wanted` itself the calendar holds.
///
/// Schedules do not overlap, so they end in the order in which they begin: if
/// the last to begin before the end of `wanted` does not reach into it, none
/// does. That may be `wanted` itself, and then it is the last but one.
pub async fn collision(app: &App, wanted: &Schedule) -> Result<Option<ScheduleId>, Problem> {
    let query = Query {
        index: Some(keys::STARTS),
        condition: "pk = :pk AND starts_at_ms < :end".to_owned(),
        values: vec![
            (":pk", s(keys::member_partition(&wanted.member_id))),
            (":end", n(wanted.ends_at_ms)),
        ],
        limit: 2,
        descending: true,
        consistent: true,
    };
    for found in app.table(TABLE).query(query).await? {
        let entry: Entry = read(found)?;
        let id = keys::parse_schedule(&entry.sk);
        let id = id.ok_or_else(|| Problem::internal(format!("in the index: {}", entry.sk)))?;
        if id != wanted.schedule_id {
            return Ok((entry.ends_at_ms > wanted.starts_at_ms).then_some(id));
        }
    }
    Ok(None)
}
