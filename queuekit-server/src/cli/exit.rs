//! How commands end: the exit code, and what is said of a failure.

use std::process::ExitCode;

use queuekit::ErrorKind;

use super::api::Refused;
use super::output::{OutputClosed, remark, with_causes};
use crate::error::Usage;

/// The exit codes of commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Success = 0,
    Failed = 1,
    Usage = 2,
    NotFound = 3,
    Unhealthy = 4,
}

impl Exit {
    /// The exit code of a command that fails with this error.
    pub(crate) fn of(error: &anyhow::Error) -> Self {
        if error.is::<OutputClosed>() {
            return Self::Success;
        }
        if error.is::<Usage>() {
            return Self::Usage;
        }
        if let Some(refused) = error.downcast_ref::<Refused>() {
            return match refused.said().map(|status| status.as_u16()) {
                Some(404) => Self::NotFound,
                Some(400 | 413 | 415 | 422) => Self::Usage,
                _ => Self::Failed,
            };
        }
        match error.downcast_ref::<queuekit::Error>().map(queuekit::Error::kind) {
            Some(ErrorKind::Invalid { .. }) => Self::Usage,
            Some(ErrorKind::NotFound) => Self::NotFound,
            _ => Self::Failed,
        }
    }
}

/// Prints why a command failed, with its causes. A cause is left out if it was printed already, or
/// if it may repeat a secret of the input, such as a URL with its password.
pub(crate) fn complain(error: &anyhow::Error) {
    if Exit::of(error) == Exit::Usage {
        return remark(format_args!("error: {error}"));
    }
    remark(format_args!("error: {}", with_causes(error.as_ref())));
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;
    use queuekit::Error;

    use super::*;

    #[test]
    fn each_kind_of_failure_has_its_code() {
        let invalid: anyhow::Error = Error::invalid("queue", "short", "long").into();
        for (error, exit) in [
            (Usage::error("no"), Exit::Usage),
            (invalid.context("while enqueuing"), Exit::Usage),
            (Error::new(ErrorKind::NotFound, "none").into(), Exit::NotFound),
            (Error::new(ErrorKind::Unavailable, "down").into(), Exit::Failed),
            (anyhow!(std::io::Error::from(std::io::ErrorKind::BrokenPipe)), Exit::Failed),
            (OutputClosed.into(), Exit::Success),
        ] {
            assert_eq!(Exit::of(&error), exit, "{error}");
        }
    }
}
