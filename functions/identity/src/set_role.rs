//! Gives a member a role. It has no route: an administrator invokes it, through
//! IAM, with `{"memberId" or "loginId", "role"}`. The first staff comes from here.
//!
//! The member's next access token has the role; one that was given before keeps
//! the old one for the rest of its 15 minutes.

use platform::auth::{Role, is_member_id};
use platform::table::{Write, WriteError, n, s};
use platform::{App, Function, Problem};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::member::Login;
use crate::profile::LoginId;
use crate::refusal::Refusal;
use crate::{TABLE, keys};

/// The function.
pub static FUNCTION: Function = Function::direct("set-role", |a, e| Box::pin(handle(a, e)));

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    #[serde(default)]
    member_id: Option<String>,
    #[serde(default)]
    login_id: Option<LoginId>,
    role: Role,
}

async fn handle(app: &App, event: Value) -> Result<Value, Problem> {
    let event: Event =
        serde_json::from_value(event).map_err(|error| Problem::invalid("event", error))?;
    let member_id = match (event.member_id, event.login_id) {
        (Some(member_id), None) if is_member_id(&member_id) => member_id,
        (None, Some(id)) => Login::get(app, &id).await?.ok_or(Refusal::MemberNotFound)?.member_id,
        _ => return Err(Problem::invalid("event", "expected memberId or loginId, one of them")),
    };
    match app.table(TABLE).commit(vec![give(app, &member_id, event.role)?]).await {
        Ok(()) => {}
        Err(WriteError::Refused(mut refused)) => {
            // A member that is there has that role already.
            refused.take(0).flatten().ok_or(Refusal::MemberNotFound)?;
        }
        Err(error) => return Err(error.into()),
    }
    Ok(json!({ "memberId": member_id, "role": event.role }))
}

fn give(app: &App, member_id: &str, role: Role) -> Result<Write, Problem> {
    let role = serde_json::to_value(role).map_err(Problem::internal)?;
    let set = "SET #role = :role, version = version + :one, updated_at_ms = :now";
    let write = Write::update(keys::member(member_id), set)
        .when("attribute_exists(pk) AND #role <> :role")
        .name("#role", "role")
        .bind(":role", s(role.as_str().unwrap_or_default()))
        .bind(":one", n(1))
        .bind(":now", n(app.clock.now().as_millis()));
    Ok(write)
}
