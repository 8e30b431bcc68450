//! `POST /auth/refresh`: exchange a refresh token for the next, and for an
//! access token with the role that the member has now.
//!
//! The session's counter decides. Two who exchange the same token at the same
//! time both get the same next one: the slower finds it exchanged just now.

use garde::Validate;
use platform::table::{Read, WriteError, read};
use platform::{App, Function, Operation, Problem, Reply, Request, http};
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::member::Member;
use crate::private::Private;
use crate::refusal::{Refusal, broken};
use crate::session::{self, RefreshToken, Session, Verdict};
use crate::tokens::{self, Issuer};
use crate::{TABLE, keys};

/// The function.
pub static FUNCTION: Function = Function::http("refresh-session", |a, r| Box::pin(handle(a, r)));

/// The body of refresh-session and log-out.
#[derive(Deserialize, Validate, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Body {
    #[garde(skip)]
    #[schema(value_type = String)]
    pub(crate) refresh_token: Private<String>,
}

/// What the document says of it.
pub fn operation() -> Operation {
    let summary = "Exchange a refresh token for the next, and for an access token.";
    Operation::new(FUNCTION, "POST /auth/refresh", summary)
        .body::<Body>(json!({ "refreshToken": "YWRhI3Nlc3Npb24jMQ" }))
        .answers::<tokens::View>(tokens::example())
        .refuses([Refusal::SessionEnded])
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let body: Body = http::body(&request)?;
    let issuer = Issuer::of(app).await?;
    let token = issuer.refresh_keys.read(body.refresh_token.expose());
    let token = token.ok_or(Refusal::SessionEnded)?;
    let (member, session) = read_both(app, &token).await?;
    if session.password_version != member.password_version {
        return Err(Refusal::SessionEnded.into()); // the password was changed since
    }
    let session = exchange(app, &token, session).await?;
    issuer.reply(app, &member.caller(), &session.token())
}

async fn read_both(app: &App, token: &RefreshToken) -> Result<(Member, Session), Problem> {
    let member_key = keys::member(&token.member_id);
    let session_key = keys::session(&token.member_id, &token.session_id);
    let table = app.table(TABLE);
    let both = table.get_beside(member_key, Some(session_key), Read::Consistent).await?;
    let session = both.1.ok_or(Refusal::SessionEnded)?;
    let member = both.0.ok_or_else(|| broken("a member"))?;
    Ok((read(member)?, read(session)?))
}

/// The session with its newest token next, if `token` is good for that.
async fn exchange(
    app: &App,
    token: &RefreshToken,
    mut session: Session,
) -> Result<Session, Problem> {
    let (table, now) = (app.table(TABLE), app.clock.now());
    loop {
        match session.judge(token.number, now) {
            Verdict::Repeat => return Ok(session),
            Verdict::Ended => return Err(Refusal::SessionEnded.into()),
            Verdict::Reused => {
                tracing::warn!("a refresh token came again: its session ends");
                table.commit(vec![session::end(token)]).await?;
                return Err(Refusal::SessionEnded.into());
            }
            Verdict::Exchange => {}
        }
        session = match table.commit(vec![session.exchange(now)]).await {
            Ok(()) => return Ok(session.exchanged(now)),
            Err(WriteError::Refused(mut refused)) => {
                let met = refused.take(0).flatten();
                read(met.ok_or(Refusal::SessionEnded)?)?
            }
            Err(error) => return Err(error.into()),
        };
    }
}
