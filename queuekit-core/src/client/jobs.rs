//! Stored jobs as applications and operators use them.

use std::time::Duration;

use super::calls::Calls;
use crate::backend::{Backend, BackendExt, DeadLetter, JobFilter, Page, needed, only};
use crate::bulk::{BulkAction, BulkReport, BulkRequest, BulkTotals, bulk};
use crate::capability::{Admin, CancelOutcome, RescheduleOutcome, RetryOutcome, Why};
use crate::error::{Error, ErrorKind, Result};
use crate::job::{CheckpointInfo, Job, JobId, State};

/// The jobs of a store; from [`Client::jobs`](super::Client::jobs).
///
/// ```
/// use queuekit::jobs::JobFilter;
/// use queuekit::{Client, JobDraft, State};
/// use queuekit::memory::MemoryStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> queuekit::Result<()> {
/// # let client = Client::new(MemoryStore::new());
/// let id = client.enqueue(JobDraft::new("export", "{}")).await?;
/// client.jobs().cancel(id).await?;
/// let cancelled = client.jobs().list(&JobFilter::default().status(State::Cancelled)).await?;
/// assert_eq!(cancelled.items[0].id, id);
/// assert!(client.jobs().retry(id).await?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Jobs<'a> {
    calls: &'a Calls,
}

impl<'a> Jobs<'a> {
    pub(super) fn of(calls: &'a Calls) -> Self {
        Self { calls }
    }

    /// The job of this id, if it is stored.
    ///
    /// # Errors
    /// Those of [`Backend::get_job`].
    pub async fn get(self, id: JobId) -> Result<Option<Job>> {
        self.calls.backend.get_job(id).await
    }

    /// One page of the jobs that match; [`next`](Page::next) says where the following one begins.
    ///
    /// The jobs come queue by queue, by name. Within a queue come the running ones, then those
    /// that wait, in the order in which they are served, then those that have ended, the newest
    /// first. [`JobFilter::recent`] asks for what has ended, of all queues in one order.
    ///
    /// # Errors
    /// Those of [`Backend::list_jobs`].
    pub async fn list(self, filter: &JobFilter) -> Result<Page<Job>> {
        self.calls.backend.list_jobs(filter).await
    }

    /// Waits until the job has ended (completed, dead or cancelled), and returns it.
    /// [`Job::result`] decodes its result.
    ///
    /// If the job ends through this client or a clone of it, as with a worker in the same process,
    /// the call returns at once. Otherwise it looks at the job 20 ms after it began, and less often
    /// the longer it waits, down to once a second. All waits of a client look at the same time, in
    /// one call of the store (contract R13.11).
    ///
    /// The call has no time limit: [`wait_for`](Self::wait_for) has one. It needs a tokio runtime
    /// with timers.
    ///
    /// # Errors
    /// `NotFound` if the job is not stored, or was removed while waiting; `Closed`. It continues to
    /// wait while the store is `Unavailable`.
    pub async fn wait(self, id: JobId) -> Result<Job> {
        self.calls.wait(id).await.map_err(|error| error.during("wait"))
    }

    /// Waits until the job has ended, as [`wait`](Self::wait) does, but for at most this time; none
    /// if it has not ended by then. The job itself does not notice.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use queuekit::{Client, JobDraft, memory::MemoryStore};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> queuekit::Result<()> {
    /// # let client = Client::new(MemoryStore::new());
    /// let id = client.enqueue(JobDraft::new("export", "{}")).await?;
    /// match client.jobs().wait_for(id, Duration::from_millis(20)).await? {
    ///     Some(job) => println!("{} is {}", job.id, job.state),
    ///     None => println!("it has not ended yet"),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of `wait`; that of the last look, if the store did not answer it.
    pub async fn wait_for(self, id: JobId, time: Duration) -> Result<Option<Job>> {
        self.calls.wait_for(id, time).await.map_err(|error| error.during("wait"))
    }

    /// Whether the job ends within this time: [`wait_for`](Self::wait_for) without reading the job,
    /// which may be large.
    ///
    /// # Errors
    /// Those of `wait_for`.
    pub async fn ends_within(self, id: JobId, time: Duration) -> Result<bool> {
        self.calls.ends_within(id, time).await.map_err(|error| error.during("wait"))
    }

    /// Cancels a job: a waiting job ends immediately, and a running one is asked to stop.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` if it has completed or is dead; `Unsupported`; those of
    /// [`Admin::cancel`].
    pub async fn cancel(self, id: JobId) -> Result<CancelOutcome> {
        match only(self.admin("cancel")?.cancel(&[id]).await?, "cancel")? {
            CancelOutcome::NotFound => Err(not_found(id).during("cancel")),
            CancelOutcome::Conflict => {
                let message = "it has completed or is dead, so there is nothing left to cancel";
                Err(Error::new(ErrorKind::Conflict, message).during("cancel").on(id))
            }
            outcome => Ok(outcome),
        }
    }

    /// Brings a dead or cancelled job back with all its attempts. Returns false if the job is
    /// neither dead nor cancelled, or if another job holds its idempotency key.
    ///
    /// # Errors
    /// `NotFound`; `Unsupported`; those of [`Admin::retry`].
    pub async fn retry(self, id: JobId) -> Result<bool> {
        match only(self.admin("retry")?.retry(&[id]).await?, "retry")? {
            RetryOutcome::Retried => Ok(true),
            RetryOutcome::Conflict => Ok(false),
            RetryOutcome::NotFound => Err(not_found(id).during("retry")),
        }
    }

    /// The checkpoints of a job in the order in which they were stored, without their results
    /// (contract R13.10); none if it is not stored.
    ///
    /// # Errors
    /// Those of [`list_checkpoints`](crate::capability::KeepCheckpoints::list_checkpoints).
    pub async fn checkpoints(self, id: JobId) -> Result<Vec<CheckpointInfo>> {
        let keeps = needed(self.calls.backend.capabilities().checkpoints, "KeepCheckpoints");
        keeps.map_err(|error| error.during("list_checkpoints"))?.list_checkpoints(id).await
    }

    /// As [`retry`](Self::retry), and removes the job's checkpoints first, so that all of its steps
    /// run again (contract R13.10).
    ///
    /// # Errors
    /// Those of [`retry`](Self::retry), and of
    /// [`forget_checkpoints`](crate::capability::KeepCheckpoints::forget_checkpoints).
    pub async fn retry_fresh(self, id: JobId) -> Result<bool> {
        let backend = &self.calls.backend;
        let keeps = needed(backend.capabilities().checkpoints, "KeepCheckpoints");
        let keeps = keeps.map_err(|error| error.during("retry"))?;
        let states = backend.job_states(&[id]).await?;
        if let Some(Some(State::Dead | State::Cancelled)) = states.first() {
            keeps.forget_checkpoints(&[id]).await?;
        }
        self.retry(id).await
    }

    /// Lets a pending job run after this delay, which may be zero. Returns false if it is not
    /// pending.
    ///
    /// # Errors
    /// `Invalid` beyond 366 days; `NotFound`; `Unsupported`; those of [`Admin::reschedule`].
    pub async fn reschedule(self, id: JobId, delay: Duration) -> Result<bool> {
        let outcomes = self.admin("reschedule")?.reschedule(&[id], delay).await?;
        match only(outcomes, "reschedule")? {
            RescheduleOutcome::Rescheduled => Ok(true),
            RescheduleOutcome::Conflict => Ok(false),
            RescheduleOutcome::NotFound => Err(not_found(id).during("reschedule")),
        }
    }

    /// Dead-letters a waiting job, for this reason. Returns false if it was already dead.
    ///
    /// # Errors
    /// `Conflict` if it runs or has ended otherwise; `NotFound`; those of
    /// [`Backend::dead_letter`].
    pub async fn dead_letter(self, id: JobId, reason: &str) -> Result<bool> {
        self.calls.backend.dead_letter_one(DeadLetter::of_job(id, reason)).await
    }

    /// Deletes a job that is not running. Returns false if it is not stored.
    ///
    /// # Errors
    /// `Conflict` if it runs: cancel it first. Those of [`Backend::delete_job`].
    pub async fn delete(self, id: JobId) -> Result<bool> {
        self.calls.backend.delete_job(id, false).await
    }

    /// Deletes a job even if it runs; its worker loses the lease. Returns false if it is not
    /// stored.
    ///
    /// # Errors
    /// Those of [`Backend::delete_job`].
    pub async fn delete_forced(self, id: JobId) -> Result<bool> {
        self.calls.backend.delete_job(id, true).await
    }

    /// Says why a job is not running; none if it is not stored.
    ///
    /// # Errors
    /// `Unsupported`; those of [`Admin::why`].
    pub async fn why(self, id: JobId) -> Result<Option<Why>> {
        self.admin("why")?.why(id).await
    }

    /// Applies an action to all jobs of a filter, a page per call of the store, and returns the
    /// totals.
    ///
    /// A job whose state does not allow the action when its turn comes is skipped. Filter by
    /// status: a job that still matches after its change may be found again, and then counts as
    /// skipped. If the call fails, or its future is dropped, the pages before are done, and another
    /// call continues with the rest. For a dry run, or to show progress, see
    /// [`bulk_page`](Self::bulk_page).
    ///
    /// ```
    /// use queuekit::jobs::{BulkAction, JobFilter};
    /// use queuekit::{Client, State};
    /// use queuekit::memory::MemoryStore;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> queuekit::Result<()> {
    /// # let client = Client::new(MemoryStore::new());
    /// let timed_out = JobFilter::default().status(State::Dead).error_contains("timed out");
    /// let totals = client.jobs().bulk(timed_out, BulkAction::Retry).await?;
    /// println!("{} of {} retried", totals.changed, totals.matched);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of [`bulk_page`](Self::bulk_page).
    pub async fn bulk(self, filter: JobFilter, action: BulkAction) -> Result<BulkTotals> {
        bulk_pages(&*self.calls.backend, filter, action).await
    }

    /// One step of an action on the jobs of a filter; see [`BulkRequest`].
    ///
    /// # Errors
    /// Those of [`bulk`](crate::bulk()).
    pub async fn bulk_page(self, request: &BulkRequest) -> Result<BulkReport> {
        bulk(&*self.calls.backend, request).await
    }

    fn admin(self, operation: &'static str) -> Result<&'a dyn Admin> {
        admin(&*self.calls.backend).map_err(|error| error.during(operation))
    }
}

/// The action on all pages of the filter.
pub(super) async fn bulk_pages(
    backend: &dyn Backend,
    filter: JobFilter,
    action: BulkAction,
) -> Result<BulkTotals> {
    let mut totals = BulkTotals::default();
    let mut next = Some(BulkRequest::new(action, filter));
    while let Some(request) = next {
        let report = bulk(backend, &request).await?;
        totals.add(&report);
        next = request.after(&report);
    }
    Ok(totals)
}

/// The store's [`Admin`].
pub(super) fn admin(backend: &dyn Backend) -> Result<&dyn Admin> {
    needed(backend.capabilities().admin, "Admin")
}

pub(super) fn not_found(id: JobId) -> Error {
    Error::new(ErrorKind::NotFound, "no such job is stored").on(id)
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::future::{join, poll_immediate};

    use super::*;
    use crate::memory::MemoryStore;
    use crate::{Ack, Client, JobDraft, LeaseTtl, QueueName, Reserve, State, Timestamp, WorkerId};

    async fn enqueued() -> (Client, JobId) {
        let client = Client::new(MemoryStore::new());
        let id = client.enqueue(JobDraft::new("work", "{}")).await.unwrap();
        (client, id)
    }

    fn kind<T: std::fmt::Debug>(answer: Result<T>) -> &'static str {
        answer.unwrap_err().kind().as_str()
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_ends_when_the_job_does_and_not_before() {
        let (client, id) = enqueued().await;
        let mut wait = pin!(client.jobs().wait(id));
        assert!(poll_immediate(&mut wait).await.is_none());
        let finish = async {
            tokio::time::sleep(Duration::from_secs(60)).await;
            let queue = QueueName::new("default").unwrap();
            let worker = WorkerId::new("w").unwrap();
            let request = Reserve::new(queue, 1, LeaseTtl::default(), worker).unwrap();
            let lease = client.backend().reserve(&request).await.unwrap().leases.remove(0);
            let _ = client.ack(vec![Ack::new(lease.token).with_result("7")]).await.unwrap();
        };
        let (job, ()) = join(wait, finish).await;
        let job = job.unwrap();
        assert_eq!((job.state, job.result.as_deref()), (State::Completed, Some(&b"7"[..])));
    }

    /// Guard: what this process ends, it does not look for.
    #[tokio::test(start_paused = true)]
    async fn r13_11_a_job_that_this_client_ends_rings_those_who_wait_for_it() {
        let (client, id) = enqueued().await;
        let mut wait = pin!(client.jobs().wait(id));
        assert!(poll_immediate(&mut wait).await.is_none());
        let cancelled_at = async {
            // Between two looks.
            tokio::time::sleep(Duration::from_millis(60_300)).await;
            assert_eq!(client.jobs().cancel(id).await.unwrap(), CancelOutcome::Cancelled);
            tokio::time::Instant::now()
        };
        let (job, cancelled_at) = join(wait, cancelled_at).await;
        assert_eq!(job.unwrap().state, State::Cancelled);
        assert_eq!(tokio::time::Instant::now(), cancelled_at);
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_for_a_job_that_is_removed_ends() {
        let (client, id) = enqueued().await;
        let mut wait = pin!(client.jobs().wait(id));
        assert!(poll_immediate(&mut wait).await.is_none());
        assert!(client.jobs().delete(id).await.unwrap());
        assert_eq!(kind(wait.await), "not_found");
    }

    #[tokio::test]
    async fn a_bulk_action_takes_every_page() {
        let client = Client::new(MemoryStore::new());
        let drafts = (0..5).map(|_| JobDraft::new("work", "{}"));
        let ids = client.enqueue_all(drafts).await.unwrap().ids().unwrap();
        assert!(client.jobs().cancel(ids[0]).await.is_ok());
        let all = || JobFilter::default().limit(2);
        let dead = BulkAction::DeadLetter("broken".into());
        let waiting = all().status(State::Pending);
        let totals = client.jobs().bulk(waiting, dead).await.unwrap();
        assert_eq!((totals.matched, totals.changed, totals.skipped), (4, 4, 0));
        let dead = all().status(State::Dead);
        let totals = client.jobs().bulk(dead.clone(), BulkAction::Retry).await.unwrap();
        assert_eq!((totals.matched, totals.changed, totals.skipped), (4, 4, 0));
        let totals = client.jobs().bulk(dead, BulkAction::Retry).await.unwrap();
        assert_eq!(totals, BulkTotals::default());
    }

    #[tokio::test]
    async fn a_job_that_runs_is_deleted_by_force_only() {
        let (client, id) = enqueued().await;
        let worker = WorkerId::new("w").unwrap();
        let request = Reserve::new(QueueName::default(), 1, LeaseTtl::default(), worker).unwrap();
        client.backend().reserve(&request).await.unwrap();
        assert_eq!(kind(client.jobs().delete(id).await), "conflict");
        assert!(client.jobs().delete_forced(id).await.unwrap());
        assert!(!client.jobs().delete_forced(id).await.unwrap());
    }

    #[tokio::test]
    async fn what_no_longer_can_be_done_is_told_apart_from_what_does_not_exist() {
        let (client, id) = enqueued().await;
        let jobs = client.jobs();
        let unknown = JobId::generate(&QueueName::new("default").unwrap(), Timestamp::default());
        assert!(jobs.reschedule(id, Duration::ZERO).await.unwrap());
        assert!(!jobs.retry(id).await.unwrap(), "it has not ended");
        assert!(jobs.dead_letter(id, "broken").await.unwrap());
        assert!(!jobs.dead_letter(id, "broken").await.unwrap(), "it is dead already");
        assert_eq!(kind(jobs.cancel(id).await), "conflict");
        assert!(!jobs.reschedule(id, Duration::ZERO).await.unwrap(), "it is not pending");
        assert!(jobs.retry(id).await.unwrap());
        assert!(!jobs.retry_fresh(id).await.unwrap(), "it has not ended");
        assert_eq!(jobs.cancel(id).await.unwrap(), CancelOutcome::Cancelled);
        assert!(jobs.why(id).await.unwrap().is_some());
        assert!(jobs.delete(id).await.unwrap() && !jobs.delete(id).await.unwrap());
        assert_eq!(kind(jobs.cancel(unknown).await), "not_found");
        assert_eq!(kind(jobs.retry(unknown).await), "not_found");
        assert_eq!(kind(jobs.reschedule(unknown, Duration::ZERO).await), "not_found");
        assert_eq!(kind(jobs.dead_letter(unknown, "").await), "not_found");
    }
}
