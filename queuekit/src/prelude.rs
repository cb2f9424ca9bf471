//! What most files that enqueue or handle jobs need: `use queuekit::prelude::*;`.

pub use queuekit_core::{CatchUp, Client, Overlap, Payload, Priority, RetryPolicy, ScheduleDraft};
#[cfg(feature = "worker")]
pub use queuekit_worker::{Ctx, Handler, JobError, JobResult, KindOptions, Worker};
