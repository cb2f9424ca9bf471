//! The enqueue calls of a crash test.

use queuekit_core::{Bytes, Client, EnqueueOutcome, JobDraft, JobId, Payload, QueueName, Result};
use serde::{Deserialize, Serialize};

/// The queue of all crash tests.
pub(super) const QUEUE: &str = "crash";
/// The number of jobs in a batch.
const BATCH: usize = 10;
/// Payloads are shorter than this: from those stored with their job to those of several pages.
const PAYLOAD_BYTES: u64 = 8192;
/// Enough attempts that no job dies because its workers are killed.
const ATTEMPTS: u32 = 1000;

/// One enqueue call; every job of it carries it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Call {
    /// The caller. It makes one call after the other, and begins again with its last call when its
    /// process was killed.
    pub caller: String,
    /// The number of the call; it decides what is enqueued.
    pub number: u64,
}

/// The kind of jobs that a call enqueues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// One job.
    Plain,
    /// One job whose idempotency key is the call.
    Unique,
    /// One job whose partition key is the caller.
    Ordered,
    /// Jobs in one atomic call.
    Batch,
}

impl Payload for Call {
    const KIND: &'static str = "crash";

    /// JSON, and spaces up to a length that the number decides.
    fn encode(&self) -> Result<Bytes> {
        let mut json = serde_json::to_vec(self).expect("a call is JSON");
        let bytes = usize::try_from(self.number * 977 % PAYLOAD_BYTES).expect("it is small");
        json.resize(json.len().max(bytes), b' ');
        Ok(json.into())
    }

    fn defaults(draft: JobDraft) -> JobDraft {
        draft.queue(QUEUE).max_attempts(ATTEMPTS)
    }
}

impl Call {
    pub(super) fn shape(&self) -> Shape {
        match self.number % 4 {
            0 => Shape::Plain,
            1 => Shape::Unique,
            2 => Shape::Ordered,
            _ => Shape::Batch,
        }
    }

    /// Enqueues. Returns the jobs that are stored for the call; none if the queue is full.
    pub(super) async fn enqueue(&self, client: &Client) -> Result<Vec<JobId>> {
        let draft = JobDraft::of(self);
        let outcomes = match self.shape() {
            Shape::Plain => vec![client.enqueue(draft).outcome().await?],
            Shape::Unique => {
                let key = format!("{}/{}", self.caller, self.number);
                vec![client.enqueue(draft.idempotency_key(key)).outcome().await?]
            }
            Shape::Ordered => {
                vec![client.enqueue(draft.partition_key(&self.caller)).outcome().await?]
            }
            Shape::Batch => client.enqueue_all(vec![draft; BATCH]).await?.into_iter().collect(),
        };
        let stored = outcomes.into_iter().filter_map(|outcome| {
            let conflict = matches!(outcome, EnqueueOutcome::Conflict { .. });
            assert!(!conflict, "nobody chose an id, and {outcome:?} was answered");
            outcome.job_id()
        });
        Ok(stored.collect())
    }
}

/// The queue as a name.
pub(super) fn queue() -> QueueName {
    QueueName::new(QUEUE).expect("a name")
}
