//! The end of a worker that no longer waits for its handlers.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::run::phase::Phase;
use crate::state::shared::Shared;

/// How long handlers that were asked to stop have to do so before their jobs are released, and
/// how long those that were let go have to be gone.
const LAST_CALL: Duration = Duration::from_millis(100);
/// How long the worker reports outcomes to a store that does not answer.
const FLUSH: Duration = Duration::from_secs(5);

/// Longer than all of it takes.
const LONGEST: Duration = Duration::from_secs(6);

/// How far the end has come.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shutdown {
    /// It has not begun.
    No,
    /// Handlers were asked to stop.
    Asked { until: Instant },
    /// They were let go, and their jobs are being released.
    Released { linger: Instant, flush: Instant },
}

/// What to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Ask every handler to stop.
    Ask,
    /// Let every handler go and release its job.
    Release,
    /// Nothing but wait.
    Wait,
}

impl Shutdown {
    /// Enters the next phase if it is time to; `live` handlers are running.
    pub(crate) fn step(&mut self, now: Instant, live: usize) -> Step {
        match *self {
            Self::No => {
                *self = Self::Asked { until: now + LAST_CALL };
                Step::Ask
            }
            Self::Asked { until } if now >= until || live == 0 => {
                *self = Self::Released { linger: now + LAST_CALL, flush: now + FLUSH };
                Step::Release
            }
            Self::Asked { .. } | Self::Released { .. } => Step::Wait,
        }
    }

    /// Whether it is over: `settled` if every outcome is answered, `busy` handlers have not
    /// returned.
    pub(crate) fn is_over(&self, now: Instant, settled: bool, busy: usize) -> bool {
        match *self {
            Self::No | Self::Asked { .. } => false,
            Self::Released { linger, flush } => {
                // A handler that does not return must not keep the process alive once its job is
                // released.
                (settled && (busy == 0 || now >= linger)) || now >= flush
            }
        }
    }

    /// When to look again, whatever else happens.
    pub(crate) fn next(&self, settled: bool) -> Option<Instant> {
        match *self {
            Self::No => None,
            Self::Asked { until } => Some(until),
            Self::Released { linger, .. } if settled => Some(linger),
            Self::Released { flush, .. } => Some(flush),
        }
    }
}

/// Ends when the wait for the pump's own end is over.
pub(crate) async fn force_in_time(shared: Arc<Shared>, mut phase: watch::Receiver<Phase>) {
    loop {
        let now = *phase.borrow_and_update();
        let until = match now {
            Phase::Serving => None,
            Phase::Draining { until } => Some(until),
            Phase::Forced => return tokio::time::sleep(LONGEST).await,
        };
        let until = async {
            match until {
                Some(until) => tokio::time::sleep_until(until).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            // The sender is part of what this task holds: it cannot be gone.
            _ = phase.changed() => {}
            () = until => shared.phases().advance(Phase::Forced),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handlers_are_asked_then_let_go_then_lingered_for() {
        let start = Instant::now();
        let mut shutdown = Shutdown::No;
        assert_eq!(shutdown.step(start, 1), Step::Ask);
        assert_eq!(shutdown.step(start, 1), Step::Wait);
        assert_eq!(shutdown.step(start + LAST_CALL, 1), Step::Release);
        let released = start + LAST_CALL;
        assert!(!shutdown.is_over(released, true, 1));
        assert!(shutdown.is_over(released, true, 0));
        assert!(shutdown.is_over(released + LAST_CALL, true, 1));
    }

    #[test]
    fn nobody_is_waited_for_who_is_not_there() {
        let now = Instant::now();
        let mut shutdown = Shutdown::No;
        assert_eq!(shutdown.step(now, 0), Step::Ask);
        assert_eq!(shutdown.step(now, 0), Step::Release);
        assert!(shutdown.is_over(now, true, 0));
    }

    #[test]
    fn a_store_that_does_not_answer_is_left_after_a_while() {
        let now = Instant::now();
        let mut shutdown = Shutdown::No;
        shutdown.step(now, 0);
        shutdown.step(now, 0);
        assert!(!shutdown.is_over(now, false, 0));
        assert!(shutdown.is_over(now + FLUSH, false, 0));
    }
}
