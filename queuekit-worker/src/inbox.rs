//! How handlers and the heartbeat tell the pump what happened.

use std::sync::{Arc, Mutex, PoisonError};

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
    events: Mutex<Vec<Event>>,
    arrived: Notify,
}

impl Inbox {
    pub(crate) fn push(&self, event: Event) {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        let first = events.is_empty();
        events.push(event);
        drop(events);
        if first {
            self.arrived.notify_one();
        }
    }

    /// Swaps what has arrived with an empty vector, whose memory is used again.
    pub(crate) fn swap(&self, empty: &mut Vec<Event>) {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut *events, empty);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.events
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_empty()
    }

    /// Wakes the pump without an event.
    pub(crate) fn nudge(&self) {
        self.arrived.notify_one();
    }

    /// Waits until something has arrived since the last wait.
    pub(crate) async fn arrived(&self) {
        self.arrived.notified().await;
    }
}
