//! Stored jobs: what [`Client::jobs`](crate::Client::jobs) takes and answers, the requests that
//! enqueue, and the parts of a [`Job`](crate::Job).
//!
//! ```
//! use queuekit::jobs::{BulkAction, JobFilter};
//! use queuekit::{Client, JobDraft, State, memory::MemoryStore};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> queuekit::Result<()> {
//! let client = Client::new(MemoryStore::new());
//! let id = client.enqueue(JobDraft::new("export", "{}")).await?;
//! let waiting = JobFilter::default().kind("export").status(State::Pending);
//! assert_eq!(client.jobs().list(&waiting).await?.items[0].id, id);
//! assert_eq!(client.jobs().bulk(waiting, BulkAction::Cancel).await?.changed, 1);
//! # Ok(())
//! # }
//! ```

#[doc(inline)]
pub use queuekit_core::backend::{
    Examined, IdPrefix, JobErrors, Listed, MetadataTerm, PayloadTerm,
};
#[doc(inline)]
pub use queuekit_core::capability::{
    CancelOutcome, CheckpointOutcome, NewCheckpoint, Why, WhyFacts,
};
#[doc(inline)]
pub use queuekit_core::client::{EnqueueAll, EnqueueRequest, Jobs, Outcomes};
#[doc(inline)]
pub use queuekit_core::{
    Ack, AckOutcome, BulkAction, BulkActionName, BulkReport, BulkRequest, BulkTotals,
    CheckpointInfo, Cursor, ErrorText, Failure, IdempotencyKey, IntoJob, JobFilter, Kind,
    LeaseToken, LogLine, PAYLOAD_VERSION, Page, PageSize, PartitionKey, Progress, Release,
    ReleaseCause, Start, StatusSet, TimeRange, Undecodable,
};
