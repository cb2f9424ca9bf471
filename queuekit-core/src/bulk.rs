//! One function for every action on many jobs (contract R6.8).

use std::time::Duration;

use crate::backend::{Backend, Cursor, DeadLetter, DeadLetterOutcome, JobFilter, PageSize};
use crate::capability::{Admin, CancelOutcome, RescheduleOutcome, RetryOutcome};
use crate::clock::Timestamp;
use crate::enum_words::words;
use crate::error::{Error, ErrorKind, Result};
use crate::job::{Job, JobId, State, StatusSet};

/// What to do with each job that matches.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BulkAction {
    /// Retry it, with all its attempts.
    Retry,
    /// Retry it, due at a random time within this duration, so that a service that was just
    /// repaired does not get all of them at once.
    RetryOver(Duration),
    /// Cancel it.
    Cancel,
    /// Delete it, unless it is running.
    Delete,
    /// Dead-letter it for this reason, unless it is running.
    DeadLetter(String),
    /// Let it run after this delay.
    Reschedule(Duration),
}

/// The word of a [`BulkAction`], over HTTP and on the command line.
// Exhaustive: code that reads the name of an action must know each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BulkActionName {
    /// [`BulkAction::Retry`] and [`BulkAction::RetryOver`].
    Retry,
    /// [`BulkAction::Cancel`].
    Cancel,
    /// [`BulkAction::Delete`].
    Delete,
    /// [`BulkAction::DeadLetter`].
    DeadLetter,
    /// [`BulkAction::Reschedule`].
    Reschedule,
}

words!(BulkActionName "action" {
    Retry = "retry", Cancel = "cancel", Delete = "delete", DeadLetter = "dead-letter",
    Reschedule = "reschedule",
});

impl BulkActionName {
    /// The statuses of jobs that allow the action; others are skipped.
    pub const fn possible(self) -> StatusSet {
        let pending = State::Pending.statuses();
        let can_run_again = State::Dead.statuses().union(State::Cancelled.statuses());
        match self {
            Self::Retry => can_run_again,
            Self::Cancel => pending.union(State::Running.statuses()),
            Self::Delete => pending.union(can_run_again).union(State::Completed.statuses()),
            Self::DeadLetter | Self::Reschedule => pending,
        }
    }
}

impl BulkAction {
    /// The word.
    pub const fn name(&self) -> BulkActionName {
        match self {
            Self::Retry | Self::RetryOver(_) => BulkActionName::Retry,
            Self::Cancel => BulkActionName::Cancel,
            Self::Delete => BulkActionName::Delete,
            Self::DeadLetter(_) => BulkActionName::DeadLetter,
            Self::Reschedule(_) => BulkActionName::Reschedule,
        }
    }
}

/// One step over the jobs of a filter: at most one page of them is examined.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BulkRequest {
    /// What to do.
    pub action: BulkAction,
    /// The jobs. The limit bounds how many jobs one call examines, and the cursor says where to
    /// continue.
    pub filter: JobFilter,
    /// Whether to count the jobs that match, and change nothing.
    pub dry_run: bool,
    /// None in the first step, and the `since` of the first report in later ones. Jobs that were
    /// rescheduled since then are found again behind the cursor, and skipped.
    pub since: Option<Timestamp>,
}

impl BulkRequest {
    /// The first step of an action on the jobs of a filter.
    pub fn new(action: BulkAction, filter: JobFilter) -> Self {
        Self { action, filter, dry_run: false, since: None }
    }

    /// The step after the one with this report; none at the end.
    pub fn after(&self, report: &BulkReport) -> Option<Self> {
        let filter = self.filter.clone().after(Some(report.cursor.clone()?));
        Some(Self { filter, since: report.since, ..self.clone() })
    }
}

/// The result of one step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BulkReport {
    /// Jobs that matched the filter.
    pub matched: u64,
    /// Jobs that were changed.
    pub changed: u64,
    /// Jobs whose state did not allow the action when their turn came.
    pub skipped: u64,
    /// Where to continue; none at the end.
    pub cursor: Option<Cursor>,
    /// The store's time before the first step, if the action needs it.
    pub since: Option<Timestamp>,
}

/// The result of an action on all jobs of a filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BulkTotals {
    /// Jobs that matched the filter.
    pub matched: u64,
    /// Jobs that were changed.
    pub changed: u64,
    /// Jobs whose state did not allow the action when their turn came.
    pub skipped: u64,
}

impl BulkTotals {
    pub(crate) fn add(&mut self, report: &BulkReport) {
        self.matched += report.matched;
        self.changed += report.changed;
        self.skipped += report.skipped;
    }
}

/// Purges, retries, cancels, dead-letters or reschedules the jobs of a filter, a page per call.
/// Every job goes through the same conditional call as a single one, so that a job which has
/// changed meanwhile is skipped.
///
/// # Errors
/// `Unsupported` if the store lacks [`Admin`]; those of listing and of the action; `Indeterminate`
/// if the store failed after it had deleted some jobs of this step.
pub async fn bulk<B: Backend + ?Sized>(backend: &B, request: &BulkRequest) -> Result<BulkReport> {
    let since = match (&request.action, request.since) {
        (BulkAction::Reschedule(_), None) => store_now(backend, &request.filter).await?,
        (_, since) => since,
    };
    let page = backend.list_jobs(&request.filter).await?;
    let mut report = BulkReport {
        matched: page.items.len() as u64,
        changed: 0,
        skipped: 0,
        cursor: page.next,
        since,
    };
    if request.dry_run || page.items.is_empty() {
        return Ok(report);
    }
    report.changed = apply(backend, &request.action, &page.items, since).await?;
    report.skipped = report.matched - report.changed;
    Ok(report)
}

async fn apply<B: Backend + ?Sized>(
    backend: &B,
    action: &BulkAction,
    jobs: &[Job],
    since: Option<Timestamp>,
) -> Result<u64> {
    let ids: Vec<JobId> = jobs.iter().map(|job| job.id).collect();
    Ok(match action {
        BulkAction::Retry => {
            let outcomes = admin(backend)?.retry(&ids).await?;
            count(&outcomes, |outcome| *outcome == RetryOutcome::Retried)
        }
        BulkAction::RetryOver(over) => {
            let retries: Vec<_> = ids.iter().map(|id| (*id, within(*over))).collect();
            let outcomes = admin(backend)?.retry_after(&retries).await?;
            count(&outcomes, |outcome| *outcome == RetryOutcome::Retried)
        }
        BulkAction::Cancel => {
            let outcomes = admin(backend)?.cancel(&ids).await?;
            let done = [CancelOutcome::Cancelled, CancelOutcome::Requested];
            count(&outcomes, |outcome| done.contains(outcome))
        }
        BulkAction::Reschedule(delay) => {
            // A job that this action has moved before, in a repeated step, is not moved again.
            let done = |job: &&Job| since.is_some_and(|since| job.scheduled_at >= since + *delay);
            let ids: Vec<JobId> = jobs.iter().filter(|job| !done(job)).map(|job| job.id).collect();
            let outcomes = admin(backend)?.reschedule(&ids, *delay).await?;
            count(&outcomes, |outcome| *outcome == RescheduleOutcome::Rescheduled)
        }
        BulkAction::DeadLetter(reason) => {
            let dead_letters: Vec<_> =
                ids.iter().map(|id| DeadLetter::of_job(*id, reason.as_str())).collect();
            let outcomes = backend.dead_letter(&dead_letters).await?;
            count(&outcomes, |outcome| *outcome == DeadLetterOutcome::DeadLettered)
        }
        BulkAction::Delete => {
            let mut deleted = 0;
            for id in ids {
                match backend.delete_job(id, false).await {
                    Ok(gone) => deleted += u64::from(gone),
                    // A worker has leased the job since the page was read: it is skipped.
                    Err(error) if *error.kind() == ErrorKind::Conflict => {}
                    Err(error) if deleted > 0 => return Err(partly(deleted, error)),
                    Err(error) => return Err(error),
                }
            }
            deleted
        }
    })
}

/// Guard: what some jobs were deleted before is no error after which nothing has changed.
fn partly(deleted: u64, cause: Error) -> Error {
    let message = format!("{deleted} jobs of this step were deleted before the store failed");
    Error::new(ErrorKind::Indeterminate, message).caused_by(cause).during("bulk")
}

/// A random part of a duration.
fn within(duration: Duration) -> Duration {
    Duration::from_millis(fastrand::u64(..=u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)))
}

/// The store's time, from the figures of a queue; none if the filter's queue does not exist.
async fn store_now<B: Backend + ?Sized>(
    backend: &B,
    filter: &JobFilter,
) -> Result<Option<Timestamp>> {
    let queues = match &filter.queue {
        Some(name) => backend.find_queues(std::slice::from_ref(name)).await?,
        None => backend.list_queues(None, PageSize::new(1)?).await?.queues,
    };
    Ok(queues.first().map(|queue| queue.as_of))
}

fn count<T>(outcomes: &[T], changed: impl Fn(&T) -> bool) -> u64 {
    outcomes.iter().filter(|outcome| changed(outcome)).count() as u64
}

fn admin<B: Backend + ?Sized>(backend: &B) -> Result<&dyn Admin> {
    backend.capabilities().admin.ok_or_else(|| {
        let message = "this store lacks Admin: its bulk actions can only dead-letter and delete";
        Error::new(ErrorKind::Unsupported, message).during("bulk")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Client;
    use crate::job::JobDraft;
    use crate::memory::{MemoryStore, Operation, When};

    #[tokio::test]
    async fn r6_8_a_step_that_has_deleted_some_jobs_does_not_say_that_nothing_has_changed() {
        let store = MemoryStore::new();
        let client = Client::new(store.clone());
        for _ in 0..3 {
            client.enqueue(JobDraft::new("t", "1")).await.unwrap();
        }
        let step = BulkRequest::new(BulkAction::Delete, JobFilter::default());
        for (nth, kind, left) in [(1, ErrorKind::Unavailable, 3), (3, ErrorKind::Indeterminate, 1)]
        {
            store.faults().fail(Operation::DeleteJob, nth, When::Before);
            let error = bulk(&store, &step).await.unwrap_err();
            assert_eq!(*error.kind(), kind, "{error}");
            let kept = store.list_jobs(&JobFilter::default()).await.unwrap();
            assert_eq!(kept.items.len(), left);
        }
    }
}
