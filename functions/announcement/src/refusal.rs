//! Why an operation on an announcement is refused, one variant per thing that
//! the caller can act on.

use platform::clock::Instant;
use platform::problem::{Kind, Problem, VERSION_MISMATCH};

/// A rule that a request breaks.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such announcement.
    AnnouncementNotFound,
    /// Its time is over.
    AnnouncementClosed {
        /// When it closed.
        closes_at: Instant,
        /// The time now.
        now: Instant,
    },
    /// The member has as many favorites as one may have.
    TooManyFavorites {
        /// How many that is.
        most: u32,
    },
    /// The thing is not at the version that was asked for.
    VersionMismatch {
        /// The version that it has; 0 if there is none yet.
        version: u64,
    },
}

const ANNOUNCEMENT_NOT_FOUND: Kind =
    Kind::new(404, "ANNOUNCEMENT_NOT_FOUND", "There is no such announcement.");
const ANNOUNCEMENT_CLOSED: Kind =
    Kind::new(409, "ANNOUNCEMENT_CLOSED", "The announcement is closed.");
const TOO_MANY_FAVORITES: Kind =
    Kind::new(409, "TOO_MANY_FAVORITES", "You have as many favorites as one may have.");

impl Refusal {
    /// Of an announcement whose time is over, in the document.
    pub(crate) fn closed_example() -> Self {
        let closes_at = Instant::from_millis(1_896_134_400_000);
        Self::AnnouncementClosed { closes_at, now: closes_at }
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::AnnouncementNotFound => ANNOUNCEMENT_NOT_FOUND.into(),
            Refusal::AnnouncementClosed { closes_at, now } => Self::from(ANNOUNCEMENT_CLOSED)
                .with("closesAt", closes_at.to_string())
                .with("now", now.to_string()),
            Refusal::TooManyFavorites { most } => Self::from(TOO_MANY_FAVORITES).with("most", most),
            Refusal::VersionMismatch { version } => {
                Self::from(VERSION_MISMATCH).with("version", version)
            }
        }
    }
}
