//! A job of the machine.

use queuekit_core::{
    EventId, IdempotencyKey, JobId, LeaseToken, NewJob, PartitionKey, Priority, QueueName,
    ReleaseCause, Start, State,
};

#[derive(Clone, Debug)]
pub(in crate::model) struct ModelJob {
    pub(in crate::model) id: JobId,
    pub(in crate::model) queue: QueueName,
    pub(in crate::model) kind: String,
    pub(in crate::model) payload: Vec<u8>,
    pub(in crate::model) state: State,
    pub(in crate::model) priority: u8,
    pub(in crate::model) attempts: u32,
    pub(in crate::model) max_attempts: u32,
    pub(in crate::model) releases: u32,
    pub(in crate::model) lease_seq: u64,
    pub(in crate::model) scheduled_at: i64,
    pub(in crate::model) seq: u64,
    pub(in crate::model) lease_expires_at: i64,
    /// The lease that holds, or that ended the job itself.
    pub(in crate::model) token: Option<LeaseToken>,
    pub(in crate::model) deadline: Option<i64>,
    pub(in crate::model) deadline_at: Option<i64>,
    pub(in crate::model) partition_key: Option<PartitionKey>,
    pub(in crate::model) idempotency_key: Option<IdempotencyKey>,
    pub(in crate::model) unique_until_done: bool,
    pub(in crate::model) cancel_requested: bool,
    pub(in crate::model) result: Option<Vec<u8>>,
    pub(in crate::model) reason: Option<String>,
    pub(in crate::model) errors: Vec<String>,
    /// The leases that were released, and why.
    pub(in crate::model) released: Vec<(u64, Option<ReleaseCause>)>,
    pub(in crate::model) lines: usize,
    /// When.
    pub(in crate::model) finished: Option<i64>,
    pub(in crate::model) corrupt: bool,
    /// A dead head that keeps its partition key.
    pub(in crate::model) holds_key: bool,
    /// The event that it delivers, if it is a delivery.
    pub(in crate::model) of: Option<Delivered>,
    /// Its event has gone, perhaps with the data.
    pub(in crate::model) outlived: bool,
}

/// An event, and the name of the replay that delivers it once more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::model) struct Delivered {
    pub(in crate::model) event: EventId,
    pub(in crate::model) replay: Option<String>,
}

impl ModelJob {
    pub(super) fn new(job: &NewJob, seq: u64, now: i64) -> Self {
        let millis = |duration: std::time::Duration| {
            i64::try_from(duration.as_millis()).expect("a delay fits")
        };
        let delay = match job.start() {
            Start::After(delay) => millis(delay),
            Start::At(_) => unreachable!("sequences use delays"),
        };
        let deadline = job.deadline().map(millis);
        Self {
            kind: job.kind().to_string(),
            payload: job.payload().to_vec(),
            priority: job.priority().level(),
            max_attempts: job.max_attempts(),
            scheduled_at: now + delay,
            deadline,
            deadline_at: deadline.map(|deadline| now + deadline),
            partition_key: job.partition_key().cloned(),
            idempotency_key: job.idempotency_key().cloned(),
            unique_until_done: job.unique_until_done(),
            ..Self::bare(job.id(), job.queue().clone(), seq)
        }
    }

    /// A job that was never run, with only these fields.
    pub(super) fn bare(id: JobId, queue: QueueName, seq: u64) -> Self {
        Self {
            id,
            queue,
            kind: String::new(),
            payload: Vec::new(),
            state: State::Pending,
            priority: Priority::default().level(),
            attempts: 0,
            max_attempts: 0,
            releases: 0,
            lease_seq: 0,
            scheduled_at: 0,
            seq,
            lease_expires_at: 0,
            token: None,
            deadline: None,
            deadline_at: None,
            partition_key: None,
            idempotency_key: None,
            unique_until_done: false,
            cancel_requested: false,
            result: None,
            reason: None,
            errors: Vec::new(),
            released: Vec::new(),
            lines: 0,
            finished: None,
            corrupt: false,
            holds_key: false,
            of: None,
            outlived: false,
        }
    }

    /// Serving order: priority descending, time, sequence (R7.1).
    pub(in crate::model) fn place(&self) -> (u8, i64, u64) {
        (31 - self.priority, self.scheduled_at, self.seq)
    }
}
