//! What this server does step by step, while a page shows how far it has come.

use std::fmt::Write;
use std::sync::{Mutex, PoisonError};

use axum::http::StatusCode;
use queuekit::Timestamp;
use queuekit::events::ConsumerName;
use tokio_util::sync::CancellationToken;

use super::failure::Failure;
use crate::wire::{BulkBody, Time};

/// A run. Its page shows the progress.
pub(super) struct Run {
    pub(super) id: String,
    pub(super) task: Task,
    /// How many jobs or events were counted before; none if there may be more.
    pub(super) expected: Option<u64>,
    pub(super) began: Timestamp,
    /// The id of the key, or `-`.
    pub(super) started_by: String,
    /// Whether the key is restricted to some queues or kinds.
    pub(super) is_bound: bool,
    stop: CancellationToken,
    progress: Mutex<Progress>,
}

/// What is done.
pub(super) enum Task {
    /// An action on all jobs of a filter.
    Bulk {
        /// The words of the filter.
        words: String,
        body: Box<BulkBody>,
    },
    /// Events of the log are delivered again.
    Replay {
        consumer: ConsumerName,
        /// Under one name, each event is delivered once.
        name: String,
        from: Option<Time>,
    },
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
        is_bound: bool,
        task: Task,
        expected: Option<u64>,
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
            task,
            expected,
            began,
            started_by: started_by.to_owned(),
            is_bound,
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
