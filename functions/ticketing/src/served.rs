//! The answer that a request got when it was first served.

use platform::idempotency::Idempotency;
use platform::table::Read;
use platform::{App, Problem, Reply};

use crate::TABLE;

/// The kept answer to a request, if it bears an `Idempotency-Key` and was served
/// before. For refusals that no condition has made, so that a repeat gets its
/// first answer also when the clock has gone on.
pub async fn served(
    app: &App,
    idempotency: Option<&Idempotency>,
) -> Result<Option<Reply>, Problem> {
    let Some(idempotency) = idempotency else { return Ok(None) };
    match app.table(TABLE).get(idempotency.key(), Read::Consistent).await? {
        Some(kept) => idempotency.replay(kept, app.clock.now()),
        None => Ok(None),
    }
}
