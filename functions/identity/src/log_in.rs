//! `POST /auth/login`: open a session with a password.
//!
//! The attempt is counted first and the password tried then, also for a log-in
//! that does not exist: neither the answer nor the work tells the difference.

use garde::Validate;
use platform::table::Write;
use platform::text::Text;
use platform::{App, Function, Operation, Problem, Reply, Request, http};
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::member::{Login, Member};
use crate::private::Private;
use crate::profile::{self, LoginId};
use crate::refusal::{Refusal, broken};
use crate::session::Session;
use crate::tokens::{self, Issuer};
use crate::{TABLE, attempts, password};

/// The function.
pub static FUNCTION: Function = Function::http("log-in", |a, r| Box::pin(handle(a, r)));

#[derive(Deserialize, Validate, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Body {
    #[garde(skip)]
    login_id: LoginId,
    #[garde(custom(profile::password))]
    #[schema(value_type = profile::Password)]
    password: Private<Text>,
}

/// What the document says of it.
pub fn operation() -> Operation {
    let body = json!({ "loginId": "student-1", "password": "hotseat-demo" });
    Operation::new(FUNCTION, "POST /auth/login", "Open a session with a password.")
        .body::<Body>(body)
        .answers::<tokens::View>(tokens::example())
        .refuses([Refusal::BadCredentials, Refusal::LoginLocked { retry_after_s: 900 }])
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let body: Body = http::body(&request)?;
    let issuer = Issuer::of(app).await?;
    let login = prove(app, &body.login_id, &body.password).await?;
    let member = Member::get(app, &login.member_id).await?.ok_or_else(|| broken("a member"))?;
    let session = Session::start(app.new_id(), &login, app.clock.now());
    let writes = vec![Write::put(session.to_item()?), attempts::forget(&body.login_id)];
    app.table(TABLE).commit(writes).await?;
    issuer.reply(app, &member.caller(), &session.token())
}

/// The log-in that `password` opens. The attempt is counted; whoever writes what
/// a success permits forgets the attempts in the same transaction.
pub(crate) async fn prove(
    app: &App,
    id: &LoginId,
    password: &Private<Text>,
) -> Result<Login, Problem> {
    attempts::count(app, id).await?;
    let login = Login::get(app, id).await?;
    let hash = login.as_ref().map(|login| &login.password_hash);
    let is_right = password::is_right(app, password, hash).await?;
    login.filter(|_| is_right).ok_or_else(|| Refusal::BadCredentials.into())
}
