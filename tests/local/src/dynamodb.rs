//! DynamoDB on this machine, in layers.
//!
//! The SDK's requests go through a [`Connector`](connector) without a socket to
//! a [`Link`]. The last link is the [embedded](Embedded) database; a fault or a
//! limit is a link in front of it.

mod connector;
mod embedded;
mod expiry;
mod link;
mod streams;
mod tokens;

pub(crate) use connector::{clients, operation};
pub use embedded::{Embedded, StorageError};
pub use link::{Answer, Call, Link, Lost};
pub(crate) use streams::{Record, sequence_number};
