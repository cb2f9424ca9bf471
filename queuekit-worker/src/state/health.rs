//! The health of a worker, for probes.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use queuekit_core::limits::QUIET;
use tokio::sync::watch;

use super::ordered::Ordered;
use super::rest::Rest;
use crate::run::phase::Phase;

/// How long the main loop may take for one round.
const TURN: Duration = Duration::from_secs(5);
/// How often the main loop shows that it makes progress, also while it waits for the store.
pub(crate) const SHOW: Duration = Duration::from_secs(1);

/// The health of a worker at one moment; see [`RunningWorker::probe`].
///
/// [`RunningWorker::probe`]: crate::RunningWorker::probe
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerHealth {
    /// Time since the main loop last made progress.
    pub turned_ago: Duration,
    /// Time since the store last answered; none if it has not answered yet.
    pub store_answered_ago: Option<Duration>,
    /// The time between two beats, each of which calls the store.
    pub beat_interval: Duration,
    /// Whether the worker takes no more jobs.
    pub draining: bool,
    /// Whether the worker was ordered to take no jobs for now. It is ready all the same.
    pub quiet: bool,
    /// Whether the worker makes no call, because its queues have nothing to do (contract R13.12).
    pub resting: bool,
}

impl WorkerHealth {
    /// Why the process should be restarted, if it should: its main loop has made no progress for 5
    /// s. This happens if handlers block all threads of the runtime. An unreachable store is not a
    /// reason.
    pub fn why_not_alive(&self) -> Option<&'static str> {
        let stuck = "the main loop has made no progress for 5 s; a handler may block its thread";
        (self.turned_ago >= TURN).then_some(stuck)
    }

    /// Why the worker takes no jobs, if it takes none: it drains, or the store has not answered
    /// within two beat intervals, or an hour more if it rests.
    pub fn why_not_ready(&self) -> Option<&'static str> {
        if self.draining {
            return Some("draining");
        }
        let rest = if self.resting { QUIET } else { Duration::ZERO };
        match self.store_answered_ago {
            None => Some("the store has not answered yet"),
            // One failed beat is no outage.
            Some(ago) if ago > self.beat_interval * 2 + rest => Some("the store does not answer"),
            Some(_) => self.why_not_alive(),
        }
    }
}

/// Asks a worker for its [health](WorkerHealth), from any thread; clones ask the same worker.
#[derive(Clone)]
pub struct HealthProbe(pub(crate) Arc<Vitals>);

impl HealthProbe {
    /// The health now.
    pub fn health(&self) -> WorkerHealth {
        self.0.at(Instant::now())
    }
}

impl fmt::Debug for HealthProbe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HealthProbe").field(&self.health()).finish()
    }
}

/// When the parts of a worker last showed progress.
pub(crate) struct Vitals {
    began: Instant,
    beat_interval: Duration,
    /// In milliseconds since it began, as the next.
    turned: AtomicU64,
    /// One more, so that zero means never.
    answered: AtomicU64,
    phase: watch::Receiver<Phase>,
    ordered: Arc<Ordered>,
    rest: Arc<Rest>,
}

impl Vitals {
    pub(crate) fn new(
        beat_interval: Duration,
        phase: watch::Receiver<Phase>,
        ordered: Arc<Ordered>,
        rest: Arc<Rest>,
    ) -> Self {
        Self {
            began: Instant::now(),
            beat_interval,
            turned: AtomicU64::new(0),
            answered: AtomicU64::new(0),
            phase,
            ordered,
            rest,
        }
    }

    pub(crate) fn turned(&self) {
        self.turned.store(self.now(), Ordering::Relaxed);
    }

    pub(crate) fn store_answered(&self) {
        self.answered.store(self.now() + 1, Ordering::Relaxed);
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX - 1)
    }

    fn at(&self, now: Instant) -> WorkerHealth {
        let since =
            |millis| now.saturating_duration_since(self.began + Duration::from_millis(millis));
        let answered = self.answered.load(Ordering::Relaxed).checked_sub(1);
        WorkerHealth {
            turned_ago: since(self.turned.load(Ordering::Relaxed)),
            store_answered_ago: answered.map(since),
            beat_interval: self.beat_interval,
            draining: *self.phase.borrow() != Phase::Serving,
            quiet: self.ordered.is_quiet(),
            resting: self.rest.is_on(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::phase::Phases;

    const BEAT: Duration = Duration::from_secs(10);
    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_loop_that_has_not_turned_for_5_s_is_stuck() {
        let phases = Phases::default();
        let vitals =
            Vitals::new(BEAT, phases.subscribe(), Arc::new(Ordered::new(1)), Arc::default());
        vitals.store_answered();
        let at = |since: Duration| vitals.at(vitals.began + since);
        assert_eq!(at(TURN - MS).why_not_alive(), None);
        assert!(at(TURN).why_not_alive().is_some());
        assert!(at(TURN).why_not_ready().is_some(), "what is not alive is not ready");
    }

    #[test]
    fn a_store_that_has_not_answered_for_two_beats_makes_a_worker_unready_but_not_dead() {
        let health = |answered| WorkerHealth {
            turned_ago: Duration::ZERO,
            store_answered_ago: answered,
            beat_interval: BEAT,
            draining: false,
            quiet: false,
            resting: false,
        };
        assert_eq!(health(Some(BEAT * 2)).why_not_ready(), None);
        for away in [health(None), health(Some(BEAT * 2 + MS))] {
            assert!(away.why_not_ready().is_some());
            assert_eq!(away.why_not_alive(), None);
        }
        let resting = |ago| WorkerHealth { resting: true, ..health(Some(ago)) };
        assert_eq!(resting(QUIET + BEAT * 2).why_not_ready(), None);
        assert!(resting(QUIET + BEAT * 2 + MS).why_not_ready().is_some());
    }

    #[test]
    fn a_worker_that_drains_is_alive_and_not_ready() {
        let phases = Phases::default();
        let vitals =
            Vitals::new(BEAT, phases.subscribe(), Arc::new(Ordered::new(1)), Arc::default());
        vitals.store_answered();
        phases.advance(Phase::Forced);
        let health = vitals.at(vitals.began);
        assert_eq!(health.why_not_alive(), None);
        assert_eq!(health.why_not_ready(), Some("draining"));
    }
}
