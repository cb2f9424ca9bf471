//! Who may wait in the server for the lock of a queue.
//!
//! Of all calls of a handle that hold no queue's lock yet, one at a time waits there for each
//! queue's lock. The others wait in this process, at the gate of the queue, and hold no connection:
//! otherwise the calls of one queue would hold the whole pool, and calls of all other queues would
//! wait for them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The gates that calls wait at or have passed, by the number of the queue.
#[derive(Debug, Default)]
pub(crate) struct Gates(Mutex<HashMap<i32, Weak<Semaphore>>>);

/// The right to wait in the server for the lock of one queue.
#[derive(Debug)]
pub(crate) struct Pass {
    queue: i32,
    _permit: OwnedSemaphorePermit,
}

/// The locks of queues in one attempt of a call.
#[derive(Debug)]
pub(crate) struct QueueLocks<'a> {
    gates: &'a Gates,
    pass: Mutex<Option<Pass>>,
    /// Whether the transaction has the lock of some queue.
    has_one: AtomicBool,
}

impl Gates {
    /// Waits at the gate of a queue: first come, first served.
    pub(crate) async fn pass(&self, queue: i32) -> Option<Pass> {
        // It fails only if the gate is closed, which nobody does.
        let permit = self.of(queue).acquire_owned().await.ok()?;
        Some(Pass { queue, _permit: permit })
    }

    fn pass_now(&self, queue: i32) -> Option<Pass> {
        let permit = self.of(queue).try_acquire_owned().ok()?;
        Some(Pass { queue, _permit: permit })
    }

    fn of(&self, queue: i32) -> Arc<Semaphore> {
        let mut gates = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(gate) = gates.get(&queue).and_then(Weak::upgrade) {
            return gate;
        }
        gates.retain(|_, gate| gate.strong_count() > 0);
        let gate = Arc::new(Semaphore::new(1));
        gates.insert(queue, Arc::downgrade(&gate));
        gate
    }
}

impl<'a> QueueLocks<'a> {
    pub(crate) fn new(gates: &'a Gates, pass: Option<Pass>) -> Self {
        Self { gates, pass: Mutex::new(pass), has_one: AtomicBool::new(false) }
    }

    /// The right to wait in the server for the lock of a queue; none if others wait for it. The
    /// caller keeps it until it has the lock: then the next call may wait there.
    pub(crate) fn pass(&self, queue: i32) -> Option<Pass> {
        let pass = self.pass.lock().unwrap_or_else(PoisonError::into_inner).take();
        pass.filter(|pass| pass.queue == queue).or_else(|| self.gates.pass_now(queue))
    }

    /// Whether the transaction has the lock of a queue. It may then wait in the server for further
    /// ones: no other call has this lock, so few calls wait like this. To wait at a gate would keep
    /// others from the lock that it has.
    pub(crate) fn has_one(&self) -> bool {
        self.has_one.load(Ordering::Acquire)
    }

    pub(crate) fn got_one(&self) {
        self.has_one.store(true, Ordering::Release);
    }

    /// A transaction begins, which has none.
    pub(crate) fn begin(&self) {
        self.has_one.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn one_call_passes_and_the_next_follows_when_the_lock_is_taken() {
        let gates = Gates::default();
        let first = QueueLocks::new(&gates, gates.pass(1).now_or_never().expect("nobody waits"));
        let mut second = Box::pin(gates.pass(1));
        assert!((&mut second).now_or_never().is_none());
        let other = QueueLocks::new(&gates, None);
        assert!(other.pass(1).is_none(), "the first call may wait in the server");
        assert!(other.pass(2).is_some(), "nobody waits for this queue");
        drop(first.pass(1).expect("it has passed"));
        assert!(other.pass(1).is_none(), "the second call came before");
        assert!((&mut second).now_or_never().is_some());
    }

    #[test]
    fn a_gate_goes_with_its_last_call_also_if_that_is_dropped_while_it_waits() {
        let gates = Gates::default();
        let first = gates.pass(1).now_or_never().expect("nobody waits");
        let mut dropped = Box::pin(gates.pass(1));
        assert!((&mut dropped).now_or_never().is_none());
        let mut third = Box::pin(gates.pass(1));
        assert!((&mut third).now_or_never().is_none());
        drop(dropped);
        drop(first);
        drop((&mut third).now_or_never().expect("the second has left"));
        drop(third);
        drop(gates.pass_now(2));
        assert!(!gates.0.lock().unwrap().contains_key(&1));
    }
}
