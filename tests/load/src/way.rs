//! The way to the system: over a socket, or straight into this process.

use async_trait::async_trait;

use crate::call::{Answer, Call, Lost, Request};
use crate::direct::Direct;
use crate::wire::Wire;

/// Carries requests.
#[derive(Clone)]
pub(crate) enum Way {
    /// Over a socket.
    Wire(Wire),
    /// Without one.
    Direct(Direct),
}

#[async_trait]
impl Call for Way {
    async fn call(&self, request: &Request) -> Result<Answer, Lost> {
        match self {
            Self::Wire(wire) => wire.call(request).await,
            Self::Direct(direct) => direct.call(request).await,
        }
    }
}
