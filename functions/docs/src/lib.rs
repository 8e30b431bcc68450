//! The API's document: what every operation takes, answers and refuses.
//!
//! Each operation says so in its own file (`operation()`), made of the types and
//! the refusals that its handler goes by. Here they are put together, by the
//! first request that an environment gets. So nothing has to be built, stored or
//! kept in step, and no other function carries any of it.
//!
//! # Access patterns
//!
//! None: what the document says is in the code.

pub mod document;
pub mod get_docs;
pub mod get_openapi;
mod page;

use platform::{Function, Operation};

/// The functions of this system.
pub static FUNCTIONS: &[Function] = &[get_openapi::FUNCTION, get_docs::FUNCTION];

/// What the document says of them.
pub fn operations() -> Vec<Operation> {
    vec![get_openapi::operation(), get_docs::operation()]
}
