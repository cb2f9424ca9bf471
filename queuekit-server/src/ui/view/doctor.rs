//! What is wrong with the store, and how to fix it.

use askama::Template;

use super::{Mark, Shell};

/// The page `/ui/doctor`.
#[derive(Clone, Debug, Template)]
#[template(path = "doctor.html")]
pub(crate) struct Doctor {
    pub(crate) shell: Shell,
    pub(crate) is_healthy: bool,
    /// What was looked at, and what it said.
    pub(crate) facts: Vec<(String, String)>,
    pub(crate) findings: Vec<Finding>,
    /// The command that also checks the list for production.
    pub(crate) cli: String,
}

/// Something that is wrong.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    /// `error` or `warning`
    pub(crate) mark: Mark,
    pub(crate) message: String,
    /// How to fix it.
    pub(crate) remedy: String,
    /// The command of the remedy, to copy.
    pub(crate) command: Option<String>,
}

impl Doctor {
    /// How many findings are of this shape.
    pub(crate) fn count(&self, shape: &str) -> usize {
        self.findings.iter().filter(|finding| finding.mark.shape == shape).count()
    }
}
