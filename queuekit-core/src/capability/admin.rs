//! Operations for operators.

use std::fmt::Debug;
use std::future::Future;
use std::time::Duration;

use async_trait::async_trait;

use super::Why;
use crate::error::{Error, Result};
use crate::job::JobId;
use crate::limits::DELAY;
use crate::names::QueueName;
use crate::queue::{QueuePatch, QueueSettings};

/// Queue settings, cancel, retry, reschedule, and why a job is not running (contract R6).
///
/// Applications call [`Client::jobs`](crate::Client::jobs) and
/// [`Client::queues`](crate::Client::queues), which answer one outcome and not a list of them.
///
/// ```
/// use queuekit_core::capability::CancelOutcome;
/// use queuekit_core::memory::MemoryStore;
/// use queuekit_core::{Backend, BackendExt, JobDraft, QueueName, QueuePatch};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> queuekit_core::Result<()> {
/// let store = MemoryStore::new();
/// let admin = store.capabilities().admin.expect("this store has it");
/// admin.configure(&QueueName::new("mails")?, &QueuePatch::default().paused(true)).await?;
/// let id = store.enqueue_one(JobDraft::new("greet", "{}").queue("mails").build()?).await?;
/// assert_eq!(admin.cancel(&[id]).await?, [CancelOutcome::Cancelled]);
/// # Ok(())
/// # }
/// ```
#[async_trait]
pub trait Admin: Debug + Send + Sync {
    /// Changes settings of a queue, and creates the queue if it does not exist. Returns the new
    /// settings.
    ///
    /// # Errors
    /// `Invalid` if there would be too many queues; `Unavailable`, `Closed`.
    async fn configure(&self, queue: &QueueName, patch: &QueuePatch) -> Result<QueueSettings>;

    /// Removes an empty queue, or with `force` one without running jobs and all its jobs (R6.7);
    /// false if there is no such queue.
    ///
    /// # Errors
    /// `Conflict` if it is not empty (or, with `force`, has running jobs); `Unavailable`,
    /// `Closed`.
    async fn remove_queue(&self, queue: &QueueName, force: bool) -> Result<bool>;

    /// Cancels jobs (R6.6). A running job is asked to stop.
    ///
    /// # Errors
    /// `Unavailable`, `Indeterminate`, `Closed`.
    async fn cancel(&self, ids: &[JobId]) -> Result<Vec<CancelOutcome>>;

    /// Brings dead and cancelled jobs back with all their attempts (R6.3).
    ///
    /// # Errors
    /// `Unavailable`, `Indeterminate`, `Closed`.
    async fn retry(&self, ids: &[JobId]) -> Result<Vec<RetryOutcome>> {
        let retries: Vec<_> = ids.iter().map(|id| (*id, Duration::ZERO)).collect();
        self.retry_after(&retries).await
    }

    /// The same, each due after a delay of its own; at most 366 days.
    ///
    /// # Errors
    /// `Invalid` if a delay is too long, and nothing is changed; `Unavailable`, `Indeterminate`,
    /// `Closed`.
    async fn retry_after(&self, retries: &[(JobId, Duration)]) -> Result<Vec<RetryOutcome>>;

    /// Lets pending jobs run after this delay (R6.4); at most 366 days.
    ///
    /// # Errors
    /// `Invalid` if the delay is too long; `Unavailable`, `Indeterminate`, `Closed`.
    async fn reschedule(&self, ids: &[JobId], delay: Duration) -> Result<Vec<RescheduleOutcome>>;

    /// Why the job is not running at this moment (R6.9); none if it is not stored.
    ///
    /// # Errors
    /// `Unavailable`, `Closed`.
    async fn why(&self, id: JobId) -> Result<Option<Why>>;
}

/// Checks the delays of a retry, for stores.
///
/// # Errors
/// `Invalid`, naming the first item that is beyond the limit.
pub fn admit_retries(retries: &[(JobId, Duration)]) -> Result<()> {
    match retries.iter().enumerate().find(|(_, (_, delay))| *delay > DELAY) {
        None => Ok(()),
        Some((item, (id, delay))) => {
            let error = Error::invalid("delay", "at most 366 days", format!("{delay:?}"));
            Err(error.at_item(item).on(id))
        }
    }
}

/// Calls for common changes.
pub trait AdminExt: Admin {
    /// Pauses a queue: reserve does nothing in it until it is resumed (R6.7).
    ///
    /// # Errors
    /// Those of [`Admin::configure`].
    fn pause(&self, queue: &QueueName) -> impl Future<Output = Result<QueueSettings>> + Send {
        async move { self.configure(queue, &QueuePatch::default().paused(true)).await }
    }

    /// Resumes a queue.
    ///
    /// # Errors
    /// Those of [`Admin::configure`].
    fn resume(&self, queue: &QueueName) -> impl Future<Output = Result<QueueSettings>> + Send {
        async move { self.configure(queue, &QueuePatch::default().paused(false)).await }
    }
}

impl<A: Admin + ?Sized> AdminExt for A {}

/// The outcome for one cancelled job.
// Exhaustive: code that passes outcomes on, such as a worker or a server, must handle each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub enum CancelOutcome {
    /// It waited and is cancelled.
    Cancelled,
    /// It runs and is asked to stop.
    Requested,
    /// It was cancelled before.
    AlreadyDone,
    /// It has ended otherwise.
    Conflict,
    /// No such job.
    NotFound,
}

/// The outcome for one retried job.
// Exhaustive: code that passes outcomes on, such as a worker or a server, must handle each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub enum RetryOutcome {
    /// It is pending.
    Retried,
    /// It has not ended, is completed, or another job holds its idempotency key.
    Conflict,
    /// No such job.
    NotFound,
}

/// The outcome for one rescheduled job.
// Exhaustive: code that passes outcomes on, such as a worker or a server, must handle each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub enum RescheduleOutcome {
    /// It runs at its new time.
    Rescheduled,
    /// It is not pending.
    Conflict,
    /// No such job.
    NotFound,
}
