//! Workers: those that [`Client::workers`](crate::Client::workers) lists, and what belongs to a
//! [`Worker`](crate::Worker) of this process: middleware, hooks, snapshots, health, and handlers
//! of raw bytes.

#[doc(inline)]
pub use queuekit_core::WorkerId;
#[doc(inline)]
pub use queuekit_core::capability::{
    About, Beat, BeatTtl, OrderedMode, Orders, Running, Served, UndecodableKind, WorkerInfo,
    WorkerOrder, WorkerPage,
};
#[doc(inline)]
pub use queuekit_core::client::Workers;
#[cfg(feature = "worker")]
#[doc(inline)]
pub use queuekit_worker::{
    BatchOutput, BoxFuture, Caretaker, HealthProbe, Hooks, Middleware, Next, Outcome, RawHandler,
    RunSummary, RunningJob, WorkerHealth, WorkerSnapshot, WorkerState,
};
#[cfg(feature = "tower")]
#[doc(inline)]
pub use queuekit_worker::{JobRequest, JobService, RunFailed};
