//! The metrics of the runs of one queue and kind.

use metrics::{Counter, Histogram};

/// Handles of metrics: runs share them, so that none costs a look-up in the recorder.
pub(crate) struct Meter {
    pub(crate) wait: Histogram,
    pub(crate) run: Histogram,
    /// By the places of outcomes.
    pub(crate) outcomes: Box<[Counter]>,
}
