//! What the server does step by step.

use askama::Template;

use super::{Action, Count, Mark, Ms, Pill, Shell, When, parts};

/// The page `/ui/runs/ID`, which shows how it goes.
#[derive(Clone, Debug, Template)]
#[template(path = "run.html")]
pub(crate) struct RunPage {
    pub(crate) shell: Shell,
    /// `Retry jobs that match`
    pub(crate) title: String,
    /// Where it was begun: address with the prefix, and text.
    pub(crate) back: (String, String),
    pub(crate) pills: Vec<Pill>,
    pub(crate) progress: RunProgress,
    /// Where what is left can be seen: address with the prefix, and text.
    pub(crate) rest: Option<(String, &'static str)>,
    pub(crate) cli: String,
}

/// How far it has come, which changes while one looks.
#[derive(Clone, Debug, Default, Template)]
#[template(path = "parts/run.html")]
pub(crate) struct RunProgress {
    /// `running`, `completed`, `cancelled` (stopped) or `dead` (failed), with its word.
    pub(crate) mark: Mark,
    /// Whether this server knows the run; if not, the figures are none.
    pub(crate) is_known: bool,
    /// `Changed` or `Delivered`
    pub(crate) changed_word: &'static str,
    pub(crate) matched: Count,
    /// What was counted before, if it is known; the bar is full at this.
    pub(crate) expected: Option<Count>,
    pub(crate) changed: Count,
    pub(crate) skipped: Count,
    pub(crate) started: Option<When>,
    pub(crate) started_by: String,
    pub(crate) elapsed: Ms,
    /// About how long it still takes.
    pub(crate) left: Option<Ms>,
    pub(crate) error: Option<String>,
    /// Stop it; none once it has ended.
    pub(crate) stop: Option<Action>,
    /// The page that counts and asks for the same, with the prefix, if the run did not reach its
    /// end.
    pub(crate) again: Option<String>,
}

parts!(RunProgress);
