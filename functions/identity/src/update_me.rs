//! `PATCH /auth/me`: change one's name, time zone, phone, e-mail or password.
//!
//! What is encrypted looks new each time, so it is compared decrypted, and
//! nothing is written when nothing changes. A new password ends all sessions:
//! those of an earlier password version are over. Without knowing the current
//! one there is no new one, and trying counts like a log-in.

use garde::Validate;
use platform::clock::Instant;
use platform::problem::UNAUTHENTICATED;
use platform::table::{Refusals, Write, WriteError, read};
use platform::text::{self, Text};
use platform::{App, Function, Operation, Problem, Reply, Request, auth, http};
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::log_in::prove;
use crate::member::{self, Login, Member};
use crate::password::PasswordHash;
use crate::private::Private;
use crate::profile::{self, LoginId, ZoneName, given};
use crate::refusal::{Refusal, broken};
use crate::sealing::{Field, FieldKeys};
use crate::{TABLE, attempts};

/// The function.
pub static FUNCTION: Function = Function::http("update-me", |a, r| Box::pin(handle(a, r)));

/// Writes of the transaction, in order. The log-in is there if a password is
/// given, the member if anything of it changes.
const LOGIN: usize = 0;
const MEMBER_AFTER_LOGIN: usize = 1;
const MEMBER_ALONE: usize = 0;

/// What is to change. Null removes phone and e-mail.
#[derive(Deserialize, Validate, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Body {
    #[serde(default, deserialize_with = "given")]
    #[garde(inner(custom(profile::name)))]
    #[schema(value_type = Option<text::Title>, nullable = false)]
    name: Option<Private<Text>>,
    #[serde(default, deserialize_with = "given")]
    #[garde(skip)]
    #[schema(nullable = false)]
    time_zone: Option<ZoneName>,
    #[serde(default, deserialize_with = "given")]
    #[garde(inner(inner(custom(profile::phone))))]
    #[schema(value_type = Option<profile::Phone>)]
    phone: Option<Option<Private<Text>>>,
    #[serde(default, deserialize_with = "given")]
    #[garde(inner(inner(custom(profile::email))))]
    #[schema(value_type = Option<profile::Email>)]
    email: Option<Option<Private<Text>>>,
    #[serde(default, deserialize_with = "given")]
    #[garde(inner(custom(profile::new_password)))]
    #[schema(value_type = Option<profile::NewPassword>, nullable = false)]
    password: Option<Private<Text>>,
    #[serde(default, deserialize_with = "given")]
    #[garde(inner(custom(profile::password)))]
    #[schema(value_type = Option<profile::Password>, nullable = false)]
    current_password: Option<Private<Text>>,
}

/// A password that was proven, and the one to come: it may be the same.
struct NewPassword {
    seen: Login,
    next: Login,
}

impl NewPassword {
    /// The write that takes the new password, if the one that was proven still
    /// is the current one; where they are the same, it only checks that.
    fn write(&self, id: &LoginId) -> Result<Write, Problem> {
        if self.next == self.seen {
            Ok(self.seen.check(id))
        } else {
            self.next.replace(id, &self.seen)
        }
    }
}

/// What the document says of it.
pub fn operation() -> Operation {
    let summary = "Change one's name, time zone, phone, e-mail or password.";
    Operation::new(FUNCTION, "PATCH /auth/me", summary)
        .for_members()
        .body::<Body>(json!({ "timeZone": "Europe/Berlin", "email": null }))
        .answers::<member::View<'_>>(member::example())
        .refuses([Refusal::BadCredentials, Refusal::LoginLocked { retry_after_s: 900 }])
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    let body: Body = http::body(&request)?;
    if body.password.is_some() && body.current_password.is_none() {
        return Err(Problem::invalid("currentPassword", "is missing"));
    }
    let keys = FieldKeys::of(app).await?;
    let member = Member::get(app, &caller.member_id).await?.ok_or(UNAUTHENTICATED)?;
    let member = match (&body.password, &body.current_password) {
        (Some(password), Some(current)) => {
            let new = new_password(app, &member, password, current).await?;
            update(app, &body, &keys, member, Some(&new)).await?
        }
        _ => update(app, &body, &keys, member, None).await?,
    };
    Reply::ok(&member.view(&keys)?)
}

async fn new_password(
    app: &App,
    member: &Member,
    password: &Private<Text>,
    current: &Private<Text>,
) -> Result<NewPassword, Problem> {
    let seen = prove(app, &member.login_id, current).await?;
    let mut next = seen.clone();
    if password != current {
        next.password_hash = PasswordHash::of(app, password).await?;
        next.password_version += 1;
    }
    Ok(NewPassword { seen, next })
}

/// Changes the member, however often others change it meanwhile.
async fn update(
    app: &App,
    body: &Body,
    keys: &FieldKeys,
    mut seen: Member,
    password: Option<&NewPassword>,
) -> Result<Member, Problem> {
    loop {
        let changed = body.apply(&seen, keys, password, app.clock.now())?;
        let writes = writes(&seen, &changed, password)?;
        if writes.is_empty() {
            return Ok(changed);
        }
        seen = match app.table(TABLE).commit(writes).await {
            Ok(()) => return Ok(changed),
            Err(WriteError::Refused(refusals)) => match explain(refusals, password)? {
                Some(seen) => seen,
                None => return Ok(changed),
            },
            Err(error) => return Err(error.into()),
        };
    }
}

impl Body {
    /// The member with what is to change; the one seen, if nothing is.
    fn apply(
        &self,
        seen: &Member,
        keys: &FieldKeys,
        password: Option<&NewPassword>,
        now: Instant,
    ) -> Result<Member, Problem> {
        let mut member = seen.clone();
        if let Some(name) = &self.name {
            member.name = name.expose().as_str().to_owned().into();
        }
        if let Some(zone) = &self.time_zone {
            member.time_zone = zone.as_str().to_owned();
        }
        for (field, value) in [(Field::Phone, &self.phone), (Field::Email, &self.email)] {
            let Some(value) = value else { continue };
            let value = value.as_ref().map(|value| value.expose().as_str());
            let before = seen.open(keys, field)?;
            if before.as_ref().map(|before| before.expose().as_str()) != value {
                let seal = |value| keys.seal(&seen.member_id, field, value);
                *member.sealed(field) = value.map(seal).transpose()?;
            }
        }
        // The same password again says nothing of the version, which others may
        // have changed since.
        if let Some(password) = password.filter(|password| password.next != password.seen) {
            member.password_version = password.next.password_version;
        }
        if member != *seen {
            member.version += 1;
            member.updated_at_ms = now.as_millis();
        }
        Ok(member)
    }
}

/// What has to be written: nothing, if nothing changes.
fn writes(
    seen: &Member,
    changed: &Member,
    password: Option<&NewPassword>,
) -> Result<Vec<Write>, Problem> {
    let mut writes = Vec::new();
    if let Some(password) = password {
        writes.push(password.write(&seen.login_id)?);
    }
    if changed != seen {
        writes.push(changed.replace(seen)?);
    }
    if password.is_some() {
        writes.push(attempts::forget(&seen.login_id));
    }
    Ok(writes)
}

/// The member as it is now, to begin again with; none if this very change is
/// what was met: a sending of it that arrived late.
fn explain(
    mut refusals: Refusals,
    password: Option<&NewPassword>,
) -> Result<Option<Member>, Problem> {
    let mut member = MEMBER_ALONE;
    if let Some(password) = password {
        member = MEMBER_AFTER_LOGIN;
        if let Some(login) = refusals.take(LOGIN).flatten() {
            // If it is not this change's, somebody changed the password first:
            // what was proven is not the current one any more.
            let is_mine = read::<Login>(login)? == password.next;
            return if is_mine { Ok(None) } else { Err(Refusal::BadCredentials.into()) };
        }
    }
    let seen = refusals.take(member).flatten().ok_or_else(|| broken("a member"))?;
    read(seen).map(Some)
}
