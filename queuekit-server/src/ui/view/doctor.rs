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
    /// The checklist for production; empty if it was not asked for.
    pub(crate) checklist: Vec<CheckRow>,
    /// Where the checklist is, with the prefix.
    pub(crate) production_url: String,
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

/// A line of the checklist.
#[derive(Clone, Debug)]
pub(crate) struct CheckRow {
    /// `ok`, `to do` or `not checked`, with its shape.
    pub(crate) mark: Mark,
    pub(crate) what: String,
    /// What is missing, or how to check it.
    pub(crate) why: String,
    pub(crate) setting: String,
}

impl Doctor {
    /// How many findings are of this shape.
    pub(crate) fn count(&self, shape: &str) -> usize {
        self.findings.iter().filter(|finding| finding.mark.shape == shape).count()
    }
}
