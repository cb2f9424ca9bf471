//! What workers say of themselves.

use std::time::Duration;

use crate::backend::LeaseTtl;
use crate::names::{Kind, QueueName, WorkerId};

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
