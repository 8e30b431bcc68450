//! The cloud on one machine, in one process.
//!
//! It reads `template.yaml`, makes its tables in an embedded DynamoDB and its
//! queues in an SQS of its own, and runs the functions that Lambda runs behind
//! the API and the event sources that the template declares:
//!
//! ```text
//!  server ── sockets ─┐
//!  Cloud::request ────┴► routes ► gateway (event) ► pool (environment) ◄─┐
//!                                                     │ the function     │
//!  Cloud::clients, the services' ports ───────┐       │ its SDK clients  │
//!                                             ▼       ▼                  │
//!                                             │       ▼ permissions      │
//!                                             │       ▼ limits           │
//!                                             └► layer (faults)          │
//!                                                  └► Embedded, Queues ──┤
//!                                                          │ what changed│
//!                                                          └► sources ───┘
//! ```
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let cloud = local::Cloud::start(local::Options::default()).await?;
//! let served = cloud.serve(0).await?;
//! println!("{}", served.url());
//! served.stop().await;
//! # Ok(())
//! # }
//! ```

mod cloud;
mod connector;
pub mod dynamodb;
pub mod event;
pub mod faults;
mod gateway;
mod key;
pub mod limits;
pub mod link;
mod pay;
pub mod permissions;
mod pool;
mod routes;
mod sample;
mod secrets;
mod server;
pub mod sources;
mod sqs;
mod statistics;
mod status;
pub mod template;

use std::path::PathBuf;

pub use axum::body::Bytes;
pub use cloud::{Cloud, Options, StartError, UnknownFunction};
pub use key::{DevKey, KeyError, public_keys};
pub use pay::pay;
pub use sample::SampleError;
pub use server::{ServeError, Served};
pub use sources::{Drivers, Settled};

/// A path in this checkout.
pub(crate) fn in_checkout(path: &str) -> PathBuf {
    let crate_folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let checkout = crate_folder.ancestors().nth(2).unwrap_or(crate_folder);
    checkout.join(path)
}
