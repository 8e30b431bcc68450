//! `GET /auth/me`: the member who asks, as the table has it now.
//!
//! Never from a memory and never from the token: what a member changed is in
//! that member's next read.

use platform::problem::UNAUTHENTICATED;
use platform::{App, Function, Operation, Problem, Reply, Request, auth};

use crate::member::{self, Member};
use crate::sealing::FieldKeys;

/// The function.
pub static FUNCTION: Function = Function::http("get-me", |a, r| Box::pin(handle(a, r)));

/// What the document says of it.
pub fn operation() -> Operation {
    Operation::new(FUNCTION, "GET /auth/me", "The member who asks.")
        .for_members()
        .answers::<member::View<'_>>(member::example())
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    let keys = FieldKeys::of(app).await?;
    // A good token of nobody whom we know: there is no member to show.
    let member = Member::get(app, &caller.member_id).await?.ok_or(UNAUTHENTICATED)?;
    Reply::ok(&member.view(&keys)?)
}
