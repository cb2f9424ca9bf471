//! The list of jobs.

use askama::Template;

use super::{Action, FilterBar, Mark, Pager, Shell, When, parts};

/// The page `/ui/jobs`.
#[derive(Clone, Debug, Template)]
#[template(path = "jobs.html")]
pub(crate) struct Jobs {
    pub(crate) shell: Shell,
    pub(crate) filter: FilterBar,
    pub(crate) newer: Newer,
    /// What the list is sorted by.
    pub(crate) order: &'static str,
    pub(crate) rows: Vec<JobRow>,
    pub(crate) pager: Pager,
    /// What can be done with the selected jobs.
    pub(crate) selected: Vec<BulkButton>,
    /// What can be done with all that match: links to the page that counts them first.
    pub(crate) all: Vec<BulkLink>,
    /// `all 1,204 that match`, or `all that match`.
    pub(crate) all_told: String,
    /// Where the form of the selected jobs is posted to, with the prefix.
    pub(crate) bulk_url: String,
}

/// How many rows are newer than the list; the list itself does not move.
#[derive(Clone, Debug, Default, Template)]
#[template(path = "parts/newer.html")]
pub(crate) struct Newer {
    /// `1,204 newer`; empty if there are none.
    pub(crate) told: String,
    /// The same list, with them.
    pub(crate) url: String,
    /// How far the list went when it was loaded: how many jobs there had been, or the last place of
    /// the log of events. A stream that is opened again asks with it.
    pub(crate) since: Option<u64>,
}

/// A job of the list.
#[derive(Clone, Debug)]
pub(crate) struct JobRow {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) queue: String,
    pub(crate) mark: Mark,
    pub(crate) attempts: u32,
    pub(crate) max_attempts: u32,
    pub(crate) enqueued: When,
    /// When the status began, or will end: ended, started, or due. The word says which.
    pub(crate) moment: Option<(&'static str, When)>,
    /// The error, the progress, or what else is of note.
    pub(crate) detail: String,
    /// Whether the detail is an error.
    pub(crate) is_error: bool,
}

/// A button of the selection.
#[derive(Clone, Debug)]
pub(crate) struct BulkButton {
    /// Its value: `retry`, `cancel`, `delete`, `dead-letter`.
    pub(crate) action: &'static str,
    /// `Retry`; a script adds how many.
    pub(crate) verb: &'static str,
    pub(crate) is_danger: bool,
    /// Why none of the listed jobs allows it.
    pub(crate) impossible: Option<String>,
}

/// A link to act on all that match.
#[derive(Clone, Debug)]
pub(crate) struct BulkLink {
    pub(crate) label: String,
    pub(crate) url: String,
    pub(crate) is_danger: bool,
    /// Why no job that matches allows it.
    pub(crate) impossible: Option<&'static str>,
}

parts!(Newer);

impl JobRow {
    pub(crate) fn short_id(&self) -> String {
        short_id(&self.id)
    }
}

/// `01a2024a…b46a`: the time, and random digits. The last four digits are the same in all jobs of a
/// queue.
pub(crate) fn short_id(id: &str) -> String {
    match (id.get(..8), id.get(28..32)) {
        (Some(time), Some(random)) => format!("{time}…{random}"),
        _ => id.to_owned(),
    }
}

/// The page that asks for the selected jobs before an action that cannot be undone.
#[derive(Clone, Debug, Template)]
#[template(path = "selected.html")]
pub(crate) struct Selected {
    pub(crate) shell: Shell,
    /// `Delete 12 jobs?`
    pub(crate) question: String,
    pub(crate) detail: String,
    pub(crate) rows: Vec<JobRow>,
    pub(crate) action: Action,
    /// Where `Cancel` leads, with the prefix.
    pub(crate) back: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_ids_tell_jobs_of_a_queue_apart() {
        assert_eq!(short_id("01a2024a-5d2c-726d-beb8-5518b46a37a8"), "01a2024a…b46a");
        assert_eq!(short_id("01a2024a-5d2c-726d-beb8-5518b5b337a8"), "01a2024a…b5b3");
        assert_eq!(short_id("short"), "short");
    }
}
