//! Receipt handles: which message, of which queue, and which time it was received.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use super::error::QueueError;

/// What a receipt handle stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Receipt {
    pub(super) sequence: i64,
    pub(super) receives: i64,
}

impl Receipt {
    /// The handle that a receiver gets.
    pub(super) fn to_handle(&self, queue: &str) -> String {
        let text = format!("{queue} {} {}", self.sequence, self.receives);
        BASE64_URL_SAFE_NO_PAD.encode(text)
    }

    /// Reads a handle of `queue`'s.
    pub(super) fn from_handle(handle: &str, queue: &str) -> Result<Self, QueueError> {
        Self::read(handle, queue)
            .ok_or_else(|| QueueError::ReceiptHandleIsInvalid(handle.to_owned()))
    }

    fn read(handle: &str, queue: &str) -> Option<Self> {
        let text = BASE64_URL_SAFE_NO_PAD.decode(handle).ok()?;
        let text = String::from_utf8(text).ok()?;
        let mut parts = text.split(' ');
        let of_this_queue = parts.next() == Some(queue);
        let sequence = parts.next()?.parse().ok()?;
        let receives = parts.next()?.parse().ok()?;
        of_this_queue.then_some(Self { sequence, receives })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_read_back_for_its_queue_alone() {
        let receipt = Receipt { sequence: 7, receives: 2 };
        let handle = receipt.to_handle("Work");
        assert_eq!(Receipt::from_handle(&handle, "Work").unwrap(), receipt);
        for (handle, queue) in [(handle.as_str(), "Other"), ("", "Work"), ("é", "Work")] {
            let error = Receipt::from_handle(handle, queue).unwrap_err();
            assert!(matches!(error, QueueError::ReceiptHandleIsInvalid(_)), "{handle}");
        }
    }
}
