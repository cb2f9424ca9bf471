//! What queues need, in answers.

use queuekit::queues::Scale;
use serde::Serialize;
use utoipa::ToSchema;

/// What some queues need, and what they have.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Scale)]
pub(crate) struct ScaleBody {
    /// Jobs that could run now; those of paused queues do not count.
    pub(crate) ready: u64,
    /// Jobs that run.
    pub(crate) running: u64,
    /// Age of the oldest ready job in seconds; 0 if none is.
    pub(crate) oldest_ready_s: f64,
    /// Live workers that serve any of the queues.
    pub(crate) workers: u64,
    /// Jobs that these can run at once.
    pub(crate) slots: u64,
    /// Workers that can run all that is ready or runs, at once.
    pub(crate) wanted_workers: u64,
}

impl ScaleBody {
    pub(crate) fn of(scale: Scale) -> Self {
        let Scale { ready, running, oldest_ready, workers, slots, wanted_workers, .. } = scale;
        let oldest_ready_s = oldest_ready.as_secs_f64();
        Self { ready, running, oldest_ready_s, workers, slots, wanted_workers }
    }
}
