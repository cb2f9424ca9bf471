//! The outcome of an enqueue.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::duration_ms;
use crate::job::JobId;

/// The outcome for one job of an enqueue call (contract R2).
///
/// It serializes to the JSON of the HTTP API, for example
/// `{"outcome":"duplicate","id":"019b76da-a800-7000-8000-0000000037a8"}`. `id` is the id of the new
/// job, or of the job that has its place. `queue_full` has no `id` but `retry_after_ms`.
// Exhaustive: code that passes outcomes on, such as a worker or a server, must handle each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(
    feature = "openapi",
    derive(utoipa::ToSchema),
    schema(description = "The outcome for one job of several.")
)]
#[serde(tag = "outcome", rename_all = "snake_case")]
#[must_use]
pub enum EnqueueOutcome {
    /// The job is stored.
    Created {
        /// Its id.
        id: JobId,
    },
    /// Its id or idempotency key is taken by an equal job, which is left as it is.
    Duplicate {
        /// The job that is or was stored; it may be gone.
        #[serde(rename = "id")]
        existing: JobId,
    },
    /// Its id is taken by a job of another kind or payload.
    Conflict {
        /// That job.
        #[serde(rename = "id")]
        existing: JobId,
    },
    /// Its queue is at `max_pending`; nothing was stored for it.
    QueueFull {
        /// How long to wait before trying again.
        #[serde(rename = "retry_after_ms", with = "duration_ms")]
        #[cfg_attr(feature = "openapi", schema(value_type = u64))]
        retry_after: Duration,
    },
}

impl EnqueueOutcome {
    /// The id under which the work is stored: of the job created or of its duplicate.
    pub fn job_id(self) -> Option<JobId> {
        match self {
            Self::Created { id } | Self::Duplicate { existing: id } => Some(id),
            Self::Conflict { .. } | Self::QueueFull { .. } => None,
        }
    }

    /// Whether this call created the job.
    pub fn is_created(self) -> bool {
        matches!(self, Self::Created { .. })
    }
}
