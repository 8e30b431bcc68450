//! What must not show in a log: passwords, tokens, names, addresses.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A value that debugging shows nothing of.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Private<T>(T);

impl<T> Private<T> {
    /// The value.
    pub fn expose(&self) -> &T {
        &self.0
    }
}

impl<T> From<T> for Private<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

impl<T> fmt::Debug for Private<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(private)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debugging_shows_nothing_and_json_everything() {
        let name = Private::from("Ada".to_owned());
        assert_eq!(format!("{name:?} {:?}", Some(&name)), "(private) Some((private))");
        assert_eq!(serde_json::to_string(&name).unwrap(), r#""Ada""#);
    }
}
