//! Why a run could not be made.

use std::path::PathBuf;

use crate::caller::Refused;

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The local cloud does not start.
    #[error("the local cloud does not start: {0}")]
    Start(#[from] local::StartError),
    /// The local cloud cannot be served.
    #[error(transparent)]
    Serve(#[from] local::ServeError),
    /// The key of this checkout cannot be used.
    #[error(transparent)]
    Key(#[from] local::KeyError),
    /// A key file cannot be used.
    #[error(
        "{}: {why}; --token-key wants an Ed25519 private key in PEM, as `openssl genpkey -algorithm ed25519` makes it",
        path.display()
    )]
    KeyFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A token cannot be signed.
    #[error("cannot sign a token: {0}")]
    Sign(#[from] jsonwebtoken::errors::Error),
    /// No client for HTTP.
    #[error("cannot make an HTTP client: {0}")]
    Client(#[from] reqwest::Error),
    /// No histogram.
    #[error("cannot record latencies: {0}")]
    Record(#[from] hdrhistogram::CreationError),
    /// Goose refuses.
    #[error("cannot start the users: {0}")]
    Users(Box<goose::GooseError>),
    /// The API refused what must succeed.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The API answers in another shape than the contract says.
    #[error("{operation} does not answer as the contract says: {error}")]
    NotAsPromised {
        /// The operation.
        operation: &'static str,
        /// What is wrong.
        error: serde_json::Error,
    },
    /// The ceiling cannot be measured.
    #[error("cannot measure the ceiling: {0}")]
    Ceiling(String),
    /// An account of the run cannot log in.
    #[error("the account {0} is not let in any more")]
    NotLetIn(String),
    /// The process of a local cloud fails.
    #[error("the process of the local cloud: {0}")]
    Child(String),
    /// What was written cannot be read from a table.
    #[error("cannot look into the tables: {0}")]
    Tables(String),
    /// A folder holds another number of posts.
    #[error(
        "this --data-dir holds {there} published posts, not {wanted}: say --posts {there}, or \
         choose another folder (one in which preparing them was cut off can be deleted)"
    )]
    OtherPosts {
        /// How many there are.
        there: usize,
        /// How many were asked for.
        wanted: usize,
    },
    /// The posts of a run cannot be written into the table.
    #[error("cannot prepare posts: {0}")]
    Prepare(String),
    /// The seats of a course cannot be spread otherwise.
    #[error("cannot spread seats over stripes: {0}")]
    Stripes(String),
    /// The relay cannot be measured.
    #[error("cannot measure the relay: {0}")]
    Relay(String),
    /// A file to compare cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        error: std::io::Error,
    },
    /// A file to compare is something else.
    #[error(
        "{} is no report of cargo load ({error}): make one with `cargo load <scenario> --json FILE`",
        path.display()
    )]
    NoReport {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: serde_json::Error,
    },
    /// Two files are of different scenarios.
    #[error("{a_is} and {b_is}: only runs of the same scenario can be compared")]
    OtherScenario {
        /// Which file is of which scenario.
        a_is: String,
        /// And the other one.
        b_is: String,
    },
    /// The report cannot be written.
    #[error("cannot write the report to {}: {error}", path.display())]
    Write {
        /// Where to.
        path: PathBuf,
        /// Why not.
        error: std::io::Error,
    },
    /// The terminal is gone, or there is no room for a folder.
    #[error("the system refuses: {0}")]
    System(#[from] std::io::Error),
}

impl Error {
    /// Whether what was asked for can never be done, as opposed to a run that
    /// failed.
    pub(crate) fn is_wrong_usage(&self) -> bool {
        matches!(self, Self::Read { .. } | Self::NoReport { .. } | Self::OtherScenario { .. })
    }
}

impl From<goose::GooseError> for Error {
    fn from(error: goose::GooseError) -> Self {
        Self::Users(Box::new(error))
    }
}
