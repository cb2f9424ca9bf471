//! Hints that there may be work (contract R13.6). Polling remains the truth.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;

use crate::error::Result;
use crate::names::QueueName;

/// A store that tells when there may be work.
pub trait Wakeups: Debug + Send + Sync {
    /// A wake-up that rings when one of these queues may have work.
    ///
    /// # Errors
    /// `Closed`.
    fn subscribe(&self, queues: &[QueueName]) -> Result<Wakeup>;
}

/// Rings when there may be work; several rings before anyone listens are one.
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

/// The wake-ups of one process: a store rings it for every queue that gained work, so that
/// workers beside the enqueuer need no round trip.
#[derive(Debug, Default)]
pub struct WakeupHub {
    by_queue: Mutex<HashMap<QueueName, Vec<Weak<Notify>>>>,
}

impl WakeupHub {
    /// A wake-up for these queues; it ends when it is dropped.
    pub fn subscribe(&self, queues: &[QueueName]) -> Wakeup {
        let wakeup = Wakeup::default();
        let mut by_queue = self.by_queue();
        for queue in queues {
            let subscribers = by_queue.entry(queue.clone()).or_default();
            subscribers.retain(|subscriber| subscriber.strong_count() > 0);
            subscribers.push(Arc::downgrade(&wakeup.0));
        }
        wakeup
    }

    /// Rings for one queue.
    pub fn ring(&self, queue: &QueueName) {
        if let Some(subscribers) = self.by_queue().get(queue) {
            subscribers.iter().filter_map(Weak::upgrade).for_each(|notify| notify.notify_one());
        }
    }

    /// Whether anybody here waits for a queue.
    pub fn is_awaited(&self, queue: &QueueName) -> bool {
        let by_queue = self.by_queue();
        let mut subscribers = by_queue.get(queue).into_iter().flatten();
        subscribers.any(|subscriber| subscriber.strong_count() > 0)
    }

    /// Rings for every queue, e.g. when the store's own notices may have been missed.
    pub fn ring_all(&self) {
        let by_queue = self.by_queue();
        let subscribers = by_queue.values().flatten();
        subscribers.filter_map(Weak::upgrade).for_each(|notify| notify.notify_one());
    }

    fn by_queue(&self) -> MutexGuard<'_, HashMap<QueueName, Vec<Weak<Notify>>>> {
        self.by_queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
