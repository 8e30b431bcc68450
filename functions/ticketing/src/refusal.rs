//! Why ticketing says no, one variant per thing that the caller can act on.

use platform::clock::Instant;
use platform::problem::{Kind, Problem, VERSION_MISMATCH};

use crate::ids::{NotASeat, Seat};

/// A rule that a request breaks.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such match.
    MatchNotFound,
    /// The match has no such block.
    BlockNotFound,
    /// The match has no such seat.
    SeatNotFound {
        /// The first of them.
        seat: Seat,
    },
    /// The caller has no such hold.
    HoldNotFound,
    /// The caller has no such order.
    OrderNotFound,
    /// The caller has no pass for the match, or it is over.
    PassRequired,
    /// Opening and seats are settled once the sale is near.
    MatchInUse,
    /// The match is not at the version that was asked for.
    VersionMismatch {
        /// The version that it has.
        version: u64,
    },
    /// The sale has not opened yet.
    SaleNotOpen {
        /// When it opens.
        opens_at: Instant,
        /// The time that was compared.
        now: Instant,
    },
    /// The sale has closed.
    SaleClosed {
        /// When it closed.
        closed_at: Instant,
        /// The time that was compared.
        now: Instant,
    },
    /// The caller's turn has not come.
    NotAdmitted {
        /// The position in the queue.
        position: u64,
    },
    /// The caller entered the queue again, and this ticket is worth nothing.
    TicketReplaced,
    /// Somebody else has these seats.
    SeatTaken {
        /// Which.
        seats: Vec<Seat>,
    },
    /// No seats are left that fit.
    SoldOut,
    /// More seats than one member may have.
    SeatLimitExceeded {
        /// Seats that the member may still get.
        left: u32,
    },
    /// The caller has a hold or an unpaid order already.
    HoldExists {
        /// Its id.
        id: String,
        /// When it ends.
        until: Instant,
    },
    /// The hold is over.
    HoldLapsed,
    /// The order was cancelled.
    OrderCancelled,
    /// The order was paid.
    OrderPaid,
    /// The payment was for another order.
    PaymentReused,
    /// The payment is not what the order costs.
    AmountMismatch {
        /// What it costs.
        amount: u64,
    },
}

const MATCH_NOT_FOUND: Kind = Kind::new(404, "MATCH_NOT_FOUND", "There is no such match.");
const BLOCK_NOT_FOUND: Kind = Kind::new(404, "BLOCK_NOT_FOUND", "The match has no such block.");
const SEAT_NOT_FOUND: Kind = Kind::new(404, "SEAT_NOT_FOUND", "The match has no such seat.");
const HOLD_NOT_FOUND: Kind = Kind::new(404, "HOLD_NOT_FOUND", "You have no such hold.");
const ORDER_NOT_FOUND: Kind = Kind::new(404, "ORDER_NOT_FOUND", "There is no such order.");
const PASS_REQUIRED: Kind = Kind::new(
    403,
    "PASS_REQUIRED",
    "This needs a pass for the match that is yours and not over: enter the queue.",
);
const MATCH_IN_USE: Kind = Kind::new(
    409,
    "MATCH_IN_USE",
    "Opening and blocks change only until shortly before the sale opens.",
);
const SALE_NOT_OPEN: Kind = Kind::new(409, "SALE_NOT_OPEN", "The sale has not opened yet.");
const SALE_CLOSED: Kind = Kind::new(409, "SALE_CLOSED", "The sale has closed.");
const NOT_ADMITTED: Kind = Kind::new(409, "NOT_ADMITTED", "It is not your turn yet.");
const TICKET_REPLACED: Kind = Kind::new(
    409,
    "TICKET_REPLACED",
    "You entered the queue again, so only the newer ticket counts.",
);
const SEAT_TAKEN: Kind = Kind::new(409, "SEAT_TAKEN", "Somebody else has some of these seats.");
const SOLD_OUT: Kind = Kind::new(409, "SOLD_OUT", "No seats are left that fit.");
const SEAT_LIMIT_EXCEEDED: Kind =
    Kind::new(409, "SEAT_LIMIT_EXCEEDED", "More seats than one member may have.");
const HOLD_EXISTS: Kind = Kind::new(
    409,
    "HOLD_EXISTS",
    "You have a hold or an unpaid order for this match: release, pay or cancel it first.",
);
const HOLD_LAPSED: Kind = Kind::new(409, "HOLD_LAPSED", "The hold is over.");
const ORDER_CANCELLED: Kind = Kind::new(409, "ORDER_CANCELLED", "The order was cancelled.");
const ORDER_PAID: Kind = Kind::new(409, "ORDER_PAID", "The order was paid already.");
const PAYMENT_REUSED: Kind =
    Kind::new(409, "PAYMENT_REUSED", "This payment was for another order.");
const AMOUNT_MISMATCH: Kind =
    Kind::new(409, "AMOUNT_MISMATCH", "The payment is not what the order costs.");

/// Refusals with what helps, for the document.
impl Refusal {
    /// Of a sale that is not open: before it, and after it.
    pub(crate) fn sale_examples() -> [Self; 2] {
        let [opens_at, closed_at] =
            [1_903_856_400_000, 1_906_563_600_000].map(Instant::from_millis);
        [
            Self::SaleNotOpen { opens_at, now: opens_at.plus_millis(-1_000) },
            Self::SaleClosed { closed_at, now: closed_at },
        ]
    }

    /// Of a seat that is not there, or somebody else's.
    pub(crate) fn seat_examples() -> Result<[Self; 2], NotASeat> {
        let seat: Seat = "A-1-1".parse()?;
        Ok([Self::SeatNotFound { seat: seat.clone() }, Self::SeatTaken { seats: vec![seat] }])
    }

    /// Of a member who has enough already.
    pub(crate) fn account_examples() -> [Self; 2] {
        let until = Instant::from_millis(1_903_856_700_000);
        let id = "01941f29-7c00-7000-8000-000000000002".to_owned();
        [Self::HoldExists { id, until }, Self::SeatLimitExceeded { left: 1 }]
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::MatchNotFound => MATCH_NOT_FOUND.into(),
            Refusal::BlockNotFound => BLOCK_NOT_FOUND.into(),
            Refusal::SeatNotFound { seat } => {
                Self::from(SEAT_NOT_FOUND).with("seat", seat.to_string())
            }
            Refusal::HoldNotFound => HOLD_NOT_FOUND.into(),
            Refusal::OrderNotFound => ORDER_NOT_FOUND.into(),
            Refusal::PassRequired => PASS_REQUIRED.into(),
            Refusal::MatchInUse => MATCH_IN_USE.into(),
            Refusal::VersionMismatch { version } => {
                Self::from(VERSION_MISMATCH).with("version", version)
            }
            Refusal::SaleNotOpen { opens_at, now } => Self::from(SALE_NOT_OPEN)
                .with("opensAt", opens_at.to_string())
                .with("now", now.to_string()),
            Refusal::SaleClosed { closed_at, now } => Self::from(SALE_CLOSED)
                .with("closedAt", closed_at.to_string())
                .with("now", now.to_string()),
            Refusal::NotAdmitted { position } => {
                Self::from(NOT_ADMITTED).with("position", position)
            }
            Refusal::TicketReplaced => TICKET_REPLACED.into(),
            Refusal::SeatTaken { seats } => {
                let seats: Vec<String> = seats.iter().map(Seat::to_string).collect();
                Self::from(SEAT_TAKEN).with("seats", seats)
            }
            Refusal::SoldOut => SOLD_OUT.into(),
            Refusal::SeatLimitExceeded { left } => {
                Self::from(SEAT_LIMIT_EXCEEDED).with("left", left)
            }
            Refusal::HoldExists { id, until } => {
                Self::from(HOLD_EXISTS).with("existing", id).with("until", until.to_string())
            }
            Refusal::HoldLapsed => HOLD_LAPSED.into(),
            Refusal::OrderCancelled => ORDER_CANCELLED.into(),
            Refusal::OrderPaid => ORDER_PAID.into(),
            Refusal::PaymentReused => PAYMENT_REUSED.into(),
            Refusal::AmountMismatch { amount } => {
                Self::from(AMOUNT_MISMATCH).with("amount", amount)
            }
        }
    }
}
