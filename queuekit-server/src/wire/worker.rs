//! Workers in answers, written by the server and read by commands.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A page of the workers that have sent a beat recently, by id.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = Workers)]
pub(crate) struct WorkersBody {
    pub(crate) workers: Vec<WorkerBody>,
    /// Send it as `after` for the next page; missing on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<String>,
}

/// A listed worker.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = Worker)]
pub(crate) struct WorkerBody {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) queues: Vec<String>,
    /// Whether it serves more queues than it names.
    pub(crate) more_queues: bool,
    pub(crate) kinds: Vec<String>,
    /// Whether it has handlers for more kinds than it names.
    pub(crate) more_kinds: bool,
    pub(crate) slots: u32,
    pub(crate) running: u32,
    /// Time since its last beat.
    pub(crate) age_ms: u64,
}
