//! `DELETE /holds/{holdId}`: give held seats back before their time is over.
//!
//! Once it is over, some may be held by somebody else. So each seat is freed
//! only if it still bears the hold; those that do not are left out.

use platform::table::{Patience, Read, Write, WriteError};
use platform::{App, Function, Operation, Problem, Reply, Request, auth, http};

use crate::hold::Hold;
use crate::ids::HoldId;
use crate::pass::{self, Age};
use crate::refusal::Refusal;
use crate::seats::{Bearer, Freeing};
use crate::{TABLE, keys};

/// The function.
pub static FUNCTION: Function = Function::http("release-hold", |a, r| Box::pin(handle(a, r)));

/// The place of the hold in the transaction: then comes what it has.
const HOLD: usize = 0;
const FIRST_FREED: usize = 1;

/// What the document says of it.
pub fn operation() -> Operation {
    let summary = "Give held seats back before their time is over.";
    Operation::new(FUNCTION, "DELETE /holds/{holdId}", summary)
        .for_members()
        .path::<HoldId>("holdId", "01941f29-7c00-7000-8000-0000000000c1")
        .header(pass::HEADER, "A pass for the match, which may be over.")
        .answers_nothing()
        .refuses([Refusal::HoldNotFound, Refusal::PassRequired])
}

async fn handle(app: &App, request: Request) -> Result<Reply, Problem> {
    let caller = auth::caller(app, &request)?;
    let id: HoldId = http::path(&request, "holdId")?;
    let item = app.table(TABLE).get(keys::hold(&caller.member_id, &id), Read::Consistent).await?;
    let hold = Hold::known(item, app.clock.now())?.filter(|hold| hold.order_id.is_none());
    let hold = hold.ok_or(Refusal::HoldNotFound)?;
    pass::require(app, &request, &caller, &hold.match_id, Age::Any).await?;
    release(app, &caller.member_id, &hold).await
}

async fn release(app: &App, member_id: &str, hold: &Hold) -> Result<Reply, Problem> {
    let bearer = Bearer::Hold(&hold.hold_id);
    let mut freeing = Freeing::new(&hold.match_id, member_id, bearer, &hold.seats);
    let mut patience = Patience::default();
    loop {
        // That it is there tells a repeat at once; its seats would refuse it too.
        let mut writes = vec![
            Write::delete(keys::hold(member_id, &hold.hold_id))
                .when("attribute_exists(pk) AND attribute_not_exists(order_id)"),
        ];
        writes.extend(freeing.writes(app.clock.now()));
        match app.table(TABLE).transact(writes, &mut patience).await {
            Ok(()) => return Ok(Reply::no_content()),
            Err(WriteError::Refused(mut refusals)) => match refusals.take(HOLD) {
                Some(None) => return Ok(Reply::no_content()), // it is gone, as was asked
                Some(Some(_)) => return Err(Refusal::HoldNotFound.into()), // it was ordered
                None if freeing.leave_out(&refusals, FIRST_FREED) => continue,
                None => return Err(Problem::internal("a release refused without a reason")),
            },
            Err(WriteError::Conflict(_)) => {}
            Err(error) => return Err(error.into()),
        }
        if !patience.pause(app).await {
            return Err(Problem::busy("the seats are contended past the budget"));
        }
    }
}
