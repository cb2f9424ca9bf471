//! What an operator does.

use std::fmt::Debug;
use std::future::Future;
use std::time::Duration;

use async_trait::async_trait;

use super::Why;
use crate::error::Result;
use crate::job::JobId;
use crate::names::QueueName;
use crate::queue::{QueuePatch, QueueSettings};

/// Queue settings, cancel, retry, reschedule, and why a job is not running (contract R6).
#[async_trait]
pub trait Admin: Debug + Send + Sync {
    /// Changes settings of a queue, creating it if needed; answers what holds now.
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

    /// Calls jobs off (R6.6): a running one is asked to stop.
    ///
    /// # Errors
    /// `Unavailable`, `Indeterminate`, `Closed`.
    async fn cancel(&self, ids: &[JobId]) -> Result<Vec<CancelOutcome>>;

    /// Brings dead and cancelled jobs back with all their attempts (R6.3).
    ///
    /// # Errors
    /// `Unavailable`, `Indeterminate`, `Closed`.
    async fn retry(&self, ids: &[JobId]) -> Result<Vec<RetryOutcome>>;

    /// Lets pending jobs run after this delay (R6.4); at most 366 days.
    ///
    /// # Errors
    /// `Invalid` if the delay is too long; `Unavailable`, `Indeterminate`, `Closed`.
    async fn reschedule(&self, ids: &[JobId], delay: Duration) -> Result<Vec<RescheduleOutcome>>;

    /// The live reason a job is not running (R6.9); none if it is not stored.
    ///
    /// # Errors
    /// `Unavailable`, `Closed`.
    async fn why(&self, id: JobId) -> Result<Option<Why>>;
}

/// Conveniences over [`Admin`].
pub trait AdminExt: Admin {
    /// Reserve does nothing in this queue until it is resumed (R6.7).
    ///
    /// # Errors
    /// Those of [`Admin::configure`].
    fn pause(&self, queue: &QueueName) -> impl Future<Output = Result<QueueSettings>> + Send {
        async move { self.configure(queue, &QueuePatch::default().paused(true)).await }
    }

    /// Ends a pause.
    ///
    /// # Errors
    /// Those of [`Admin::configure`].
    fn resume(&self, queue: &QueueName) -> impl Future<Output = Result<QueueSettings>> + Send {
        async move { self.configure(queue, &QueuePatch::default().paused(false)).await }
    }
}

impl<A: Admin + ?Sized> AdminExt for A {}

/// The outcome for one job called off.
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

/// The outcome for one job brought back.
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

/// The outcome for one job rescheduled.
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
