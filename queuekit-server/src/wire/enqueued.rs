//! The outcomes of an enqueue.

use queuekit::EnqueueOutcome;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The outcomes for several jobs, in their order.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = EnqueuedMany)]
pub(crate) struct EnqueueOutcomesBody {
    #[schema(value_type = Vec<EnqueueOutcomeForm>)]
    pub(crate) outcomes: Vec<EnqueueOutcome>,
}

/// The outcome for one job of several.
#[derive(ToSchema)]
#[schema(as = EnqueueOutcome)]
#[expect(dead_code, reason = "only its schema is used: the core serializes outcomes")]
struct EnqueueOutcomeForm {
    /// `created`, `duplicate`, `conflict` or `queue_full`.
    outcome: String,
    /// Id of the job, or of the job in its place.
    #[schema(format = Uuid)]
    id: Option<String>,
    retry_after_ms: Option<u64>,
}
