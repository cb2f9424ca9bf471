//! How handlers and the heartbeat tell the pump what happened.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::result::RunResult;
use super::run::Run;

/// What happened to a run.
pub(crate) enum RunEvent {
    /// Its handler has returned, with this outcome.
    Ended(Arc<Run>, RunResult),
    /// The outcome was decided while the handler keeps running.
    GivenUp(Arc<Run>, RunResult),
    /// Its handler has returned after that.
    Returned(Arc<Run>),
}

/// Events for the pump; it is woken once for all that come before it looks.
#[derive(Default)]
pub(crate) struct Inbox {
    events: Mutex<Vec<RunEvent>>,
    arrived: Notify,
    rung: AtomicBool,
}

impl Inbox {
    pub(crate) fn push(&self, event: RunEvent) {
        let mut events = self.events();
        let first = events.is_empty();
        events.push(event);
        // Not under the lock: the pump would wake up only to wait for it.
        drop(events);
        if first {
            self.arrived.notify_one();
        }
    }

    /// Swaps what has arrived with an empty vector, whose memory is used again.
    pub(crate) fn swap(&self, empty: &mut Vec<RunEvent>) {
        std::mem::swap(&mut *self.events(), empty);
    }

    pub(crate) fn len(&self) -> usize {
        self.events().len()
    }

    /// There may be work; tells the pump unless it has been told.
    pub(crate) fn ring(&self) {
        if !self.rung.swap(true, Ordering::AcqRel) {
            self.nudge();
        }
    }

    /// Whether it rang since this was asked last.
    pub(crate) fn take_rung(&self) -> bool {
        // Most calls find no ring, and a load does not take the cache line from other threads.
        self.rung.load(Ordering::Acquire) && self.rung.swap(false, Ordering::AcqRel)
    }

    /// Wakes the pump without an event.
    pub(crate) fn nudge(&self) {
        self.arrived.notify_one();
    }

    /// Waits until something has arrived since the last wait.
    pub(crate) async fn arrived(&self) {
        self.arrived.notified().await;
    }

    fn events(&self) -> MutexGuard<'_, Vec<RunEvent>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
