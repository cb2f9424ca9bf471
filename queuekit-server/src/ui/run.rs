//! One action on all jobs of a filter, step by step.

use std::fmt::Write;
use std::sync::{Mutex, PoisonError};

use axum::http::StatusCode;
use queuekit::Timestamp;
use tokio_util::sync::CancellationToken;

use super::failure::Failure;
use crate::wire::BulkBody;

/// A run. Its page shows the progress.
pub(super) struct Run {
    pub(super) id: String,
    /// The words of the filter.
    pub(super) words: String,
    pub(super) body: BulkBody,
    /// How many jobs were counted before.
    pub(super) expected: u64,
    pub(super) began: Timestamp,
    /// The id of the key, or `-`.
    pub(super) started_by: String,
    stop: CancellationToken,
    progress: Mutex<Progress>,
}

/// How far it has come.
#[derive(Clone)]
pub(super) struct Progress {
    pub(super) state: State,
    pub(super) matched: u64,
    pub(super) changed: u64,
    pub(super) skipped: u64,
    pub(super) ended: Option<Timestamp>,
    /// Why it pauses, or has failed.
    pub(super) error: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Running,
    Completed,
    Stopped,
    Failed,
}

impl Run {
    pub(super) fn new(
        started_by: &str,
        body: BulkBody,
        words: String,
        expected: u64,
        began: Timestamp,
    ) -> Result<Self, Failure> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|_| {
            let detail = "the system has no randomness";
            Failure::new(StatusCode::INTERNAL_SERVER_ERROR, detail)
        })?;
        let mut id = String::new();
        for byte in random {
            // Writing to a String cannot fail.
            let _ = write!(id, "{byte:02x}");
        }
        let progress = Progress {
            state: State::Running,
            matched: 0,
            changed: 0,
            skipped: 0,
            ended: None,
            error: None,
        };
        Ok(Self {
            id,
            words,
            body,
            expected,
            began,
            started_by: started_by.to_owned(),
            stop: CancellationToken::new(),
            progress: Mutex::new(progress),
        })
    }

    /// Whether this key started it.
    pub(super) fn is_of(&self, key: &str) -> bool {
        self.started_by == key
    }

    pub(super) fn progress(&self) -> Progress {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn state(&self) -> State {
        self.progress().state
    }

    /// Stops it after the present step.
    pub(super) fn stop(&self) {
        self.stop.cancel();
    }

    /// Completes when it is asked to stop.
    pub(super) async fn stopped(&self) {
        self.stop.cancelled().await;
    }

    pub(super) fn update(&self, change: impl FnOnce(&mut Progress)) {
        change(&mut self.progress.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
