//! `POST /members`: become a member.
//!
//! One transaction writes the log-in, whose condition keeps it unique, and the
//! member, and forgets what was tried on the log-in before it was one. Nobody is
//! known yet who could own an `Idempotency-Key`, and the body holds a password: so
//! the kept hash is keyed, and of the answer only the member's id is kept. The rest
//! of it stands in the request that comes again.

use garde::Validate;
use platform::clock::Instant;
use platform::idempotency::Idempotency;
use platform::table::{Refusals, Write, WriteError, read};
use platform::text::{self, Text};
use platform::{App, Function, Operation, Problem, Reply, Request, http};
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::member::{self, Login, Member};
use crate::password::PasswordHash;
use crate::private::Private;
use crate::profile::{self, LoginId, ZoneName};
use crate::refusal::{Refusal, broken};
use crate::sealing::{Field, FieldKeys};
use crate::{TABLE, attempts};

/// The function.
pub static FUNCTION: Function = Function::http(NAME, |a, r| Box::pin(handle(a, r)));

const NAME: &str = "sign-up";

/// Where the member finds itself.
const LOCATION: &str = "/auth/me";

/// Writes of the transaction, in order.
const LOGIN: usize = 0;
const KEPT_ANSWER: usize = 2;

#[derive(Deserialize, Validate, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Body {
    #[garde(skip)]
    login_id: LoginId,
    #[garde(custom(profile::new_password))]
    #[schema(value_type = profile::NewPassword)]
    password: Private<Text>,
    #[garde(custom(profile::name))]
    #[schema(value_type = text::Title)]
    name: Private<Text>,
    #[serde(default)]
    #[garde(skip)]
    time_zone: Option<ZoneName>,
    #[serde(default)]
    #[garde(inner(custom(profile::phone)))]
    #[schema(value_type = Option<profile::Phone>)]
    phone: Option<Private<Text>>,
    #[serde(default)]
    #[garde(inner(custom(profile::email)))]
    #[schema(value_type = Option<profile::Email>)]
    email: Option<Private<Text>>,
}

/// What the document says of it.
pub fn operation() -> Operation {
    let body = json!({
        "loginId": "ada",
        "password": "correct horse battery",
        "name": "Ada",
        "timeZone": "Europe/Berlin",
        "phone": "+49 30 901820",
    });
    Operation::new(FUNCTION, "POST /members", "Become a member.")
        .keyed()
        .body::<Body>(body)
        .creates::<member::View<'_>>(member::example())
        .refuses([Refusal::LoginTaken])
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let body: Body = http::body(&request)?;
    let keys = FieldKeys::of(app).await?;
    let idempotency = Idempotency::of_stranger(&request, NAME, keys.requests())?;
    let password_hash = PasswordHash::of(app, &body.password).await?;
    let now = app.clock.now();
    let member = body.member(app.new_id(), &keys, now)?;
    let login = Login::new(member.member_id.clone(), password_hash);
    let writes = writes(&member, &login, idempotency.as_ref(), now)?;
    let member = match app.table(TABLE).commit(writes).await {
        Ok(()) => member,
        Err(WriteError::Refused(refusals)) => {
            let member_id = served_before(refusals, &member, idempotency.as_ref(), now)?;
            body.member(member_id, &keys, now)?
        }
        Err(error) => return Err(error.into()),
    };
    Reply::created(LOCATION, &member.view(&keys)?)
}

impl Body {
    /// The member that is asked for.
    fn member(&self, id: String, keys: &FieldKeys, now: Instant) -> Result<Member, Problem> {
        let zone = self.time_zone.clone().unwrap_or_default();
        let name = self.name.expose().as_str();
        let (login_id, zone) = (self.login_id.clone(), zone.as_str().to_owned());
        let mut member = Member::new(id, login_id, name.to_owned(), zone, now);
        for (field, value) in [(Field::Phone, &self.phone), (Field::Email, &self.email)] {
            if let Some(value) = value {
                let sealed = keys.seal(&member.member_id, field, value.expose().as_str())?;
                *member.sealed(field) = Some(sealed);
            }
        }
        Ok(member)
    }
}

fn writes(
    member: &Member,
    login: &Login,
    idempotency: Option<&Idempotency>,
    now: Instant,
) -> Result<Vec<Write>, Problem> {
    let mut writes = vec![
        Write::put(login.to_item(&member.login_id)?).when("attribute_not_exists(pk)"),
        // The log-in refuses whatever comes twice; an id does not come twice.
        Write::put(member.to_item()?).when("attribute_not_exists(pk)"),
    ];
    if let Some(idempotency) = idempotency {
        let kept = Reply::created(LOCATION, &json!({ "memberId": member.member_id }))?;
        writes.push(idempotency.write(&kept, now)?);
    }
    // They were tried on nobody's log-in, and would lock this one.
    writes.push(attempts::forget(&member.login_id));
    Ok(writes)
}

/// The id of the member that this very request has made: earlier under the same
/// key, or just now, by a sending that arrived late. Otherwise the log-in is
/// somebody else's.
fn served_before(
    mut refusals: Refusals,
    member: &Member,
    idempotency: Option<&Idempotency>,
    now: Instant,
) -> Result<String, Problem> {
    if let (Some(idempotency), Some(Some(kept))) = (idempotency, refusals.take(KEPT_ANSWER)) {
        let kept = idempotency.replay(kept, now)?.ok_or_else(|| broken("a kept answer"))?;
        let member_id = kept.body().and_then(|body| body["memberId"].as_str());
        return member_id.map(str::to_owned).ok_or_else(|| broken("a kept answer"));
    }
    let login = refusals.take(LOGIN).flatten().ok_or_else(|| broken("a refused log-in"))?;
    let login: Login = read(login)?;
    if login.member_id == member.member_id {
        return Ok(login.member_id);
    }
    Err(Refusal::LoginTaken.into())
}
