//! The metrics of the runs of one queue and kind.

use std::sync::Arc;
use std::time::Duration;

use metrics::{Counter, Histogram};

use crate::run::outcome::Outcome;
use crate::state::run_history::RunCounts;

/// Handles of metrics: runs share them, so that none costs a look-up in the recorder.
pub(crate) struct Meter {
    pub(crate) wait: Histogram,
    pub(crate) run: Histogram,
    /// By the places of outcomes.
    pub(crate) outcomes: Box<[Counter]>,
    /// For the history.
    pub(crate) counts: Arc<RunCounts>,
}

impl Meter {
    /// A job was leased this long after it was due.
    pub(crate) fn waited(&self, time: Duration) {
        self.wait.record(time);
        self.counts.waited(time);
    }

    /// A handler has returned after this long.
    pub(crate) fn ran(&self, time: Duration) {
        self.run.record(time);
        self.counts.ran(time);
    }

    /// The store has answered how a run ended.
    pub(crate) fn ended(&self, outcome: Outcome) {
        self.outcomes[outcome.index()].increment(1);
        self.counts.ended(outcome);
    }
}
