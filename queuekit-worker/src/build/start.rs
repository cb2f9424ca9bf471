//! Starting a worker, and running it to its end.

use std::future::Future;
use std::sync::Arc;

use queuekit_core::{Error, ErrorKind, Result, WorkerId};

use super::running::RunningWorker;
use super::worker::Worker;
use crate::heartbeat::beat_interval;
use crate::state::settings::Settings;
use crate::state::shared::Shared;
use crate::state::summary::RunSummary;

impl Worker {
    /// Starts the worker; it runs until it is drained or dropped.
    ///
    /// # Errors
    /// The first invalid setting (`Invalid`, `Conflict`); `Unsupported` if the store cannot extend
    /// leases, or outside a tokio runtime; `Closed`; `Unavailable` if no thread can be started.
    #[expect(clippy::unused_async, reason = "so that a start may come to wait for the store")]
    pub async fn start(self) -> Result<RunningWorker> {
        self.launch(false)
    }

    /// Runs until no job is running and none can run now. Jobs that are due later, including
    /// retries, are left.
    ///
    /// # Errors
    /// Those of [`start`](Self::start), and permanent faults of the store. During an outage the
    /// worker waits.
    pub async fn run_until_idle(self) -> Result<RunSummary> {
        self.launch(true)?.ended().await
    }

    /// Runs until the future resolves, then drains.
    ///
    /// # Errors
    /// Those of [`start`](Self::start).
    pub async fn run_until(self, end: impl Future) -> Result<RunSummary> {
        let drain_timeout = self.settings.drain_timeout;
        let running = self.launch(false)?;
        tokio::select! {
            // If both have happened, the reason why the worker ended must not be lost.
            biased;
            ended = running.ended() => return ended,
            _ = end => {}
        }
        Ok(running.drain(drain_timeout).await)
    }

    /// Runs until SIGINT or SIGTERM (Ctrl-C on Windows), then drains. A second signal releases the
    /// running jobs immediately.
    ///
    /// # Errors
    /// Those of [`start`](Self::start); `Unsupported` if signals cannot be listened for.
    #[cfg(feature = "signal")]
    pub async fn run_until_signal(self) -> Result<RunSummary> {
        let drain_timeout = self.settings.drain_timeout;
        let mut signals = super::signal::Signals::listen()?;
        let running = self.launch(false)?;
        tokio::select! {
            biased;
            ended = running.ended() => return ended,
            () = signals.next() => {}
        }
        running.begin_drain(drain_timeout);
        tokio::select! {
            biased;
            ended = running.ended() => return ended,
            () = signals.next() => {}
        }
        Ok(running.stop().await)
    }

    fn launch(self, until_idle: bool) -> Result<RunningWorker> {
        let during = |error: Error| error.during("start");
        let settings = self.checked().map_err(during)?;
        if settings.client.backend().capabilities().leases.is_none() {
            let message = "this store has no `Leases` capability; a worker needs it to keep the \
                           leases of running jobs alive";
            return Err(during(Error::new(ErrorKind::Unsupported, message)));
        }
        let id = WorkerId::incarnate(&settings.name).map_err(during)?;
        let beat_interval = beat_interval(settings.ttl);
        let shared = Arc::new(Shared::new(settings, id, beat_interval));
        RunningWorker::start(shared, until_idle).map_err(during)
    }

    /// The settings, unless a mistake was made in building them.
    fn checked(mut self) -> Result<Settings> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        let mut settings = self.settings;
        settings.complete_queues();
        let limited = settings.queue_limits.keys().find(|queue| !settings.queues.contains(queue));
        if let Some(queue) = limited {
            return Err(Error::invalid("queue_concurrency", "of a queue that is served", queue));
        }
        let mut kinds = settings.kind_limits.keys();
        if let Some(kind) = kinds.find(|kind| !settings.kinds.may_handle(kind)) {
            return Err(Error::invalid("kind_concurrency", "of a kind that has a handler", kind));
        }
        Ok(settings)
    }
}
