//! The schema of what queues need: the core serializes it.

use utoipa::ToSchema;

/// What some queues need, and what they have.
#[derive(ToSchema)]
#[schema(as = Scale)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct ScaleForm {
    /// Jobs that could run now; those of paused queues do not count.
    ready: u64,
    /// Jobs that run.
    running: u64,
    /// Age of the oldest ready job in seconds; 0 if none is.
    oldest_ready_s: f64,
    /// Live workers that serve any of the queues.
    workers: u64,
    /// Jobs that these can run at once.
    slots: u64,
    /// Workers that can run all that is ready or runs, at once.
    wanted_workers: u64,
}
