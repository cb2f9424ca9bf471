//! What a handler is told of its run, and what it can tell back.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use queuekit_core::{
    Bytes, Client, JobId, Kind, LeaseToken, Metadata, PartitionKey, QueueName, Result, WorkerId,
};
use tokio_util::sync::CancellationToken;

use crate::run::Run;
use crate::shared::Phase;

/// One run of one job; clones are of the same run.
#[derive(Clone)]
pub struct Ctx {
    run: Arc<Run>,
}

impl Ctx {
    pub(crate) fn new(run: Arc<Run>) -> Self {
        Self { run }
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

    /// Whether the job is buried if this run fails.
    pub fn is_final_attempt(&self) -> bool {
        self.attempt() >= self.max_attempts()
    }

    /// Rises with every lease of the job: pass it to other systems as a fence, so that they can
    /// refuse what comes from a run that was given up.
    pub fn lease_seq(&self) -> u64 {
        self.run.lease.token.lease_seq
    }

    /// The lease of this run, for a store's `ack_in`: it completes the job in a transaction of the
    /// handler's own, together with what the run has written there. Commit and return: the
    /// worker's own ack is answered `AlreadyDone`, and the run counts as completed. What the
    /// handler returns is stored by whoever acks first, so hand the result to that ack.
    ///
    /// It is secret: whoever has it can settle the job.
    pub fn lease_token(&self) -> &LeaseToken {
        &self.run.lease.token
    }

    /// Its partition key.
    pub fn partition_key(&self) -> Option<&PartitionKey> {
        self.run.lease.partition_key.as_ref()
    }

    /// Small facts that travel with it.
    pub fn metadata(&self) -> &Metadata {
        &self.run.lease.metadata
    }

    /// Its payload, byte for byte as enqueued.
    pub fn payload(&self) -> &Bytes {
        &self.run.lease.payload
    }

    /// The worker that runs it.
    pub fn worker_id(&self) -> &WorkerId {
        &self.run.shared.id
    }

    /// A client of the store the job came from, e.g. to enqueue what follows.
    pub fn client(&self) -> &Client {
        &self.run.shared.client
    }

    /// The value of this type that [`Worker::state`](crate::Worker::state) was given.
    ///
    /// # Errors
    /// `NotFound` if there is none.
    pub fn state<T: Send + Sync + 'static>(&self) -> Result<&T> {
        self.run.shared.state.get()
    }

    /// Time left until this run times out; zero when it has, [`Duration::MAX`] if it cannot.
    pub fn time_left(&self) -> Duration {
        self.run.time_left()
    }

    /// Whether the run should stop: its lease was lost or is in doubt, it timed out, somebody
    /// asked for the job to be cancelled, or the time to drain is over. Whether a drain has begun
    /// is told by [`is_draining`](Self::is_draining).
    pub fn is_cancelled(&self) -> bool {
        self.run.is_cancelled()
    }

    /// Waits until the run should stop; see [`is_cancelled`](Self::is_cancelled).
    pub async fn cancelled(&self) {
        self.run.token().cancelled().await;
    }

    /// Whether the worker has begun to drain: it takes no new jobs, and gives up those that still
    /// run when its drain timeout is over. A long job can write a checkpoint and
    /// [snooze](crate::JobError::snooze).
    pub fn is_draining(&self) -> bool {
        self.run.shared.phase() != Phase::Serving
    }

    /// Waits until the worker begins to drain; see [`is_draining`](Self::is_draining).
    pub async fn draining(&self) {
        let mut phase = self.run.shared.phase.subscribe();
        // An error means that the worker is gone, and its runs with it.
        let _ = phase.wait_for(|phase| *phase != Phase::Serving).await;
    }

    /// The same as a token that can be handed on.
    pub fn cancellation_token(&self) -> CancellationToken {
        self.run.token().clone()
    }

    /// Says how far the run has come, 0.0..=1.0, and what it is at (at most 1 KiB). Stored within
    /// half a second, only the latest; it costs no call here.
    pub fn progress(&self, fraction: f32, message: &str) {
        self.run.reports.progress(fraction, message);
        self.run.shared.registry.report_soon();
    }

    /// Appends a line to the job's log: the last 100 are kept, each cut at 1 KiB. Stored within
    /// half a second; it costs no call here.
    pub fn log(&self, line: impl Into<String>) {
        self.run.reports.log(line.into());
        self.run.shared.registry.report_soon();
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
