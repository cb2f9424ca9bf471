//! Hints that there may be work (contract R13.6), or that a run may have been asked to stop
//! (contract R13.1). Polling and heartbeats remain the truth.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::subscribers::Subscribers;
use super::wakeup::Wakeup;
use crate::error::Result;
use crate::names::QueueName;

/// Wake-ups for new work, and for running jobs that were asked to stop.
pub trait Wakeups: Debug + Send + Sync {
    /// A wake-up that rings when one of these queues may have work.
    ///
    /// # Errors
    /// `Closed`.
    fn subscribe(&self, queues: &[QueueName]) -> Result<Wakeup>;

    /// A wake-up that rings when a cancel of a running job of one of these queues was requested.
    /// The wake-up names no job: the next extend shows which one.
    ///
    /// # Errors
    /// `Closed`.
    fn subscribe_cancels(&self, queues: &[QueueName]) -> Result<Wakeup>;

    /// Whether wake-ups of these queues, to which this process subscribed, are received now also
    /// from other processes. A worker that rests (contract R13.12) relies on it. When wake-ups that
    /// were received no longer are, the store rings them all.
    fn are_heard(&self, queues: &[QueueName]) -> bool {
        let _ = queues;
        true
    }

    /// A worker rests until the answer is dropped: meanwhile the store makes no call for its
    /// wake-ups alone, such as a check of a silent connection. None if it never makes such calls.
    fn rest(&self) -> Option<RestGuard> {
        None
    }
}

/// Counts the workers of one process that rest.
#[derive(Clone, Debug, Default)]
pub struct Resting(Arc<AtomicUsize>);

impl Resting {
    /// One more rests, until the answer is dropped.
    pub fn begin(&self) -> RestGuard {
        self.0.fetch_add(1, Ordering::AcqRel);
        RestGuard(self.clone())
    }

    /// Whether any rests.
    pub fn any(&self) -> bool {
        self.0.load(Ordering::Acquire) > 0
    }
}

/// A worker that rests; it no longer does when this is dropped.
#[derive(Debug)]
#[must_use = "the rest ends when it is dropped"]
pub struct RestGuard(Resting);

impl Drop for RestGuard {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The wake-ups of one process: a store rings it for every queue that gained work or has a running
/// job that was asked to stop, so that workers beside the caller need no round trip.
#[derive(Debug, Default)]
pub struct WakeupHub {
    work: Subscribers<QueueName>,
    cancels: Subscribers<QueueName>,
}

impl WakeupHub {
    /// A wake-up for work of these queues; it ends when it is dropped.
    pub fn subscribe(&self, queues: &[QueueName]) -> Wakeup {
        self.work.add(queues)
    }

    /// A wake-up for cancels of running jobs of these queues; it ends when it is dropped.
    pub fn subscribe_cancels(&self, queues: &[QueueName]) -> Wakeup {
        self.cancels.add(queues)
    }

    /// A queue gained work.
    pub fn ring(&self, queue: &QueueName) {
        self.work.ring(queue);
    }

    /// A cancel of a running job of this queue was requested.
    pub fn ring_cancel(&self, queue: &QueueName) {
        self.cancels.ring(queue);
    }

    /// Whether a worker of this process waits for work of this queue.
    pub fn is_awaited(&self, queue: &QueueName) -> bool {
        self.work.has(queue)
    }

    /// Rings for work of every queue, e.g. when the store's own notices may have been missed.
    pub fn ring_all(&self) {
        self.work.ring_all();
    }

    /// The same for cancels.
    pub fn ring_all_cancels(&self) {
        self.cancels.ring_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r13_12_a_process_rests_as_long_as_any_of_its_workers_does() {
        let resting = Resting::default();
        let (one, other) = (resting.begin(), resting.begin());
        drop(one);
        assert!(resting.any());
        drop(other);
        assert!(!resting.any());
    }
}
