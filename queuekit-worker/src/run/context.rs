//! The part of a worker that its runs use.

use std::sync::atomic::{AtomicBool, Ordering};

use queuekit_core::{Client, RetryPolicy, WorkerId};

use super::options::KindOptions;
use super::phase::Phases;
use super::values::Values;

/// Owned by every run, so that a handler that outlives its worker keeps nothing else of it.
pub(crate) struct RunContext {
    pub(crate) client: Client,
    pub(crate) worker: WorkerId,
    pub(crate) values: Values,
    pub(crate) retry: RetryPolicy,
    /// The options of the handlers, by their places.
    pub(crate) options: Vec<KindOptions>,
    pub(crate) phases: Phases,
    has_reports: AtomicBool,
}

impl RunContext {
    pub(crate) fn new(
        client: Client,
        worker: WorkerId,
        values: Values,
        retry: RetryPolicy,
        options: Vec<KindOptions>,
    ) -> Self {
        let (phases, has_reports) = (Phases::default(), AtomicBool::new(false));
        Self { client, worker, values, retry, options, phases, has_reports }
    }

    /// Some run has something to report.
    pub(crate) fn report_soon(&self) {
        self.has_reports.store(true, Ordering::Release);
    }

    /// Whether some run has something to report since this was asked last.
    pub(crate) fn take_report_soon(&self) -> bool {
        self.has_reports.swap(false, Ordering::AcqRel)
    }
}
