//! History: totals of queues as they were, and what runs were like (contract R8.5).

use std::fmt::Debug;

use async_trait::async_trait;

use crate::error::Result;
use crate::history::{HistoryQuery, RunsAdded, RunsRow, TotalsRow};

/// Keeps the totals of each queue by minute, ten minutes and hour, and sums what workers say of
/// their runs. Nothing is written in the step that enqueues, leases or ends a job.
///
/// ```
/// use queuekit_core::history::{HistoryQuery, Resolution};
/// use queuekit_core::memory::MemoryStore;
/// use queuekit_core::{Backend, BackendExt, JobDraft, Timestamp};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> queuekit_core::Result<()> {
/// let store = MemoryStore::new();
/// store.enqueue_one(JobDraft::new("mail", "{}").build()?).await?;
/// let history = store.capabilities().history.expect("this store has it");
/// assert!(history.record_totals().await?);
/// assert!(!history.record_totals().await?, "this minute is recorded");
/// let (from, to) = (Timestamp::from_millis(0), Timestamp::from_millis(i64::MAX));
/// let rows = history.list_totals(&HistoryQuery::new(Resolution::Minute, from, to)).await?;
/// assert_eq!(rows[0].totals.enqueued, 1);
/// # Ok(())
/// # }
/// ```
#[async_trait]
pub trait History: Debug + Send + Sync {
    /// Records the totals of each queue whose totals have changed since they were last recorded,
    /// as those of the present minute. False if this minute, by the store's clock, has been
    /// recorded: the first one wins. Upkeep calls it once a minute.
    ///
    /// A process that dies within it may leave a gap in history, and no wrong number.
    ///
    /// # Errors
    /// `Unavailable`, `Closed`.
    async fn record_totals(&self) -> Result<bool>;

    /// Adds to the runs of the present minute, ten minutes and hour. Beyond
    /// [`Limits::history_pairs`](crate::Limits::history_pairs) pairs of queue and kind, runs count
    /// as those of no kind.
    ///
    /// A call whose answer is `Indeterminate` must not be repeated: it may add twice.
    ///
    /// # Errors
    /// `Invalid` for more than 1,000 items; `Unavailable`, `Indeterminate`, `Closed`.
    async fn add_runs(&self, runs: &[RunsAdded]) -> Result<()>;

    /// The recorded totals, by time, then queue.
    ///
    /// # Errors
    /// `Unavailable`, `Closed`.
    async fn list_totals(&self, query: &HistoryQuery) -> Result<Vec<TotalsRow>>;

    /// The runs, by time, then queue, then kind.
    ///
    /// # Errors
    /// `Unavailable`, `Closed`.
    async fn list_runs(&self, query: &HistoryQuery) -> Result<Vec<RunsRow>>;
}
