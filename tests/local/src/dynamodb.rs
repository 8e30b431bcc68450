//! DynamoDB on this machine, in layers.
//!
//! The SDK's requests go through a connector without a socket to a
//! [`Link`](crate::link::Link). The last link is the [embedded](Embedded)
//! database; a fault or a limit is a link in front of it.

mod embedded;
mod expiry;
mod streams;
mod tokens;

pub use embedded::{Embedded, StorageError};
pub(crate) use streams::{Record, sequence_number};
