//! Helpers of the cases, so that a case reads like its rule.
//!
//! Constants and free functions are here; steps are inherent methods on `dyn World`: see
//! [`World`](crate::World). By default they use the queue `default` and lease for [`TTL`]. They
//! panic on an answer that no case expects.

mod admin;
mod audit;
mod calls;
mod checkpoints;
mod dump;
mod events;
mod history;
mod limits;
mod parallel;
mod presence;
mod read;
mod run;
mod schedules;
mod settle;
mod time;

use std::time::Duration;

use queuekit_core::{
    ErrorKind, IdempotencyKey, JobDraft, Kind, LeaseTtl, NewJob, PartitionKey, QueueName, Reserve,
    Result, WorkerId,
};

pub use calls::{Call, every_call};
pub use checkpoints::checkpoint_name;
pub use dump::Dump;
pub use events::{consumer, deliveries_of, subscribed};
pub use history::{a_run, all_times};
pub use limits::{assert_answers_empty_batches, assert_keeps_the_largest_payload, limits};
pub use parallel::in_parallel;
pub use presence::beat_of;
pub use schedules::{defined, schedule_name};
pub use time::{MILLISECOND, Moment, millis};

/// The lease TTL of cases.
pub const TTL: Duration = Duration::from_secs(30);
/// More time than a case takes: the tolerance for a store whose clock runs.
pub const SLACK: Duration = Duration::from_secs(10);
/// A minute.
pub const MINUTE: Duration = Duration::from_secs(60);
/// An hour.
pub const HOUR: Duration = Duration::from_secs(3600);
/// A day.
pub const DAY: Duration = Duration::from_secs(24 * 3600);
/// Queues whose ids have the same tag: only the names differ.
pub const TWINS: [&str; 2] = ["twin", "twin-145198"];

/// A queue's name.
pub fn queue(name: &str) -> QueueName {
    QueueName::new(name).expect("a queue's name")
}

/// The queue `default`.
pub fn default_queue() -> QueueName {
    QueueName::default()
}

/// A kind's name.
pub fn kind(name: &str) -> Kind {
    Kind::new(name).expect("a kind's name")
}

/// A worker's id.
pub fn worker(name: &str) -> WorkerId {
    WorkerId::new(name).expect("a worker's id")
}

/// A partition key.
pub fn partition_key(key: &str) -> PartitionKey {
    PartitionKey::new(key).expect("a partition key")
}

/// An idempotency key.
pub fn idempotency_key(key: &str) -> IdempotencyKey {
    IdempotencyKey::new(key).expect("an idempotency key")
}

/// A job with all defaults.
pub fn draft() -> JobDraft {
    JobDraft::new("work", "payload")
}

/// A job with this payload.
pub fn carrying(payload: impl Into<String>) -> JobDraft {
    JobDraft::new("work", payload.into())
}

/// A job with this partition key.
pub fn keyed(key: &str) -> JobDraft {
    draft().partition_key(key)
}

/// A job with this idempotency key.
pub fn unique(key: &str) -> JobDraft {
    draft().idempotency_key(key)
}

/// The job of a draft that obeys every limit.
pub fn build(draft: JobDraft) -> NewJob {
    draft.build().expect("a job that obeys every limit")
}

/// A lease of this length.
pub fn ttl(length: Duration) -> LeaseTtl {
    LeaseTtl::new(length).expect("a ttl")
}

/// A request for leases of [`TTL`].
pub fn request(queue: QueueName, limit: usize) -> Reserve {
    Reserve::new(queue, limit, ttl(TTL), worker("w")).expect("a nonce")
}

/// Asserts that a batch was answered item by item.
#[track_caller]
pub(crate) fn assert_answers_each(call: &str, outcomes: usize, items: usize) {
    assert!(
        outcomes == items,
        "{call} of {items} items answered {outcomes} outcomes, not one each"
    );
}

/// The kind of the error that was expected.
#[track_caller]
pub fn kind_of<T: std::fmt::Debug>(answer: Result<T>) -> ErrorKind {
    match answer {
        Ok(answer) => panic!("the call answered {answer:?}, and not the error that it has to"),
        Err(error) => error.kind().clone(),
    }
}

/// Asserts that the answer is `Invalid` and names this field and a limit.
#[track_caller]
pub fn assert_invalid<T: std::fmt::Debug>(answer: Result<T>, wanted: &str) {
    match kind_of(answer) {
        ErrorKind::Invalid { field, limit, .. } => {
            assert_eq!(
                field, wanted,
                "the error names another field than the one that breaks its limit"
            );
            assert!(!limit.is_empty(), "the limit is not named");
        }
        other => panic!("the call answered {other:?}, and not Invalid of the field `{wanted}`"),
    }
}
