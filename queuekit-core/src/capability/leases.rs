//! Keeping a lease alive, and saying what it is at.

use std::fmt::Debug;
use std::time::Duration;

use async_trait::async_trait;

use crate::backend::{LeaseToken, LeaseTtl};
use crate::error::Result;
use crate::job::Progress;
use crate::names::{Kind, QueueName, WorkerId};

/// Extending leases, reporting progress, presence of workers. A worker needs it.
#[async_trait]
pub trait Leases: Debug + Send + Sync {
    /// Sets each lease's expiry to now + ttl, if it still holds (contract R3.7). Waits for no
    /// row lock.
    ///
    /// # Errors
    /// `Unavailable`, `Indeterminate`, `Closed`.
    async fn extend(&self, leases: &[LeaseToken], ttl: LeaseTtl) -> Result<Vec<ExtendOutcome>>;

    /// Stores progress and log lines of runs whose lease still holds (contract R3.8).
    ///
    /// # Errors
    /// `Unavailable`, `Indeterminate`, `Closed`.
    async fn report(&self, reports: &[Report]) -> Result<Vec<ReportOutcome>>;

    /// Presence of a worker (contract R3.9): listed until 3 ttl after its last beat.
    ///
    /// # Errors
    /// `Unavailable`, `Indeterminate`, `Closed`.
    async fn beat(&self, beat: &Beat) -> Result<()>;

    /// The workers whose beats are alive, by id.
    ///
    /// # Errors
    /// `Unavailable`, `Closed`.
    async fn list_workers(&self) -> Result<Vec<WorkerInfo>>;
}

/// The outcome for one extended lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub enum ExtendOutcome {
    /// It holds for this long from now.
    Extended {
        /// The time that was granted.
        ttl: Duration,
        /// Somebody asked for the run to stop.
        cancel_requested: bool,
    },
    /// Not now: somebody is settling it in an open transaction. Nobody else can take it until that
    /// transaction ends; ask again soon.
    Settling,
    /// The part of the store that has it did not answer, such as its node of a Redis Cluster: the
    /// lease may run out. Ask again soon.
    Unknown,
    /// It no longer holds; nothing changed.
    LeaseLost,
    /// No such job; nothing changed.
    NotFound,
}

/// What a run has to say.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The lease it runs under.
    pub lease: LeaseToken,
    /// How far it has come; `None` keeps what was said before.
    pub progress: Option<Progress>,
    /// Lines to append; each is cut at 1 KiB, the last 100 are kept.
    pub lines: Vec<String>,
}

/// The outcome for one report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub enum ReportOutcome {
    /// It is stored.
    Reported,
    /// The lease no longer holds; nothing changed.
    LeaseLost,
    /// No such job; nothing changed.
    NotFound,
}

/// A worker says that it is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beat {
    /// This incarnation.
    pub id: WorkerId,
    /// The name it was given; several may share one.
    pub name: String,
    /// The queues it serves.
    pub queues: Vec<QueueName>,
    /// The kinds it has handlers for. The name of a consumer's queue among them stands for every
    /// type of event of that consumer.
    pub kinds: Vec<Kind>,
    /// Jobs it can run at once.
    pub slots: u32,
    /// Jobs it runs.
    pub running: u32,
    /// Listed until 3 ttl after the beat.
    pub ttl: LeaseTtl,
}

impl Beat {
    /// Whether jobs of this kind in this queue are run by this worker.
    pub fn serves(&self, queue: &QueueName, kind: &Kind) -> bool {
        let all_of_consumer = |has: &Kind| queue.is_reserved() && has.as_str() == queue.as_str();
        self.queues.contains(queue)
            && self.kinds.iter().any(|has| has == kind || all_of_consumer(has))
    }
}

/// A worker that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerInfo {
    /// Its last beat.
    pub beat: Beat,
    /// How long ago that was.
    pub age: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r6_9_a_consumers_queue_among_the_kinds_stands_for_all_its_types() {
        let queue = |name: &str| QueueName::new(name).unwrap();
        let beat = |queues: &[&str], kinds: &[&str]| Beat {
            id: WorkerId::new("w").unwrap(),
            name: String::new(),
            queues: queues.iter().map(|name| queue(name)).collect(),
            kinds: kinds.iter().map(|name| Kind::new(*name).unwrap()).collect(),
            slots: 1,
            running: 0,
            ttl: LeaseTtl::default(),
        };
        let kind = Kind::new("order.paid").unwrap();
        let exact = beat(&["event.a", "work"], &["order.paid"]);
        assert!(exact.serves(&queue("event.a"), &kind) && exact.serves(&queue("work"), &kind));
        let any = beat(&["event.a", "event.b", "work"], &["event.a", "work"]);
        assert!(any.serves(&queue("event.a"), &kind));
        assert!(!any.serves(&queue("event.b"), &kind) && !any.serves(&queue("work"), &kind));
    }
}
