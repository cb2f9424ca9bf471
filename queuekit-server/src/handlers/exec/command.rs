//! A command of the configuration.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

/// A command, exactly as configured.
pub(crate) struct Command {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
    /// The variables that it gets, besides those about its job.
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) directory: PathBuf,
    pub(crate) timeout: Duration,
    /// Exit codes that dead-letter a job at once.
    pub(crate) dead_exit_codes: BTreeSet<i32>,
}
