use std::fmt;

/// Why a command of `xtask` ended early.
///
/// The two kinds differ in their exit code, 2 and 1: a script can tell a typo in the command from
/// a project that is broken.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Error {
    /// The command line makes no sense; usage is printed with it.
    Usage(String),
    /// A step did not succeed; the text says which and what to do about it.
    Failed(String),
}

pub(crate) type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::Failed(message.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(message) | Self::Failed(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for Error {}
