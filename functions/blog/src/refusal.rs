//! Why an operation on a post is refused, one variant per thing that the caller
//! can act on.

use platform::problem::{FORBIDDEN, Kind, Problem, VERSION_MISMATCH};

/// A rule that a request breaks.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such post, or it is somebody else's draft.
    PostNotFound,
    /// Only its author and staff change a post.
    Forbidden,
    /// The post is not at the version that was asked for.
    VersionMismatch {
        /// The version that it has.
        version: u64,
    },
}

const POST_NOT_FOUND: Kind = Kind::new(404, "POST_NOT_FOUND", "There is no such post.");

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::PostNotFound => POST_NOT_FOUND.into(),
            Refusal::Forbidden => {
                Self::from(FORBIDDEN).detail("Only its author and staff change a post.")
            }
            Refusal::VersionMismatch { version } => {
                Self::from(VERSION_MISMATCH).with("version", version)
            }
        }
    }
}
