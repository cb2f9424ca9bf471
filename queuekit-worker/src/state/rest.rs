//! Whether the worker rests: it makes no call until there may be something to do.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tokio::time::Instant;

/// The rest of one worker (contract R13.12). The main loop begins and ends it; every other part
/// that makes calls of its own asks it first.
pub(crate) struct Rest {
    inner: Mutex<Inner>,
    resting: watch::Sender<bool>,
    /// The log says that it cannot.
    told: AtomicBool,
}

#[derive(Default)]
struct Inner {
    resting: bool,
    /// Calls of housekeeping that are under way.
    calls: usize,
    next_tick: NextTick,
}

/// When a schedule is due next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum NextTick {
    /// The store has not answered that yet.
    #[default]
    Unknown,
    At(Instant),
    Never,
}

/// A call of housekeeping; no rest begins before it is dropped.
pub(crate) struct Call<'a>(&'a Rest);

impl Default for Rest {
    fn default() -> Self {
        let (resting, told) = (watch::Sender::new(false), AtomicBool::new(false));
        Self { inner: Mutex::default(), resting, told }
    }
}

impl Rest {
    /// Begins, unless housekeeping makes a call.
    pub(crate) fn begin(&self) -> bool {
        let mut inner = self.inner();
        if inner.calls > 0 {
            return false;
        }
        inner.resting = true;
        drop(inner);
        self.resting.send_replace(true);
        true
    }

    pub(crate) fn end(&self) {
        self.inner().resting = false;
        self.resting.send_replace(false);
    }

    pub(crate) fn is_on(&self) -> bool {
        self.inner().resting
    }

    /// Waits until it begins, or ends.
    pub(crate) async fn changes(&self, is_on: bool) {
        // The sender is in this.
        let _ = self.resting.subscribe().wait_for(|resting| *resting != is_on).await;
    }

    /// Waits for its end, and keeps it from beginning again before the answer is dropped.
    pub(crate) async fn call(&self) -> Call<'_> {
        loop {
            {
                let mut inner = self.inner();
                if !inner.resting {
                    inner.calls += 1;
                    return Call(self);
                }
            }
            self.changes(true).await;
        }
    }

    pub(crate) fn set_next_tick(&self, next: NextTick) {
        self.inner().next_tick = next;
    }

    pub(crate) fn next_tick(&self) -> NextTick {
        self.inner().next_tick
    }

    /// Whether this is the first time that a worker cannot rest, which is worth a line in the log.
    pub(crate) fn is_first_refusal(&self) -> bool {
        !self.told.swap(true, Ordering::AcqRel)
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.0.inner().calls -= 1;
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn r13_12_no_rest_begins_while_housekeeping_makes_a_call_and_none_is_made_in_it() {
        let rest = Rest::default();
        let call = rest.call().await;
        assert!(!rest.begin());
        drop(call);
        assert!(rest.begin());
        let mut calling = Box::pin(rest.call());
        assert!(calling.as_mut().now_or_never().is_none());
        rest.end();
        drop(calling.await);
        assert!(!rest.is_on());
    }
}
