//! A job on its way into a store.

use std::time::Duration;

use bytes::Bytes;

use super::{JobId, Metadata, Priority};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::event::EventId;
use crate::limits::DELAY;
use crate::names::{IdempotencyKey, Kind, PartitionKey, QueueName};

/// A job that obeys every limit: only [`JobDraft::build`](super::JobDraft::build) makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewJob {
    pub(super) id: JobId,
    pub(super) queue: QueueName,
    pub(super) kind: Kind,
    pub(super) payload: Bytes,
    pub(super) priority: Priority,
    pub(super) max_attempts: u32,
    pub(super) start: Start,
    pub(super) timeout: Duration,
    pub(super) deadline: Option<Duration>,
    pub(super) idempotency_key: Option<IdempotencyKey>,
    pub(super) unique_until_done: bool,
    pub(super) partition_key: Option<PartitionKey>,
    pub(super) metadata: Metadata,
    pub(super) moved_from: Option<JobId>,
    pub(super) repeat: bool,
    pub(super) merged: bool,
    pub(super) event: Option<EventId>,
}

/// When a job may first run.
// Exhaustive: a store has to act on each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// This long after the store took the job.
    After(Duration),
    /// At this instant of the store's clock.
    At(Timestamp),
}

impl NewJob {
    pub(super) fn with_defaults(kind: Kind, payload: Bytes) -> Self {
        Self {
            id: JobId::from_bytes([0; 16]),
            queue: QueueName::default(),
            kind,
            payload,
            priority: Priority::NORMAL,
            max_attempts: 3,
            start: Start::After(Duration::ZERO),
            timeout: Duration::from_secs(30 * 60),
            deadline: None,
            idempotency_key: None,
            unique_until_done: false,
            partition_key: None,
            metadata: Metadata::default(),
            moved_from: None,
            repeat: false,
            merged: false,
            event: None,
        }
    }

    /// The same job in a call that is made again (contract R2.4): finished jobs are searched too.
    #[must_use]
    pub fn repeated(mut self) -> Self {
        self.repeat = true;
        self
    }

    /// The same job in a call that was merged with others (contract R2.10): it must not hold them
    /// up for long if it has to wait for an open transaction.
    #[must_use]
    pub fn merged(mut self) -> Self {
        self.merged = true;
        self
    }

    /// Whether its call was merged with others.
    pub fn is_merged(&self) -> bool {
        self.merged
    }

    /// Its id, made by the client.
    pub fn id(&self) -> JobId {
        self.id
    }

    /// Its queue.
    pub fn queue(&self) -> &QueueName {
        &self.queue
    }

    /// Its kind.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// Its payload, stored byte for byte.
    pub fn payload(&self) -> &Bytes {
        &self.payload
    }

    /// Its priority.
    pub fn priority(&self) -> Priority {
        self.priority
    }

    /// How many leases may be granted before it is dead.
    pub fn max_attempts(&self) -> u32 {
        self.max_attempts
    }

    /// When it may first run.
    pub fn start(&self) -> Start {
        self.start
    }

    /// The instant before which it may not run, on a store whose clock says `now`.
    ///
    /// # Errors
    /// `Invalid` if that is more than 366 days ahead.
    pub fn scheduled_at(&self, now: Timestamp) -> Result<Timestamp> {
        match self.start {
            Start::After(delay) => Ok(now + delay),
            Start::At(at) if at > now + DELAY => {
                let ahead = format!("{} days", at.since(now).as_secs() / 86_400);
                let error = Error::invalid("run_at", "at most 366 days ahead", ahead);
                Err(error.on(self.id))
            }
            Start::At(at) => Ok(at.max(now)),
        }
    }

    /// How long one run may take.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// How long after the enqueue it is still worth starting.
    pub fn deadline(&self) -> Option<Duration> {
        self.deadline
    }

    /// Its idempotency key.
    pub fn idempotency_key(&self) -> Option<&IdempotencyKey> {
        self.idempotency_key.as_ref()
    }

    /// Whether the idempotency key is free as soon as the job has ended.
    pub fn unique_until_done(&self) -> bool {
        self.unique_until_done
    }

    /// Its partition key.
    pub fn partition_key(&self) -> Option<&PartitionKey> {
        self.partition_key.as_ref()
    }

    /// Small facts that travel with it.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    pub(crate) fn metadata_mut(&mut self) -> &mut Metadata {
        &mut self.metadata
    }

    /// The job that moved here.
    pub fn moved_from(&self) -> Option<JobId> {
        self.moved_from
    }

    /// The event of which it is a delivery: its payload is the event's, which a store keeps once.
    pub fn event(&self) -> Option<EventId> {
        self.event
    }

    /// Whether this call was made before and its answer is not known.
    pub fn repeat(&self) -> bool {
        self.repeat
    }
}
