//! DynamoDB on this machine, in layers.
//!
//! The SDK's requests go through a connector without a socket to a
//! [`Link`](crate::link::Link). The last link is the [embedded](Embedded)
//! database; a fault or a limit is a link in front of it.

mod embedded;
mod tokens;

pub use embedded::{Embedded, StorageError};
