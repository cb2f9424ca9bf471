//! What a store implements: ten operations, `find_queues`, which follows from one of them, and what
//! else it can do.

mod capabilities;
mod enqueue;
mod ext;
mod filter;
mod lease;
mod reserve;
mod settle;
mod shared;
mod weighted;

use std::fmt::Debug;

use async_trait::async_trait;

pub use capabilities::Capabilities;
pub use enqueue::EnqueueOutcome;
pub use ext::BackendExt;
pub(crate) use ext::{enqueued, only};
pub use filter::{Cursor, JobFilter, Listed, Page, PageSize, TimeRange};
pub use lease::{Lease, LeaseToken, LeaseTtl, Nonce};
pub use reserve::{Division, Queues, Reserve, Reserved};
pub use settle::{Ack, AckOutcome, Burial, BurialTarget, BuryOutcome, Nack, NackKind, NackOutcome};
pub use weighted::WeightedQueues;

use crate::error::Result;
use crate::job::{Job, JobId, NewJob};
use crate::names::QueueName;
use crate::queue::Queue;

/// A durable store of jobs.
///
/// Every operation takes effect atomically per job at one instant between call and return, or not
/// at all (contract R0.1); after [`Indeterminate`](crate::ErrorKind::Indeterminate), and after its
/// future was dropped, it may have taken effect. Batches answer in input order, an outcome per
/// item, and an empty batch is answered without contacting the store.
///
/// `docs/semantics.md` has the whole contract; the crate `queuekit-integration-tests` runs it
/// against any implementation.
#[async_trait]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a queuekit store",
    note = "stores come from `queuekit::connect(url)` or `queuekit_core::memory::MemoryStore`; \
            to write one, implement `queuekit_core::Backend`"
)]
pub trait Backend: Debug + Send + Sync + 'static {
    /// Stores jobs (contract R2).
    ///
    /// # Errors
    /// `Invalid` (nothing of the call is stored), `StorageFull`, `Unavailable`, `Indeterminate`,
    /// `Closed`.
    async fn enqueue(&self, jobs: &[NewJob]) -> Result<Vec<EnqueueOutcome>>;

    /// Leases jobs that can run now (contract R5); never waits for work.
    ///
    /// # Errors
    /// `Invalid`, `Unavailable`, `Indeterminate` (what was leased returns after its ttl),
    /// `Closed`.
    async fn reserve(&self, request: &Reserve) -> Result<Reserved>;

    /// Records success, fenced by the lease (contract R3).
    ///
    /// # Errors
    /// `Invalid`, `StorageFull`, `Unavailable`, `Indeterminate` (repeat it), `Closed`.
    async fn ack(&self, acks: &[Ack]) -> Result<Vec<AckOutcome>>;

    /// Records failure, release or cancellation, fenced by the lease (contract R4).
    ///
    /// # Errors
    /// As [`ack`](Self::ack).
    async fn nack(&self, nacks: &[Nack]) -> Result<Vec<NackOutcome>>;

    /// Moves jobs to the dead-letter queue, by lease or by id (contract R6.1).
    ///
    /// # Errors
    /// As [`ack`](Self::ack).
    async fn move_to_dlq(&self, burials: &[Burial]) -> Result<Vec<BuryOutcome>>;

    /// Every queue ever used or configured, by name (contract R8.3).
    ///
    /// # Errors
    /// `Unavailable`, `Closed`.
    async fn list_queues(&self) -> Result<Vec<Queue>>;

    /// Those of these queues that exist, by name, as [`list_queues`](Self::list_queues) shows them.
    /// A store looks at no others (contract R8.3); without a way to, it lists them all.
    ///
    /// # Errors
    /// `Unavailable`, `Closed`.
    async fn find_queues(&self, names: &[QueueName]) -> Result<Vec<Queue>> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let mut queues = self.list_queues().await?;
        queues.retain(|queue| names.contains(&queue.name));
        Ok(queues)
    }

    /// One page of the jobs that match (contract R8.2).
    ///
    /// # Errors
    /// `Invalid` if the cursor is of another filter; `Unavailable`, `Closed`.
    async fn list_jobs(&self, filter: &JobFilter) -> Result<Page<Job>>;

    /// The job of this id, if it is stored (contract R8.1).
    ///
    /// # Errors
    /// `Unavailable`, `Closed`.
    async fn get_job(&self, id: JobId) -> Result<Option<Job>>;

    /// Deletes a job that nobody runs, or any with `force` (contract R6.2); false if it is not
    /// stored.
    ///
    /// # Errors
    /// `Conflict` if it runs and `force` is false; `Unavailable`, `Indeterminate`, `Closed`.
    async fn delete_job(&self, id: JobId, force: bool) -> Result<bool>;

    /// Ends this handle (contract R10.4): calls in flight finish or get `Closed`, later ones get
    /// `Closed`. Closing twice is fine.
    ///
    /// # Errors
    /// `Unavailable` if the store did not let go within 5 s.
    async fn close(&self) -> Result<()>;

    /// What else this store can do; holding `Some` is the proof. No I/O.
    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities::default()
    }
}
