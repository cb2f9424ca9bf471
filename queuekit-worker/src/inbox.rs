//! How handlers and the heartbeat tell the pump what happened.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::run::Run;
use crate::verdict::Verdict;

/// What happened to a run.
pub(crate) enum Event {
    /// Its handler has returned, with this outcome.
    Ended(Arc<Run>, Verdict),
    /// Its outcome was decided while its handler goes on.
    GivenUp(Arc<Run>, Verdict),
    /// Its handler has returned after that.
    Returned(Arc<Run>),
}

/// Events for the pump; it is woken once for all that come before it looks.
#[derive(Default)]
pub(crate) struct Inbox {
    events: Mutex<Events>,
    arrived: Notify,
    rung: AtomicBool,
}

#[derive(Default)]
struct Events {
    waiting: Vec<Event>,
    /// The pump has ended: an event that stayed here would keep the worker in memory.
    closed: bool,
}

impl Inbox {
    pub(crate) fn push(&self, event: Event) {
        let mut events = self.events();
        if events.closed {
            return;
        }
        let first = events.waiting.is_empty();
        events.waiting.push(event);
        drop(events);
        if first {
            self.arrived.notify_one();
        }
    }

    /// Swaps what has arrived with an empty vector, whose memory is used again.
    pub(crate) fn swap(&self, empty: &mut Vec<Event>) {
        std::mem::swap(&mut self.events().waiting, empty);
    }

    pub(crate) fn len(&self) -> usize {
        self.events().waiting.len()
    }

    /// Nobody looks any more.
    pub(crate) fn close(&self) {
        let mut events = self.events();
        events.closed = true;
        let left = std::mem::take(&mut events.waiting);
        // Not under the lock: a run that is dropped may drop what pushes events.
        drop(events);
        drop(left);
    }

    /// There may be work; tells the pump unless it has been told.
    pub(crate) fn ring(&self) {
        if !self.rung.swap(true, Ordering::AcqRel) {
            self.nudge();
        }
    }

    /// Whether it rang since this was asked last.
    pub(crate) fn take_rung(&self) -> bool {
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

    fn events(&self) -> MutexGuard<'_, Events> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
