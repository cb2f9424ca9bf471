//! What a handler knows about its run, and what it can report.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use queuekit_core::{
    Bytes, Client, JobId, Kind, LeaseToken, Metadata, PartitionKey, QueueName, Result, WorkerId,
};
use tokio_util::sync::CancellationToken;

use super::phase::Phase;
use super::run::Run;

/// One run of one job, as its handler sees it. Clones refer to the same run.
///
/// ```
/// use queuekit::{Ctx, JobResult};
/// # #[derive(serde::Serialize, serde::Deserialize)]
/// # struct Import { pages: u32 }
/// # async fn import_page(_page: u32) -> JobResult { Ok(()) }
///
/// async fn import(job: Import, ctx: Ctx) -> JobResult {
///     for page in 0..job.pages {
///         if ctx.is_cancelled() {
///             return Err("asked to stop".into());
///         }
///         import_page(page).await?;
///         ctx.progress(page as f32 / job.pages as f32, "importing");
///     }
///     ctx.log(format!("imported {} pages", job.pages));
///     Ok(())
/// }
/// ```
#[derive(Clone)]
pub struct Ctx {
    run: Arc<Run>,
}

impl Ctx {
    pub(crate) fn new(run: Arc<Run>) -> Self {
        Self { run }
    }

    pub(super) fn run(&self) -> &Arc<Run> {
        &self.run
    }

    /// The call of a batch handler for this job starts now, and its timeout counts from here.
    pub(crate) fn start(&self) {
        self.run.start();
    }

    /// The job.
    pub fn id(&self) -> JobId {
        self.run.lease.id()
    }

    /// Its queue.
    pub fn queue(&self) -> &QueueName {
        &self.run.lease.token.queue
    }

    /// Its kind.
    pub fn kind(&self) -> &Kind {
        &self.run.lease.kind
    }

    /// Which attempt this is, 1 for the first.
    pub fn attempt(&self) -> u32 {
        self.run.lease.attempt
    }

    /// How many attempts the job may have.
    pub fn max_attempts(&self) -> u32 {
        self.run.lease.max_attempts
    }

    /// Whether the job is dead-lettered if this run fails.
    pub fn is_final_attempt(&self) -> bool {
        self.attempt() >= self.max_attempts()
    }

    /// Rises with every lease of the job. Pass it to other systems as a fence, so that they can
    /// refuse late writes of an earlier run.
    pub fn lease_seq(&self) -> u64 {
        self.run.lease.token.lease_seq
    }

    /// The lease of this run, for a store's `ack_in`: it completes the job in the handler's own
    /// transaction, together with what the run has written there. Commit and return: the worker's
    /// ack then gets `AlreadyDone`, and the run counts as completed. What the handler returns is
    /// stored by the first ack, so pass the result to your ack.
    ///
    /// It is a secret: anyone who has it can settle the job.
    pub fn lease_token(&self) -> &LeaseToken {
        &self.run.lease.token
    }

    /// Its partition key.
    pub fn partition_key(&self) -> Option<&PartitionKey> {
        self.run.lease.partition_key.as_ref()
    }

    /// The metadata of the job.
    pub fn metadata(&self) -> &Metadata {
        &self.run.lease.metadata
    }

    /// Its payload, byte for byte as enqueued.
    pub fn payload(&self) -> &Bytes {
        &self.run.lease.payload
    }

    /// The worker that runs it.
    pub fn worker_id(&self) -> &WorkerId {
        &self.run.context.worker
    }

    /// A client of the job's store, for example to enqueue further jobs.
    pub fn client(&self) -> &Client {
        &self.run.context.client
    }

    /// The value of this type that [`Worker::state`](crate::Worker::state) was given.
    ///
    /// # Errors
    /// `NotFound` if there is none.
    pub fn state<T: Send + Sync + 'static>(&self) -> Result<&T> {
        self.run.context.values.get()
    }

    /// Time left until this run times out; zero when it has, [`Duration::MAX`] if it cannot.
    pub fn time_left(&self) -> Duration {
        self.run.time_left()
    }

    /// Whether the run should stop: its lease was lost or is in doubt, it timed out, a cancel was
    /// requested, or the time to drain is over. When a drain begins,
    /// [`is_draining`](Self::is_draining) becomes true first.
    pub fn is_cancelled(&self) -> bool {
        self.run.is_cancelled()
    }

    /// Waits until the run should stop; see [`is_cancelled`](Self::is_cancelled).
    pub async fn cancelled(&self) {
        self.run.token().cancelled().await;
    }

    /// Whether the worker has begun to drain: it takes no new jobs, and gives up those that still
    /// run when its drain timeout is over. A long job can store a
    /// [checkpoint](Self::checkpoint) and [snooze](crate::JobError::snooze).
    pub fn is_draining(&self) -> bool {
        self.run.context.phases.now() != Phase::Serving
    }

    /// Waits until the worker begins to drain; see [`is_draining`](Self::is_draining).
    pub async fn draining(&self) {
        let mut phase = self.run.context.phases.subscribe();
        // An error means that the worker is gone, and its runs with it.
        let _ = phase.wait_for(|phase| *phase != Phase::Serving).await;
    }

    /// A token that is cancelled when the run should stop, to pass on to other code.
    pub fn cancellation_token(&self) -> CancellationToken {
        self.run.token().clone()
    }

    /// Reports how far the run has come, 0.0 to 1.0, and what it is doing, at most 1 KiB. The
    /// worker stores the latest report within half a second; this method makes no call.
    pub fn progress(&self, fraction: f32, message: &str) {
        self.run.reports.progress(fraction, message);
        self.run.context.report_soon();
    }

    /// Appends a line to the job's log, which keeps the last 100, each cut at 1 KiB. The worker
    /// stores it within half a second; this method makes no call.
    pub fn log(&self, line: impl Into<String>) {
        self.run.reports.log(line.into());
        self.run.context.report_soon();
    }
}

impl fmt::Debug for Ctx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ctx")
            .field("job", &self.id())
            .field("kind", self.kind())
            .field("attempt", &self.attempt())
            .finish_non_exhaustive()
    }
}
