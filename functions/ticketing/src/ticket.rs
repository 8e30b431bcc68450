//! A ticket: the proof that its bearer stands in the queue, and where.
//!
//! It is signed, so that telling a position takes no read of the member's. It
//! also says which position its bearer was told last, and is signed anew with
//! every answer: whatever the clock of another environment says, nobody is told
//! to have gone back.

use platform::auth::Caller;
use platform::signed::Signer;
use platform::{App, Problem, Request, http};
use serde::{Deserialize, Serialize};

use crate::ids::MatchId;

/// What a ticket says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ticket {
    /// For which match.
    pub match_id: MatchId,
    /// Whose.
    pub member_id: String,
    /// Which turn is its bearer's, counted from the opening of the sale.
    pub turn: u64,
    /// The entry in the queue that it was given for.
    pub nonce: String,
    /// The position that its bearer was told last: 0 is an admission.
    pub position: u64,
}

/// The header that bears it.
pub const HEADER: &str = "X-Queue-Ticket";

/// What signs tickets, and reads them.
pub async fn signer(app: &App) -> Result<Signer, Problem> {
    Signer::of(&app.secret("QUEUE_KEYS").await?, "ticket")
}

/// The ticket of `caller` for the match that a request bears.
pub async fn require(
    app: &App,
    request: &Request,
    caller: &Caller,
    match_id: &MatchId,
) -> Result<Ticket, Problem> {
    let text = http::header(request, HEADER);
    let text = text.ok_or_else(|| Problem::invalid(HEADER, "is missing"))?;
    let ticket: Option<Ticket> = signer(app).await?.read_json(text);
    let theirs = ticket
        .filter(|ticket| ticket.member_id == caller.member_id && ticket.match_id == *match_id);
    theirs.ok_or_else(|| Problem::invalid(HEADER, "expected a ticket of yours for this match"))
}
