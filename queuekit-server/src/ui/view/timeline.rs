//! The life of a job, step by step.

use askama::Template;

use super::{Ms, When, parts};

/// What happened to a job, oldest first.
#[derive(Clone, Debug, Template)]
#[template(path = "parts/timeline.html")]
pub(crate) struct Timeline {
    /// The prefix of addresses.
    pub(crate) base: String,
    pub(crate) steps: Vec<Step>,
    /// How many older steps are no longer stored.
    pub(crate) forgotten: u64,
}

/// One thing that happened.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// The shape of its mark: a status, or `info`.
    pub(crate) shape: &'static str,
    /// `Enqueued`, `Attempt 1 failed`, `Retry is due`
    pub(crate) title: String,
    pub(crate) at: Option<When>,
    /// How long it lasted: of a run.
    pub(crate) lasted: Option<Ms>,
    /// How long nothing happened before: `waited 4s`.
    pub(crate) before: Option<(&'static str, Ms)>,
    pub(crate) worker: Option<String>,
    /// The error, or the cause of a release.
    pub(crate) error: Option<ErrorText>,
    /// Whether it is yet to come.
    pub(crate) is_future: bool,
}

/// An error: its first line, and the lines of its stack.
#[derive(Clone, Debug)]
pub(crate) struct ErrorText {
    pub(crate) first: String,
    /// Empty if there is one line.
    pub(crate) rest: String,
    /// The list of jobs that failed alike, with the prefix.
    pub(crate) group: Option<String>,
}

parts!(Timeline);

impl ErrorText {
    pub(crate) fn of(text: &str, group: Option<String>) -> Self {
        let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
        Self { first: first.to_owned(), rest: rest.to_owned(), group }
    }

    /// `14 lines more`
    pub(crate) fn more(&self) -> String {
        match self.rest.lines().count() {
            1 => "1 line more".to_owned(),
            lines => format!("{lines} lines more"),
        }
    }
}
