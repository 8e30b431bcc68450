//! What every hotseat function shares, once.
//!
//! A handler is an `async fn(&App, Request) -> Result<Reply, Problem>`. This
//! library gives it verified callers, validated input, conditional writes
//! whose outcome is always known or said to be unknown, and turns what it
//! returns into an answer, a log line and metrics. [`lambda`] runs it on AWS;
//! the local cloud calls the very same [`lambda::Function`].

pub mod app;
pub mod audience;
pub mod auth;
pub mod cache;
pub mod clock;
pub mod cursor;
pub mod events;
pub mod health;
pub mod http;
pub mod idempotency;
pub mod ids;
pub mod lambda;
pub mod meter;
pub mod not_found;
pub mod operation;
pub mod problem;
pub mod queue;
pub mod ring;
pub mod secrets;
pub mod signed;
pub mod stripes;
pub mod table;
pub mod telemetry;
pub mod text;
pub mod views;
pub mod windows;

pub use app::App;
pub use http::{Reply, Request};
pub use lambda::Function;
pub use operation::Operation;
pub use problem::Problem;

/// The functions that belong to no system.
pub static FUNCTIONS: &[Function] = &[health::FUNCTION, not_found::FUNCTION];

/// What the API's document says of them. What no route takes is no operation.
pub fn operations() -> Vec<Operation> {
    vec![health::operation()]
}
