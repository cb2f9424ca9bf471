//! The trait that stores implement: ten operations, two more that have a default, and the store's
//! capabilities.

use std::fmt::Debug;

use async_trait::async_trait;

use super::{
    Ack, AckOutcome, Capabilities, DeadLetter, DeadLetterOutcome, EnqueueOutcome, JobFilter, Nack,
    NackOutcome, Page, PageSize, QueuePage, Reserve, Reserved,
};
use crate::error::Result;
use crate::job::{Job, JobId, NewJob, State};
use crate::names::QueueName;
use crate::queue::Queue;

/// A durable store of jobs.
///
/// For each job, an operation takes effect at one instant between call and return, or not at all
/// (contract R0.1). After [`Indeterminate`](crate::ErrorKind::Indeterminate), and after its future
/// was dropped, it may have taken effect. Batches return one outcome per item, in input order. An
/// empty batch returns without contacting the store.
///
/// Applications hold a [`Client`](crate::Client) instead. The life of a job, as a worker sees it:
///
/// ```
/// use queuekit_core::memory::MemoryStore;
/// use queuekit_core::{
///     Ack, Backend, BackendExt, JobDraft, LeaseTtl, QueueName, Reserve, State, WorkerId,
/// };
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> queuekit_core::Result<()> {
/// let store = MemoryStore::new();
/// let id = store.enqueue_one(JobDraft::new("greet", "{}").build()?).await?;
///
/// let worker = WorkerId::new("w1")?;
/// let request = Reserve::new(QueueName::default(), 10, LeaseTtl::default(), worker)?;
/// for lease in store.reserve(&request).await?.leases {
///     store.ack_one(Ack::new(lease.token).with_result("\"done\"")).await?;
/// }
/// let job = store.get_job(id).await?.expect("it is kept for a day");
/// assert_eq!(job.state, State::Completed);
/// # Ok(())
/// # }
/// ```
///
/// `docs/semantics.md` has the whole contract; the crate `queuekit-conformance` runs it
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

    /// Leases jobs that can run now (contract R5), as many as fit into an answer (R8.9). It never
    /// waits for work.
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

    /// Dead-letters jobs, by lease or by id (contract R6.1).
    ///
    /// # Errors
    /// As [`ack`](Self::ack).
    async fn dead_letter(&self, dead_letters: &[DeadLetter]) -> Result<Vec<DeadLetterOutcome>>;

    /// One page of the queues that were ever used or configured, by name, from the first after this
    /// name (contract R8.3). A store looks at no others.
    /// [`all_queues`](super::BackendExt::all_queues) reads all pages.
    ///
    /// # Errors
    /// `Unavailable`, `Closed`.
    async fn list_queues(&self, after: Option<&QueueName>, limit: PageSize) -> Result<QueuePage>;

    /// The queues of these names that exist, as [`list_queues`](Self::list_queues) shows them. A
    /// store looks at no others (contract R8.3); this default lists all of them.
    ///
    /// # Errors
    /// `Unavailable`, `Closed`.
    async fn find_queues(&self, names: &[QueueName]) -> Result<Vec<Queue>> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let mut queues = all_queues(self).await?;
        queues.retain(|queue| names.contains(&queue.name));
        Ok(queues)
    }

    /// One page of the jobs that match (contract R8.2), which also ends at its bytes (R8.9).
    ///
    /// # Errors
    /// `Invalid` if the cursor is of another filter; `Unavailable`, `Closed`.
    async fn list_jobs(&self, filter: &JobFilter) -> Result<Page<Job>>;

    /// The job of this id, if it is stored (contract R8.1).
    ///
    /// # Errors
    /// `Unavailable`, `Closed`.
    async fn get_job(&self, id: JobId) -> Result<Option<Job>>;

    /// The states of these jobs, in their order; none for a job that is not stored. A store reads
    /// them without the jobs' content; this default reads job by job.
    ///
    /// # Errors
    /// `Unavailable`, `Closed`.
    async fn job_states(&self, ids: &[JobId]) -> Result<Vec<Option<State>>> {
        let mut states = Vec::with_capacity(ids.len());
        for id in ids {
            states.push(self.get_job(*id).await?.map(|job| job.state));
        }
        Ok(states)
    }

    /// Deletes a job that is not running, or any job with `force` (contract R6.2). Returns false if
    /// it is not stored.
    ///
    /// # Errors
    /// `Conflict` if it runs and `force` is false; `Unavailable`, `Indeterminate`, `Closed`.
    async fn delete_job(&self, id: JobId, force: bool) -> Result<bool>;

    /// Ends this handle (contract R10.4): calls in flight finish or get `Closed`, later ones get
    /// `Closed`. Closing twice is fine.
    ///
    /// # Errors
    /// `Unavailable` if the store did not release everything within 5 s.
    async fn close(&self) -> Result<()>;

    /// What else this store can do. This does no I/O.
    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities::default()
    }
}

/// All queues, by name, read page by page.
pub(super) async fn all_queues<B: Backend + ?Sized>(store: &B) -> Result<Vec<Queue>> {
    let mut page = store.list_queues(None, PageSize::MAX).await?;
    let mut queues = page.queues;
    while let Some(after) = page.after.take() {
        page = store.list_queues(Some(&after), PageSize::MAX).await?;
        queues.append(&mut page.queues);
    }
    Ok(queues)
}
