//! A member's time zone: what local times in requests mean.

use jiff::tz::TimeZone;
use platform::table::{Key, Read, read};
use platform::{App, Problem};
use serde::Deserialize;

use crate::TABLE;

/// What is read of a member.
#[derive(Deserialize)]
struct Member {
    time_zone: Option<String>,
}

/// The zone of a member, as that member last set it; UTC for one who never did.
pub async fn of(app: &App, member_id: &str) -> Result<TimeZone, Problem> {
    let key = Key::new(format!("MEMBER#{member_id}"), "MEMBER");
    let member = app.table(TABLE).get(key, Read::Consistent).await?;
    let member: Option<Member> = member.map(read).transpose()?;
    let Some(name) = member.and_then(|member| member.time_zone) else {
        return Ok(TimeZone::UTC);
    };
    TimeZone::get(&name).map_err(Problem::internal)
}
