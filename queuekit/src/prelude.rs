//! What most files that enqueue or handle jobs need: `use queuekit::prelude::*;`.
//!
//! `Result`, `Error` and `Job` are not in it: applications have types of these names.

pub use queuekit_core::{
    BulkAction, CatchUp, Client, EventDraft, JobDraft, JobFilter, JobId, Overlap, Payload,
    Priority, QueuePatch, RetryPolicy, ScheduleDraft, State, SubscriptionDraft,
};
#[cfg(feature = "derive")]
pub use queuekit_derive::Payload;
#[cfg(feature = "worker")]
pub use queuekit_worker::{Ctx, Handler, JobError, JobResult, KindOptions, Worker};
