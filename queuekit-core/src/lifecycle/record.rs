//! Everything that a store keeps of a job.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::stored;
use crate::backend::{JobErrors, JobFilter, Lease, LeaseToken, Listed, Nonce};
use crate::clock::Timestamp;
use crate::event::EventId;
use crate::job::{
    Checkpoint, ErrorText, Failure, Job, JobId, LogLine, Metadata, NewJob, Priority, Progress,
    Release, State, Status,
};
use crate::names::{IdempotencyKey, Kind, PartitionKey, QueueName, WorkerId};

/// Everything that a store keeps of a job, for stores that keep it as one record.
///
/// A store finds records and puts them in order; what an operation does to one of them is decided
/// and written here. A store that updates columns in place follows the same rules in its own
/// language. The JSON form contains the nonce of the lease, so it belongs in the store and in no
/// log (contract R3.1).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Record {
    /// The id of the job.
    pub id: JobId,
    /// Its queue.
    pub queue: QueueName,
    /// The kind, which picks the handler.
    pub kind: Kind,
    /// The payload.
    #[serde(with = "stored::bytes")]
    pub payload: Bytes,
    /// Its state; [`enter`](Self::enter) sets it.
    pub state: State,
    /// Higher is served first.
    pub priority: Priority,
    /// Leases granted and not released.
    pub attempts: u32,
    /// It is dead after this many.
    pub max_attempts: u32,
    /// How often it was released.
    pub releases: u32,
    /// When it was enqueued.
    pub created_at: Timestamp,
    /// When it may run next.
    pub scheduled_at: Timestamp,
    /// When its last lease was granted.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// Place in the queue: rises with every enqueue and retry.
    pub seq: u64,
    /// Place among the ended: rises with every end.
    pub end_seq: u64,
    /// Rises with every lease, and nothing resets it (contract R1.5).
    pub lease_seq: u64,
    /// The nonce of the last lease; zeros once the lease was broken, so that no token matches.
    #[serde(with = "stored::nonce")]
    pub nonce: Nonce,
    /// When its last lease expires.
    pub lease_expires_at: Timestamp,
    /// The worker that has its last lease.
    pub worker: Option<WorkerId>,
    /// Whether it was asked to stop.
    pub cancel_requested: bool,
    /// The longest time of one run.
    pub timeout: Duration,
    /// How long after its enqueue or retry it may be started.
    pub deadline: Option<Duration>,
    /// Until when it may be started.
    pub deadline_at: Option<Timestamp>,
    /// The partition key.
    pub partition_key: Option<PartitionKey>,
    /// The idempotency key.
    pub idempotency_key: Option<IdempotencyKey>,
    /// Whether its end frees the idempotency key.
    pub unique_until_done: bool,
    /// The metadata.
    pub metadata: Metadata,
    /// The job in another queue that this one replaces.
    pub moved_from: Option<JobId>,
    /// The event of which it is a delivery.
    pub event: Option<EventId>,
    /// What its handler returned.
    #[serde(with = "stored::optional_bytes")]
    pub result: Option<Bytes>,
    /// Why it ended.
    pub reason: Option<ErrorText>,
    /// Its last failures, oldest first.
    pub errors: VecDeque<Failure>,
    /// Its last releases, oldest first.
    #[serde(default)]
    pub released: VecDeque<Release>,
    /// How far its run has come.
    pub progress: Option<Progress>,
    /// The last lines that its runs have logged.
    pub logs: VecDeque<LogLine>,
    /// The results of its steps, for later runs (contract R13.10).
    #[serde(default, with = "stored::checkpoints")]
    pub checkpoints: Vec<Checkpoint>,
    /// What is stored of it cannot be read (contract R5.8).
    pub corrupt: bool,
}

impl Record {
    /// A job that is enqueued now.
    pub fn new(job: &NewJob, scheduled_at: Timestamp, seq: u64, now: Timestamp) -> Self {
        Self {
            id: job.id(),
            queue: job.queue().clone(),
            kind: job.kind().clone(),
            payload: job.payload().clone(),
            state: State::Pending,
            priority: job.priority(),
            attempts: 0,
            max_attempts: job.max_attempts(),
            releases: 0,
            created_at: now,
            scheduled_at,
            started_at: None,
            finished_at: None,
            seq,
            end_seq: 0,
            lease_seq: 0,
            nonce: Nonce::from_bytes([0; 16]),
            lease_expires_at: Timestamp::default(),
            worker: None,
            cancel_requested: false,
            timeout: job.timeout(),
            deadline: job.deadline(),
            deadline_at: job.deadline().map(|deadline| now + deadline),
            partition_key: job.partition_key().cloned(),
            idempotency_key: job.idempotency_key().cloned(),
            unique_until_done: job.unique_until_done(),
            metadata: job.metadata().clone(),
            moved_from: job.moved_from(),
            event: job.event(),
            result: None,
            reason: None,
            errors: VecDeque::new(),
            released: VecDeque::new(),
            progress: None,
            logs: VecDeque::new(),
            checkpoints: Vec::new(),
            corrupt: false,
        }
    }

    /// Whether this job is the one that is enqueued again (contract R2.4).
    pub fn is_same(&self, job: &NewJob) -> bool {
        self.queue == *job.queue() && self.kind == *job.kind() && self.payload == *job.payload()
    }

    /// Whether this very lease holds, expired or not (contract R3.2): only a reclaim ends it.
    pub fn is_held_by(&self, lease: &LeaseToken) -> bool {
        self.state == State::Running && self.was_last_held_by(lease)
    }

    /// Whether this lease was the last one granted: its holder may repeat what it did.
    pub fn was_last_held_by(&self, lease: &LeaseToken) -> bool {
        self.lease_seq == lease.lease_seq
            && self.nonce == lease.nonce
            && self.queue == lease.queue
            // A job that was never leased has a nonce of zeros, which anybody can name.
            && self.lease_seq > 0
    }

    /// Whether its lease has expired.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.state == State::Running && self.lease_expires_at <= now
    }

    /// Whether it is too late to start it.
    pub fn is_past_deadline(&self, now: Timestamp) -> bool {
        self.deadline_at.is_some_and(|deadline| deadline <= now)
    }

    /// Bytes that count towards retention.
    pub fn bytes(&self) -> u64 {
        (self.payload.len() + self.result.as_ref().map_or(0, Bytes::len)) as u64
    }

    /// Bytes of its lease that count towards those of an answer (contract R8.9).
    pub fn lease_bytes(&self) -> usize {
        self.payload.len() + self.metadata.bytes()
    }

    /// Its place in the order of a strict queue (contract R7.1): priority, time, sequence.
    pub fn serving_place(&self) -> (u8, Timestamp, u64) {
        // Places ascend, and the highest priority comes first.
        (Priority::LEVELS as u8 - 1 - self.priority.level(), self.scheduled_at, self.seq)
    }

    /// The lease that it was granted last, for its worker.
    pub fn lease(&self, now: Timestamp) -> Lease {
        let token = LeaseToken {
            queue: self.queue.clone(),
            id: self.id,
            lease_seq: self.lease_seq,
            nonce: self.nonce,
        };
        let mut lease = Lease::new(token, self.kind.clone(), self.payload.clone());
        lease.attempt = self.attempts;
        lease.max_attempts = self.max_attempts;
        lease.releases = self.releases;
        lease.priority = self.priority;
        lease.timeout = self.timeout;
        lease.deadline_in = self.deadline_at.map(|deadline| deadline.since(now));
        lease.created_at = self.created_at;
        lease.scheduled_at = self.scheduled_at;
        lease.partition_key = self.partition_key.clone();
        lease.metadata = self.metadata.clone();
        lease
    }

    /// The status that it shows now (contract R1.1); `blocked` is whether its partition key lets no
    /// lease of it start now.
    pub fn status(&self, blocked: bool, now: Timestamp) -> Status {
        match self.state {
            State::Pending => super::waiting_status(blocked, self.scheduled_at, now, self.attempts),
            State::Running if self.lease_expires_at <= now => Status::Expired,
            State::Running => Status::Running,
            State::Completed => Status::Completed,
            State::Dead => Status::Dead,
            State::Cancelled => Status::Cancelled,
        }
    }

    /// Whether a listing shows it.
    pub fn is_listed_by(&self, filter: &JobFilter, status: Status) -> bool {
        let listed = Listed {
            id: self.id,
            status,
            kind: self.kind.as_str(),
            partition_key: self.partition_key.as_ref().map(|key| key.as_str()),
            worker: self.worker.as_ref().map(|worker| worker.as_str()),
            created_at: self.created_at,
            finished_at: self.finished_at,
        };
        let last = self.errors.back().map(|failure| failure.error.as_str());
        let reason = self.reason.as_ref().map(|reason| reason.as_str());
        filter.admits(&listed)
            && filter.admits_error(status, self.kind.as_str(), JobErrors { last, reason })
    }

    /// The job as readers are shown it.
    pub fn view(&self, status: Status, now: Timestamp) -> Job {
        let queue = self.queue.clone();
        let mut job = Job::pending(self.id, queue, self.kind.clone(), self.created_at);
        let running = self.state == State::Running;
        job.payload = if self.corrupt { Bytes::new() } else { self.payload.clone() };
        job.state = self.state;
        job.status = status;
        job.priority = self.priority;
        job.attempts = self.attempts;
        job.max_attempts = self.max_attempts;
        job.releases = self.releases;
        job.lease_seq = self.lease_seq;
        job.scheduled_at = self.scheduled_at;
        job.started_at = self.started_at;
        job.finished_at = self.finished_at;
        job.lease_expires_in = running.then(|| self.lease_expires_at.since(now));
        job.worker = self.worker.clone();
        job.partition_key = self.partition_key.clone();
        job.idempotency_key = self.idempotency_key.clone();
        job.unique_until_done = self.unique_until_done;
        job.timeout = self.timeout;
        job.deadline_in = self.deadline_at.map(|deadline| deadline.since(now));
        job.cancel_requested = self.cancel_requested;
        job.result = self.result.clone();
        job.reason = self.reason.clone();
        job.errors = self.errors.iter().cloned().collect();
        job.released = self.released.iter().cloned().collect();
        job.progress = self.progress.clone();
        job.logs = self.logs.iter().cloned().collect();
        job.metadata = self.metadata.clone();
        job.moved_from = self.moved_from;
        job
    }
}
