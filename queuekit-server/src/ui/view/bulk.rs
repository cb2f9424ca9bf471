//! One action on all jobs of a filter, counted first.

use askama::Template;

use super::{Count, Pill, Shell};

/// The page `/ui/bulk`, which counts and asks.
#[derive(Clone, Debug, Template)]
#[template(path = "bulk.html")]
pub(crate) struct BulkAsk {
    pub(crate) shell: Shell,
    /// `retry`, `cancel`, `delete`, `dead-letter` or `reschedule`
    pub(crate) action: &'static str,
    /// `Retry 1,204 jobs?`, `Retry at least 512 jobs?`
    pub(crate) question: String,
    /// What it does to them, and whether it can be undone.
    pub(crate) detail: String,
    pub(crate) filter: String,
    pub(crate) pills: Vec<Pill>,
    /// How many were counted.
    pub(crate) matched: Count,
    /// Whether there may be more: the count stopped early.
    pub(crate) or_more: bool,
    pub(crate) is_danger: bool,
    /// What must be typed: the number, above 1,000 jobs, or the action if it is not known.
    pub(crate) type_to_confirm: Option<String>,
    /// Over how long a retry can be spread: `0`, `10m`, and which is chosen.
    pub(crate) spreads: Vec<(&'static str, &'static str, bool)>,
    /// The reason of a dead-letter can be written.
    pub(crate) wants_reason: bool,
    /// The button: `Retry 1,204 jobs`.
    pub(crate) label: String,
    /// Why it cannot begin: nothing matches, or other runs have not ended.
    pub(crate) impossible: Option<&'static str>,
    /// Where the form is posted to, and where `Cancel` leads, with the prefix.
    pub(crate) url: String,
    pub(crate) back: String,
    pub(crate) cli: String,
}
