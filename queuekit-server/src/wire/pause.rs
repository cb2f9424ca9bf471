//! The body of a request that pauses a queue.

use std::time::Duration;

use queuekit::ErrorKind;
use queuekit::queues::QueuePatch;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::web::Problem;

/// A pause of a queue.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = Pause)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct PauseBody {
    /// Why the queue is paused, for people: at most 500 bytes without control characters.
    #[schema(max_length = 500)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    /// After how long the pause ends by itself.
    #[schema(minimum = 1, maximum = 31_622_400_000_u64)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) for_ms: Option<u64>,
}

impl PauseBody {
    /// The change of settings.
    ///
    /// # Errors
    /// 422, naming the field.
    pub(crate) fn patch(self) -> Result<QueuePatch, Problem> {
        let mut patch = QueuePatch::default().paused(true);
        if let Some(reason) = self.reason {
            patch = patch.pause_reason(reason);
        }
        if let Some(ms) = self.for_ms {
            patch = patch.pause_for(Duration::from_millis(ms));
        }
        patch.check().map_err(|error| match error.kind() {
            // The body has the names without their prefix.
            ErrorKind::Invalid { field, limit, .. } => {
                let field = field.trim_start_matches("pause_");
                Problem::invalid(field, format!("{field} must be {limit}"))
            }
            _ => error.into(),
        })?;
        Ok(patch)
    }
}
