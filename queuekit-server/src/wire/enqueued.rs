//! The outcomes of an enqueue.

use queuekit::EnqueueOutcome;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The outcomes for several jobs, in their order.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = EnqueuedMany)]
pub(crate) struct EnqueueOutcomesBody {
    pub(crate) outcomes: Vec<EnqueueOutcome>,
}
