//! A worker that runs.

use std::fmt;
use std::panic::catch_unwind;
use std::sync::Arc;
use std::time::Duration;

use queuekit_core::{Error, ErrorKind, Result, WorkerId};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::heartbeat::Heartbeat;
use crate::housekeeping::caretaker::take_care;
use crate::housekeeping::history::{tell_last_runs, tell_runs};
use crate::housekeeping::unserved::warn_of_unserved;
use crate::housekeeping::wakeups::{relay, subscribe};
use crate::main_loop::pump::Pump;
use crate::run::phase::Phase;
use crate::state::health::HealthProbe;
use crate::state::run_events::started;
use crate::state::shared::Shared;
use crate::state::snapshot::{WorkerSnapshot, snapshot};
use crate::state::summary::RunSummary;

/// A worker that runs until it is drained.
///
/// Dropping it ends the worker too, without waiting: handlers are asked to stop, and their jobs are
/// released.
pub struct RunningWorker {
    shared: Arc<Shared>,
    ended: watch::Receiver<Option<Result<()>>>,
}

impl RunningWorker {
    /// Starts the pump, the heartbeat, upkeep and the ticks of schedules.
    pub(crate) fn start(shared: Arc<Shared>, until_idle: bool) -> Result<Self> {
        let runtime = Handle::try_current().map_err(|error| {
            let message = "a worker needs a tokio runtime; call it inside `#[tokio::main]`";
            Error::new(ErrorKind::Unsupported, message).caused_by(error)
        })?;
        let (work, cancels) = subscribe(&shared)?.map(|told| (told.work, told.cancels)).unzip();
        needs_timers(&runtime)?;
        let pump = Pump::new(Arc::clone(&shared), until_idle);
        let heartbeat = Heartbeat::start(Arc::clone(&shared), cancels)?;
        let beside = StopGuard { shared: Arc::clone(&shared), stop: CancellationToken::new() };
        let caring = Arc::clone(&shared);
        let failed = move |error: &Error| caring.store_error(error);
        let (store, every) = (Arc::clone(shared.backend()), shared.settings.upkeep_interval);
        let rest = Arc::clone(&shared.rest);
        runtime.spawn(take_care(store, every, rest, beside.stop.clone(), failed));
        runtime.spawn(tell_runs(Arc::clone(&shared), beside.stop.clone()));
        runtime.spawn(warn_of_unserved(Arc::clone(&shared), beside.stop.clone()));
        if let Some(work) = work {
            runtime.spawn(relay(Arc::clone(&shared), work, beside.stop.clone()));
        }
        started(&shared);
        let (end, ended) = watch::channel(None);
        runtime.spawn(async move {
            let result = pump.run().await;
            tell_last_runs(&beside.shared).await;
            heartbeat.stop().await;
            drop(beside);
            end.send_replace(Some(result));
        });
        Ok(Self { shared, ended })
    }

    /// The id of this worker process: the worker's name and random digits.
    pub fn id(&self) -> &WorkerId {
        self.shared.id()
    }

    /// What the worker is doing.
    pub fn snapshot(&self) -> WorkerSnapshot {
        snapshot(&self.shared)
    }

    /// Drains the worker: it takes no new jobs, waits at most `timeout` for running handlers, asks
    /// the rest to stop, releases their jobs (no attempt is spent), records every outcome, and
    /// ends.
    ///
    /// A second call with a shorter timeout shortens the wait. If the store does not answer for
    /// another 5 s, the remaining leases expire by themselves.
    pub async fn drain(&self, timeout: Duration) -> RunSummary {
        self.begin_drain(timeout);
        if let Err(error) = self.ended().await {
            tracing::error!(worker = %self.id(), %error, "the worker had ended before its drain");
        }
        self.shared.counters.read()
    }

    /// Stops without waiting: handlers are asked to stop, and their jobs are released immediately.
    /// See [`drain`](Self::drain).
    pub async fn stop(&self) -> RunSummary {
        self.force();
        self.drain(Duration::ZERO).await
    }

    /// Waits until the worker has ended by itself, e.g. because its store was closed.
    ///
    /// # Errors
    /// A permanent fault of the store, or `Closed` if the worker's task ended with its runtime or
    /// in a panic of the store.
    pub async fn ended(&self) -> Result<RunSummary> {
        let mut ended = self.ended.clone();
        let result = ended.wait_for(Option::is_some).await.map(|result| result.clone());
        match result {
            Ok(Some(Err(error))) => Err(error),
            Ok(_) => Ok(self.shared.counters.read()),
            Err(_) => {
                let message = "the worker's task ended early: the runtime shut down, or the store \
                               panicked";
                Err(Error::new(ErrorKind::Closed, message))
            }
        }
    }

    /// A probe of the worker's health, which works after this handle was dropped, too.
    pub fn probe(&self) -> HealthProbe {
        HealthProbe(Arc::clone(&self.shared.vitals))
    }

    pub(crate) fn begin_drain(&self, timeout: Duration) {
        // Instants do not reach as far as durations.
        let timeout = timeout.min(Duration::from_secs(366 * 24 * 3600));
        self.shared.phases().advance(Phase::Draining { until: Instant::now() + timeout });
    }

    pub(crate) fn force(&self) {
        self.shared.phases().advance(Phase::Forced);
    }
}

/// tokio panics where a runtime without timers is asked for one; later would be too late.
fn needs_timers(runtime: &Handle) -> Result<()> {
    let _inside = runtime.enter();
    let timer = catch_unwind(|| drop(tokio::time::sleep(Duration::ZERO)));
    timer.map_err(|_| {
        let message = "a worker needs timers; call `enable_time` or `enable_all` on the builder \
                       of its tokio runtime";
        Error::new(ErrorKind::Unsupported, message)
    })
}

impl Drop for RunningWorker {
    fn drop(&mut self) {
        self.force();
    }
}

impl fmt::Debug for RunningWorker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunningWorker").field("id", self.id()).finish_non_exhaustive()
    }
}

/// Ends what runs beside the pump, whatever ends the pump.
struct StopGuard {
    shared: Arc<Shared>,
    stop: CancellationToken,
}

impl Drop for StopGuard {
    fn drop(&mut self) {
        self.stop.cancel();
        self.shared.rest.end();
        self.shared.stop();
    }
}
