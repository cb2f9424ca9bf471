//! How a run ended.

use std::time::Duration;

use queuekit_core::{AckOutcome, NackOutcome};

/// How a run ended, by the store's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The job is completed.
    Completed,
    /// The run failed; the job runs again after this long.
    Retrying {
        /// From now.
        after: Duration,
    },
    /// The job is in the dead-letter queue.
    Dead,
    /// The job was released and runs again after this time; no attempt was spent.
    Released {
        /// From now.
        after: Duration,
    },
    /// The job is cancelled.
    Cancelled,
    /// The lease no longer held: this run changed nothing.
    LeaseLost,
}

impl Outcome {
    /// By their places.
    pub(crate) const NAMES: [&'static str; 6] =
        ["completed", "failed", "dead", "released", "cancelled", "lease_lost"];

    /// The snake_case name used in metrics.
    pub const fn as_str(self) -> &'static str {
        Self::NAMES[self.index()]
    }

    pub(crate) const fn index(self) -> usize {
        match self {
            Self::Completed => 0,
            Self::Retrying { .. } => 1,
            Self::Dead => 2,
            Self::Released { .. } => 3,
            Self::Cancelled => 4,
            Self::LeaseLost => 5,
        }
    }
}

impl From<AckOutcome> for Outcome {
    fn from(outcome: AckOutcome) -> Self {
        match outcome {
            AckOutcome::Acked | AckOutcome::AlreadyDone => Self::Completed,
            AckOutcome::LeaseLost | AckOutcome::NotFound => Self::LeaseLost,
        }
    }
}

impl From<NackOutcome> for Outcome {
    fn from(outcome: NackOutcome) -> Self {
        match outcome {
            NackOutcome::Retrying { after } => Self::Retrying { after },
            NackOutcome::Dead => Self::Dead,
            NackOutcome::Released { after } => Self::Released { after },
            NackOutcome::Cancelled => Self::Cancelled,
            NackOutcome::LeaseLost | NackOutcome::NotFound => Self::LeaseLost,
        }
    }
}
