//! Errors that several modules share.

use std::fmt;

/// A usage error: wrong arguments or settings. The message says what to write instead.
#[derive(Debug)]
pub(crate) struct Usage(String);

impl Usage {
    /// As the error of a command.
    pub(crate) fn error(message: impl Into<String>) -> anyhow::Error {
        Self(message.into()).into()
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}
