//! Progress and log lines of one run, on their way to the store.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use queuekit_core::capability::Report;
use queuekit_core::limits::{LOG_LINE_BYTES, LOG_LINES_KEPT};
use queuekit_core::{LeaseToken, Progress};

/// What a run has said and the store does not know yet.
#[derive(Default)]
pub(crate) struct Reports {
    state: AtomicU8,
    said: Mutex<Option<Box<Said>>>,
}

/// Something was said.
const DIRTY: u8 = 1;
/// A call that tells the store is under way.
const SENDING: u8 = 2;

#[derive(Default)]
struct Said {
    progress: Option<Progress>,
    lines: VecDeque<String>,
}

impl Reports {
    pub(crate) fn progress(&self, fraction: f32, message: &str) {
        self.said().get_or_insert_default().progress = Some(Progress::new(fraction, message));
        self.state.fetch_or(DIRTY, Ordering::AcqRel);
    }

    pub(crate) fn log(&self, mut line: String) {
        let mut end = line.len().min(LOG_LINE_BYTES);
        while !line.is_char_boundary(end) {
            end -= 1;
        }
        line.truncate(end);
        let mut said = self.said();
        let lines = &mut said.get_or_insert_default().lines;
        lines.push_back(line);
        if lines.len() > LOG_LINES_KEPT {
            lines.pop_front();
        }
        drop(said);
        self.state.fetch_or(DIRTY, Ordering::AcqRel);
    }

    /// Whether no report waits or is on its way.
    pub(crate) fn is_clean(&self) -> bool {
        self.state.load(Ordering::Acquire) == 0
    }

    pub(crate) fn is_sending(&self) -> bool {
        self.state.load(Ordering::Acquire) & SENDING != 0
    }

    /// The report to send now; [`sent`](Self::sent) must follow.
    pub(crate) fn take(&self, lease: &LeaseToken) -> Option<Report> {
        let mut slot = self.said();
        // One call at a time: two could arrive in the wrong order, and the older progress would
        // stay.
        if self.is_sending() {
            return None;
        }
        let said = slot.take()?;
        self.state.store(SENDING, Ordering::Release);
        Some(Report::new(lease.clone(), said.progress, said.lines.into()))
    }

    /// The call has ended; what it could not tell is kept for the next one.
    pub(crate) fn sent(&self, untold: Option<Report>) {
        let mut slot = self.said();
        if let Some(report) = untold {
            let said = slot.get_or_insert_default();
            // What was said during the call is newer.
            said.progress = said.progress.take().or(report.progress);
            // The latest of them first, so that the oldest are left out if there is no room for
            // all.
            for line in report.lines.into_iter().rev() {
                if said.lines.len() < LOG_LINES_KEPT {
                    said.lines.push_front(line);
                }
            }
        }
        let state = if slot.is_some() { DIRTY } else { 0 };
        self.state.store(state, Ordering::Release);
    }

    fn said(&self) -> MutexGuard<'_, Option<Box<Said>>> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
