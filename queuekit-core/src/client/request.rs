//! Enqueue calls: described first, then awaited.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::time::Duration;

use super::Enqueued;
use super::calls::Calls;
use crate::backend::EnqueueOutcome;
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::job::{Job, JobDraft, JobId, Metadata, NewJob, Priority};
use crate::names::{IdempotencyKey, PartitionKey, QueueName};

type Awaited<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// One job to enqueue. Awaiting it returns the id of the job, or that of its duplicate.
///
/// If you drop the future after it was polled, the job may or may not be stored. To repeat the call
/// safely, set the same [`id`](Self::id).
#[derive(Debug)]
#[must_use = "nothing is enqueued until this is awaited"]
pub struct EnqueueRequest<'a> {
    calls: &'a Calls,
    draft: JobDraft,
    repeat: bool,
}

impl<'a> EnqueueRequest<'a> {
    pub(super) fn new(calls: &'a Calls, draft: JobDraft) -> Self {
        Self { calls, draft, repeat: false }
    }

    /// See [`JobDraft::queue`].
    pub fn queue<Q: TryInto<QueueName, Error: Into<Error>>>(self, queue: Q) -> Self {
        self.with(|draft| draft.queue(queue))
    }

    /// See [`JobDraft::priority`].
    pub fn priority<P: TryInto<Priority, Error: Into<Error>>>(self, priority: P) -> Self {
        self.with(|draft| draft.priority(priority))
    }

    /// See [`JobDraft::max_attempts`].
    pub fn max_attempts(self, max_attempts: u32) -> Self {
        self.with(|draft| draft.max_attempts(max_attempts))
    }

    /// See [`JobDraft::delay`].
    pub fn delay(self, delay: Duration) -> Self {
        self.with(|draft| draft.delay(delay))
    }

    /// See [`JobDraft::run_at`].
    pub fn run_at(self, at: impl Into<Timestamp>) -> Self {
        self.with(|draft| draft.run_at(at))
    }

    /// See [`JobDraft::timeout`].
    pub fn timeout(self, timeout: Duration) -> Self {
        self.with(|draft| draft.timeout(timeout))
    }

    /// See [`JobDraft::deadline`].
    pub fn deadline(self, deadline: Duration) -> Self {
        self.with(|draft| draft.deadline(deadline))
    }

    /// See [`JobDraft::idempotency_key`].
    pub fn idempotency_key<K: TryInto<IdempotencyKey, Error: Into<Error>>>(self, key: K) -> Self {
        self.with(|draft| draft.idempotency_key(key))
    }

    /// See [`JobDraft::unique_until_done`].
    pub fn unique_until_done(self) -> Self {
        self.with(JobDraft::unique_until_done)
    }

    /// See [`JobDraft::partition_key`].
    pub fn partition_key<K: TryInto<PartitionKey, Error: Into<Error>>>(self, key: K) -> Self {
        self.with(|draft| draft.partition_key(key))
    }

    /// See [`JobDraft::metadata`].
    pub fn metadata(self, metadata: impl Into<Metadata>) -> Self {
        self.with(|draft| draft.metadata(metadata))
    }

    /// See [`JobDraft::id`].
    pub fn id(self, id: JobId) -> Self {
        self.with(|draft| draft.id(id))
    }

    /// Marks the call as a repeat of one whose outcome is not known: ended jobs are searched too.
    pub fn repeated(mut self) -> Self {
        self.repeat = true;
        self
    }

    /// Enqueues the job and returns its outcome.
    ///
    /// # Errors
    /// Those of [`Backend::enqueue`](crate::Backend::enqueue).
    pub async fn outcome(self) -> Result<EnqueueOutcome> {
        let calls = self.calls;
        let job = self.build()?;
        let outcomes = calls.enqueue(vec![job]).await?;
        crate::backend::only(outcomes, "enqueue")
    }

    /// Enqueues the job, and waits until it has ended, for at most this time; none if it has not
    /// ended by then. See [`Jobs::wait`](super::Jobs::wait). To find the job later, give it an
    /// [`id`](Self::id).
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use queuekit::{Client, JobDraft, memory::MemoryStore};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> queuekit::Result<()> {
    /// # let client = Client::new(MemoryStore::new());
    /// let job = JobDraft::new("convert", "{}");
    /// let ended = client.enqueue(job).wait_for(Duration::from_millis(20)).await?;
    /// assert!(ended.is_none(), "there is no worker");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of the enqueue, and of [`Jobs::wait_for`](super::Jobs::wait_for).
    pub async fn wait_for(self, time: Duration) -> Result<Option<Job>> {
        let calls = self.calls;
        let id = self.await?;
        calls.wait_for(id, time).await.map_err(|error| error.during("wait"))
    }

    fn build(self) -> Result<NewJob> {
        let job = self.draft.build().map_err(|error| error.during("enqueue"))?;
        Ok(if self.repeat { job.repeated() } else { job })
    }

    fn with(mut self, change: impl FnOnce(JobDraft) -> JobDraft) -> Self {
        self.draft = change(self.draft);
        self
    }
}

/// `Conflict` and `QueueFull` are errors here.
impl<'a> IntoFuture for EnqueueRequest<'a> {
    type Output = Result<JobId>;
    type IntoFuture = Awaited<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let outcome = self.outcome().await?;
            crate::backend::enqueued(outcome).map_err(|error| error.during("enqueue"))
        })
    }
}

/// Jobs to enqueue in one atomic call. Awaiting it returns an outcome per job, in order.
#[derive(Debug)]
#[must_use = "nothing is enqueued until this is awaited"]
pub struct EnqueueAll<'a> {
    calls: &'a Calls,
    jobs: Result<Vec<NewJob>>,
}

impl<'a> EnqueueAll<'a> {
    pub(super) fn new(calls: &'a Calls, drafts: impl Iterator<Item = JobDraft>) -> Self {
        let build = |(item, draft): (usize, JobDraft)| {
            draft.build().map_err(|error| error.at_item(item).during("enqueue"))
        };
        Self { calls, jobs: drafts.enumerate().map(build).collect() }
    }
}

impl<'a> IntoFuture for EnqueueAll<'a> {
    type Output = Result<Enqueued>;
    type IntoFuture = Awaited<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.calls.enqueue(self.jobs?).await.map(Enqueued::from) })
    }
}
