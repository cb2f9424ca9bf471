//! A stored job.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;

use crate::backend::{Lease, LeaseToken, Nonce};
use crate::clock::Timestamp;
use crate::event::EventId;
use crate::job::{
    ErrorText, Failure, Job, JobId, LogLine, Metadata, NewJob, Priority, Progress, State, Status,
};
use crate::lifecycle;
use crate::limits::FAILURES_KEPT;
use crate::names::{IdempotencyKey, Kind, PartitionKey, QueueName, WorkerId};

#[derive(Debug)]
pub(super) struct Record {
    pub(super) id: JobId,
    pub(super) queue: QueueName,
    pub(super) kind: Kind,
    pub(super) payload: Bytes,
    pub(super) state: State,
    pub(super) priority: Priority,
    pub(super) attempts: u32,
    pub(super) max_attempts: u32,
    pub(super) releases: u32,
    pub(super) created_at: Timestamp,
    pub(super) scheduled_at: Timestamp,
    pub(super) started_at: Option<Timestamp>,
    pub(super) finished_at: Timestamp,
    /// Place in the queue: rises with every enqueue and retry.
    pub(super) seq: u64,
    /// Place among the ended: rises with every end.
    pub(super) end_seq: u64,
    pub(super) lease_seq: u64,
    pub(super) nonce: Nonce,
    pub(super) lease_expires_at: Timestamp,
    pub(super) worker: Option<WorkerId>,
    pub(super) cancel_requested: bool,
    pub(super) timeout: Duration,
    pub(super) deadline: Option<Duration>,
    pub(super) deadline_at: Option<Timestamp>,
    pub(super) partition_key: Option<PartitionKey>,
    pub(super) idempotency_key: Option<IdempotencyKey>,
    pub(super) unique_until_done: bool,
    pub(super) metadata: Metadata,
    pub(super) moved_from: Option<JobId>,
    /// Of which it is a delivery.
    pub(super) event: Option<EventId>,
    pub(super) result: Option<Bytes>,
    pub(super) reason: Option<ErrorText>,
    pub(super) errors: VecDeque<Failure>,
    pub(super) progress: Option<Progress>,
    pub(super) logs: VecDeque<LogLine>,
    /// Stands for stored bytes that cannot be read.
    pub(super) corrupt: bool,
}

impl Record {
    pub(super) fn new(job: &NewJob, scheduled_at: Timestamp, seq: u64, now: Timestamp) -> Self {
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
            finished_at: Timestamp::default(),
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
            progress: None,
            logs: VecDeque::new(),
            corrupt: false,
        }
    }

    /// Whether this very lease holds (contract R3.2), expired or not.
    pub(super) fn is_held_by(&self, lease: &LeaseToken) -> bool {
        self.state == State::Running && self.was_last_held_by(lease)
    }

    /// Whether this lease was the last one granted.
    pub(super) fn was_last_held_by(&self, lease: &LeaseToken) -> bool {
        self.lease_seq == lease.lease_seq
            && self.nonce == lease.nonce
            && self.queue == lease.queue
            && self.lease_seq > 0
    }

    pub(super) fn is_past_deadline(&self, now: Timestamp) -> bool {
        self.deadline_at.is_some_and(|deadline| deadline <= now)
    }

    /// Bytes that count towards retention.
    pub(super) fn bytes(&self) -> u64 {
        (self.payload.len() + self.result.as_ref().map_or(0, Bytes::len)) as u64
    }

    pub(super) fn add_failure(&mut self, now: Timestamp, error: ErrorText) {
        self.errors.push_back(Failure {
            attempt: self.attempts,
            lease_seq: self.lease_seq,
            at: now,
            worker: self.worker.clone(),
            error,
        });
        while self.errors.len() > FAILURES_KEPT {
            self.errors.pop_front();
        }
    }

    pub(super) fn lease(&self, now: Timestamp) -> Lease {
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

    pub(super) fn status(&self, blocked: bool, now: Timestamp) -> Status {
        match self.state {
            State::Pending => {
                lifecycle::waiting_status(blocked, self.scheduled_at, now, self.attempts)
            }
            State::Running if self.lease_expires_at <= now => Status::Expired,
            State::Running => Status::Running,
            State::Completed => Status::Completed,
            State::Dead => Status::Dead,
            State::Cancelled => Status::Cancelled,
        }
    }

    pub(super) fn view(&self, status: Status, now: Timestamp) -> Job {
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
        job.finished_at = self.state.is_terminal().then_some(self.finished_at);
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
        job.progress = self.progress.clone();
        job.logs = self.logs.iter().cloned().collect();
        job.metadata = self.metadata.clone();
        job.moved_from = self.moved_from;
        job
    }
}
