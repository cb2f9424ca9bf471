//! Error groups.

use askama::Template;

use super::{Action, Count, ErrorText, JobRow, Newer, Pager, Shell, Sparkline, When, parts};

/// The page `/ui/errors`.
#[derive(Clone, Debug, Template)]
#[template(path = "errors.html")]
pub(crate) struct Errors {
    pub(crate) shell: Shell,
    /// There are too many queues for a list of all.
    pub(crate) is_to_choose: bool,
    /// Queues to choose: address with the prefix, name, and whether it is the present one.
    pub(crate) queues: Vec<(String, String, bool)>,
    pub(crate) newer: Newer,
    pub(crate) table: ErrorTable,
}

/// Groups as a table.
#[derive(Clone, Debug, Template)]
#[template(path = "parts/error_table.html")]
pub(crate) struct ErrorTable {
    /// Only of this queue; empty for all.
    pub(crate) queue: String,
    pub(crate) rows: Vec<GroupRow>,
    pub(crate) pager: Pager,
}

parts!(ErrorTable);

/// Errors of one queue that look alike.
#[derive(Clone, Debug)]
pub(crate) struct GroupRow {
    pub(crate) queue: String,
    pub(crate) kind: String,
    pub(crate) signature: String,
    /// With the prefix.
    pub(crate) url: String,
    pub(crate) failures: Count,
    pub(crate) deaths: Count,
    pub(crate) first: When,
    pub(crate) last: When,
    /// Whether it began within the last hour.
    pub(crate) is_new: bool,
    pub(crate) recent: RecentErrors,
    pub(crate) note: Option<Note>,
}

/// What an operator wrote about a group.
#[derive(Clone, Debug)]
pub(crate) struct Note {
    pub(crate) text: String,
    pub(crate) by: String,
    pub(crate) at: When,
}

/// How many errors of a group occurred lately.
#[derive(Clone, Debug)]
pub(crate) struct RecentErrors {
    /// In the current hour, in 24 hours and in 7 days.
    pub(crate) hour: Count,
    pub(crate) day: Count,
    pub(crate) week: Count,
    /// By hour, the last 24.
    pub(crate) spark: Sparkline,
}

/// The page `/ui/errors/ID`.
#[derive(Clone, Debug, Template)]
#[template(path = "error_group.html")]
pub(crate) struct ErrorGroup {
    pub(crate) shell: Shell,
    pub(crate) row: GroupRow,
    /// How many jobs are dead of it now; none if the viewer may not act on them.
    pub(crate) dead_now: Option<Count>,
    /// The job it was last added to for; it may be gone.
    pub(crate) sample: String,
    pub(crate) sample_is_gone: bool,
    pub(crate) error: Option<ErrorText>,
    /// Retry one as a test, retry all, over 10 minutes, purge.
    pub(crate) actions: Vec<Action>,
    /// Links to pages that ask first, with the prefix: label, address, whether it is destructive.
    pub(crate) links: Vec<(String, String, bool)>,
    /// Where a note is sent to, with the prefix; none if the viewer may not write one.
    pub(crate) note_url: Option<String>,
    pub(crate) csrf: String,
    /// Its dead jobs, the latest first.
    pub(crate) jobs: Vec<JobRow>,
    pub(crate) pager: Pager,
    pub(crate) cli: String,
}

impl ErrorGroup {
    /// What the field of the note holds.
    pub(crate) fn noted(&self) -> &str {
        self.row.note.as_ref().map_or("", |note| &note.text)
    }

    pub(crate) fn short_sample(&self) -> String {
        super::short_id(&self.sample)
    }
}
