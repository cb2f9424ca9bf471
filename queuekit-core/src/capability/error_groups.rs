//! Groups of errors that look alike (contract R8.4).

use std::fmt::Debug;

use async_trait::async_trait;

use crate::backend::PageSize;
use crate::error::Result;
use crate::error_group::ErrorGroup;
use crate::names::QueueName;

/// Counts failures and deaths by what their errors have in common.
///
/// The step that records a failure or a death counts it. Nothing is counted later, and a call that
/// changes nothing counts nothing.
///
/// ```
/// use queuekit_core::memory::MemoryStore;
/// use queuekit_core::{Backend, BackendExt, DeadLetter, JobDraft, PageSize, QueueName};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> queuekit_core::Result<()> {
/// let store = MemoryStore::new();
/// let id = store.enqueue_one(JobDraft::new("mail", "{}").build()?).await?;
/// store.dead_letter_one(DeadLetter::of_job(id, "order 42 is gone")).await?;
/// let errors = store.capabilities().errors.expect("this store has it");
/// let groups = errors.list_error_groups(&[QueueName::default()], PageSize::default()).await?;
/// assert_eq!(groups[0].key.signature.as_str(), "order <n> is gone");
/// assert_eq!((groups[0].failures, groups[0].deaths), (0, 1));
/// # Ok(())
/// # }
/// ```
#[async_trait]
pub trait ErrorGroups: Debug + Send + Sync {
    /// The most recent groups of these queues, at most this number, the most recent first. It reads
    /// no job. Of each queue the store keeps [`Limits::error_groups`](crate::Limits::error_groups).
    ///
    /// # Errors
    /// `Unavailable`, `Closed`.
    async fn list_error_groups(
        &self,
        queues: &[QueueName],
        limit: PageSize,
    ) -> Result<Vec<ErrorGroup>>;
}
