//! How far a worker is on its way to its end.

use tokio::sync::watch;
use tokio::time::Instant;

/// A phase of a worker; it only goes forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub(crate) enum Phase {
    /// It takes work.
    Serving,
    /// It finishes what it has until then.
    Draining { until: Instant },
    /// It releases what it has.
    Forced,
}

/// The phase of one worker, for all that look at it.
pub(crate) struct Phases(watch::Sender<Phase>);

impl Default for Phases {
    fn default() -> Self {
        Self(watch::Sender::new(Phase::Serving))
    }
}

impl Phases {
    pub(crate) fn now(&self) -> Phase {
        *self.0.borrow()
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<Phase> {
        self.0.subscribe()
    }

    /// Goes to a later phase, or to an earlier end of draining.
    pub(crate) fn advance(&self, to: Phase) {
        self.0.send_if_modified(|phase| {
            let forward = match (*phase, to) {
                (Phase::Draining { until }, Phase::Draining { until: sooner }) => sooner < until,
                (phase, to) => to > phase,
            };
            if forward {
                *phase = to;
            }
            forward
        });
    }
}
