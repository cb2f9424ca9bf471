//! Why a job is not running.

use std::fmt;
use std::time::Duration;

use crate::job::{JobId, State};
use crate::names::{Kind, PartitionKey, QueueName, WorkerId};

/// The live reason (contract R6.9); `to_string()` says it in a sentence.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are what the sentence names")]
pub enum Why {
    /// Its queue is paused.
    Paused { queue: QueueName },
    /// Its partition key lets no lease of it start now.
    Blocked { key: PartitionKey, behind: Option<JobId> },
    /// Its time has not come.
    Scheduled { in_: Duration },
    /// An attempt failed, or was given back, and the next one waits.
    WaitingForRetry { in_: Duration, attempts: u32, max_attempts: u32 },
    /// It could run, but nobody is there who would.
    NoLiveWorker { queue: QueueName, kind: Kind },
    /// It could run: the next reserve of its queue may take it.
    Ready { jobs_before: Option<u64> },
    /// It is running.
    Running { worker: WorkerId, lease_expires_in: Duration },
    /// Its lease ran out; the next reserve of its queue reclaims it.
    Expired { worker: WorkerId, ago: Duration },
    /// It has ended.
    Ended { state: State, reason: Option<String> },
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Paused { queue } => write!(f, "queue {queue} is paused"),
            Self::Blocked { key, behind: Some(id) } => {
                write!(f, "blocked behind job {id} of partition key {key}")
            }
            Self::Blocked { key, behind: None } => {
                write!(f, "partition key {key} has all the leases it may have")
            }
            Self::Scheduled { in_ } => write!(f, "scheduled, due in {in_:.1?}"),
            Self::WaitingForRetry { in_, attempts, max_attempts } => {
                write!(f, "attempt {attempts} of {max_attempts} failed; retry in {in_:.1?}")
            }
            Self::NoLiveWorker { queue, kind } => {
                write!(f, "ready, but no live worker serves queue {queue} and kind {kind}")
            }
            Self::Ready { jobs_before: Some(0) } => f.write_str("ready, next in its queue"),
            Self::Ready { jobs_before: Some(n) } => write!(f, "ready, behind {n} jobs"),
            Self::Ready { jobs_before: None } => f.write_str("ready, waits for its turn"),
            Self::Running { worker, lease_expires_in } => {
                write!(f, "running on {worker}, whose lease holds {lease_expires_in:.1?} more")
            }
            Self::Expired { worker, ago } => {
                write!(f, "its lease, held by {worker}, ran out {ago:.1?} ago; the next reserve ")?;
                f.write_str("of its queue takes it back")
            }
            Self::Ended { state, reason: Some(reason) } => write!(f, "ended {state}: {reason}"),
            Self::Ended { state, reason: None } => write!(f, "ended {state}"),
        }
    }
}
