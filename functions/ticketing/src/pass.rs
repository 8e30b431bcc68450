//! A pass: the proof that its bearer was admitted to a sale.
//!
//! It is signed, so that whoever sells seats needs no read to believe it. It
//! says whose it is and for which match, and is worth nothing to anybody else.

use platform::auth::Caller;
use platform::clock::Instant;
use platform::signed::Signer;
use platform::{App, Problem, Request, http};
use serde::{Deserialize, Serialize};

use crate::ids::MatchId;
use crate::refusal::Refusal;

/// What a pass says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pass {
    /// For which match.
    pub match_id: MatchId,
    /// Whose.
    pub member_id: String,
    /// The entry in the queue that it was given for.
    pub nonce: String,
    /// When it ends.
    pub expires_at_ms: i64,
}

/// The header that bears it.
pub const HEADER: &str = "X-Queue-Pass";

/// What signs passes, and reads them.
pub async fn signer(app: &App) -> Result<Signer, Problem> {
    Signer::of(&app.secret("QUEUE_KEYS").await?, "pass")
}

/// How old a pass may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Age {
    /// It must not be over.
    Valid,
    /// It may be over: for what was begun with it and must be ended.
    Any,
}

/// Refuses a request without a pass of `caller` for the match.
pub async fn require(
    app: &App,
    request: &Request,
    caller: &Caller,
    match_id: &MatchId,
    age: Age,
) -> Result<Pass, Problem> {
    let text = http::header(request, HEADER).ok_or(Refusal::PassRequired)?;
    let pass: Pass = signer(app).await?.read_json(text).ok_or(Refusal::PassRequired)?;
    let is_theirs = pass.member_id == caller.member_id && pass.match_id == *match_id;
    if is_theirs && (age == Age::Any || pass.is_valid(app.clock.now())) {
        Ok(pass)
    } else {
        Err(Refusal::PassRequired.into())
    }
}

impl Pass {
    /// Whether it is good at `now`: until just before its end.
    pub fn is_valid(&self, now: Instant) -> bool {
        now.as_millis() < self.expires_at_ms
    }
}
