//! The outcomes of an enqueue.

use std::borrow::Cow;

use queuekit::{EnqueueOutcome, JobId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::millis;

/// The outcomes for several jobs, in their order.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = EnqueuedMany)]
pub(crate) struct EnqueueOutcomesBody {
    pub(crate) outcomes: Vec<EnqueueOutcomeBody>,
}

/// The outcome for one job of several.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = EnqueueOutcome)]
pub(crate) struct EnqueueOutcomeBody {
    /// `created`, `duplicate`, `conflict` or `queue_full`.
    pub(crate) outcome: Cow<'static, str>,
    /// Id of the job, or of the job in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = Uuid)]
    pub(crate) id: Option<JobId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) retry_after_ms: Option<u64>,
}

impl EnqueueOutcomeBody {
    pub(crate) fn of(outcome: EnqueueOutcome) -> Self {
        let named = |outcome: &'static str, id| Self {
            outcome: outcome.into(),
            id: Some(id),
            retry_after_ms: None,
        };
        match outcome {
            EnqueueOutcome::Created { id } => named("created", id),
            EnqueueOutcome::Duplicate { existing } => named("duplicate", existing),
            EnqueueOutcome::Conflict { existing } => named("conflict", existing),
            EnqueueOutcome::QueueFull { retry_after } => {
                let retry_after_ms = Some(millis(retry_after));
                Self { outcome: "queue_full".into(), id: None, retry_after_ms }
            }
        }
    }
}
