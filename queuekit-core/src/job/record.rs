//! A job as it is read.

use std::time::Duration;

use bytes::Bytes;

use super::{ErrorText, JobId, Metadata, Priority, State, Status};
use crate::clock::Timestamp;
use crate::job::error_text::storable;
use crate::limits::LOG_LINE_BYTES;
use crate::names::{IdempotencyKey, Kind, PartitionKey, QueueName, WorkerId};

/// Everything a reader may know of a job; the nonce of its lease is not part of it (R3.1).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each name says it; what does not is documented")]
pub struct Job {
    pub id: JobId,
    pub queue: QueueName,
    pub kind: Kind,
    /// Byte for byte as enqueued; empty if the record is unreadable.
    pub payload: Bytes,
    /// What is stored.
    pub state: State,
    /// What follows from it at the moment of reading.
    pub status: Status,
    pub priority: Priority,
    /// Leases granted since enqueue or retry, minus releases.
    pub attempts: u32,
    pub max_attempts: u32,
    pub releases: u32,
    /// Rises with every lease and is never reset: the fencing number.
    pub lease_seq: u64,
    pub created_at: Timestamp,
    pub scheduled_at: Timestamp,
    /// When the last lease was granted.
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    /// Of the present lease.
    pub lease_expires_in: Option<Duration>,
    /// Who holds the lease, or held the last one.
    pub worker: Option<WorkerId>,
    pub partition_key: Option<PartitionKey>,
    pub idempotency_key: Option<IdempotencyKey>,
    pub unique_until_done: bool,
    pub timeout: Duration,
    /// Time left until it is no longer worth starting.
    pub deadline_in: Option<Duration>,
    pub cancel_requested: bool,
    pub result: Option<Bytes>,
    /// Why it is dead.
    pub reason: Option<ErrorText>,
    /// The last 20 failures, oldest first.
    pub errors: Vec<Failure>,
    pub progress: Option<Progress>,
    /// The last 100 lines, oldest first.
    pub logs: Vec<LogLine>,
    pub metadata: Metadata,
    pub moved_from: Option<JobId>,
}

impl Job {
    /// A job as it stands right after its enqueue; stores set what has changed since.
    pub fn pending(id: JobId, queue: QueueName, kind: Kind, created_at: Timestamp) -> Self {
        Self {
            id,
            queue,
            kind,
            payload: Bytes::new(),
            state: State::Pending,
            status: Status::Ready,
            priority: Priority::NORMAL,
            attempts: 0,
            max_attempts: 1,
            releases: 0,
            lease_seq: 0,
            created_at,
            scheduled_at: created_at,
            started_at: None,
            finished_at: None,
            lease_expires_in: None,
            worker: None,
            partition_key: None,
            idempotency_key: None,
            unique_until_done: false,
            timeout: Duration::ZERO,
            deadline_in: None,
            cancel_requested: false,
            result: None,
            reason: None,
            errors: Vec::new(),
            progress: None,
            logs: Vec::new(),
            metadata: Metadata::default(),
            moved_from: None,
        }
    }
}

/// One failed attempt (contract R4.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// 1 for the first.
    pub attempt: u32,
    /// The lease it failed under.
    pub lease_seq: u64,
    /// Store time.
    pub at: Timestamp,
    /// Who ran it.
    pub worker: Option<WorkerId>,
    /// What went wrong.
    pub error: ErrorText,
}

/// How far a run has come; [`new`](Self::new) makes it storable.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// 0.0..=1.0.
    pub fraction: f32,
    /// What it is at; empty if nothing was said.
    pub message: String,
}

impl Progress {
    /// Progress with the fraction clamped to 0..=1 and the message to 1 KiB.
    pub fn new(fraction: f32, message: &str) -> Self {
        let fraction = if fraction.is_nan() { 0.0 } else { fraction.clamp(0.0, 1.0) };
        Self { fraction, message: storable(message, LOG_LINE_BYTES) }
    }
}

/// One line a run has logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// Store time at which the line was reported.
    pub at: Timestamp,
    /// At most 1 KiB.
    pub text: String,
}

impl LogLine {
    /// A line as it is stored: NUL replaced, cut at 1 KiB on a char boundary.
    pub fn new(at: Timestamp, line: &str) -> Self {
        Self { at, text: storable(line, LOG_LINE_BYTES) }
    }
}
