//! Hints that there may be work (contract R13.6), or that a run may have been asked to stop
//! (contract R13.1). Polling and heartbeats remain the truth.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;

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

/// Rings when there may be something to do; several rings before anyone listens are one.
#[derive(Clone, Debug, Default)]
pub struct Wakeup(Arc<Notify>);

impl Wakeup {
    /// Waits for the next ring, or returns at once if it rang since the last call.
    pub async fn rung(&self) {
        self.0.notified().await;
    }

    /// Rings it.
    pub fn ring(&self) {
        self.0.notify_one();
    }
}

/// The wake-ups of one process: a store rings it for every queue that gained work or has a running
/// job that was asked to stop, so that workers beside the caller need no round trip.
#[derive(Debug, Default)]
pub struct WakeupHub {
    work: Subscribers,
    cancels: Subscribers,
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

/// The waiting workers, by queue.
#[derive(Debug, Default)]
struct Subscribers(Mutex<ByQueue>);

type ByQueue = HashMap<QueueName, Vec<Weak<Notify>>>;

impl Subscribers {
    fn add(&self, queues: &[QueueName]) -> Wakeup {
        let wakeup = Wakeup::default();
        let mut by_queue = self.by_queue();
        // Callers can invent names without end, and stop waiting for them. The entries are checked
        // only when the map would grow, so that a call pays for few of them on average.
        if by_queue.len() + queues.len() > by_queue.capacity() {
            by_queue.retain(|_, subscribers| is_awaited(subscribers));
        }
        for queue in queues {
            let subscribers = by_queue.entry(queue.clone()).or_default();
            subscribers.retain(|subscriber| subscriber.strong_count() > 0);
            subscribers.push(Arc::downgrade(&wakeup.0));
        }
        wakeup
    }

    fn ring(&self, queue: &QueueName) {
        if let Some(subscribers) = self.by_queue().get(queue) {
            subscribers.iter().filter_map(Weak::upgrade).for_each(|notify| notify.notify_one());
        }
    }

    fn has(&self, queue: &QueueName) -> bool {
        self.by_queue().get(queue).is_some_and(|subscribers| is_awaited(subscribers))
    }

    fn ring_all(&self) {
        let by_queue = self.by_queue();
        let subscribers = by_queue.values().flatten();
        subscribers.filter_map(Weak::upgrade).for_each(|notify| notify.notify_one());
    }

    fn by_queue(&self) -> MutexGuard<'_, ByQueue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_awaited(subscribers: &[Weak<Notify>]) -> bool {
    subscribers.iter().any(|subscriber| subscriber.strong_count() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guard: names that nobody waits for are forgotten before the map grows.
    #[test]
    fn s6_queues_that_nobody_waits_for_any_more_take_no_memory() {
        let hub = WakeupHub::default();
        let awaited = QueueName::new("awaited").unwrap();
        let wakeup = hub.subscribe(std::slice::from_ref(&awaited));
        for number in 0..10_000 {
            let _ = hub.subscribe(&[QueueName::new(format!("invented-{number}")).unwrap()]);
        }
        let kept = hub.work.by_queue().len();
        assert!(kept < 100, "{kept} names are kept");
        assert!(hub.is_awaited(&awaited));
        drop(wakeup);
        assert!(!hub.is_awaited(&awaited));
    }

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
