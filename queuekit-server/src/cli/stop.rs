//! The signals that end a process.

use std::time::Duration;

use anyhow::{Context, Result};
use queuekit::{CancellationToken, RunSummary, RunningWorker};

use super::systemd;

/// How long jobs may go on after the first signal.
const DRAIN: Duration = Duration::from_secs(30);

/// SIGTERM and SIGINT (Ctrl-C): the first asks for an end, the second forces it.
#[derive(Clone, Debug)]
pub(crate) struct Stop {
    pub(crate) asked: CancellationToken,
    pub(crate) forced: CancellationToken,
}

impl Stop {
    /// From now on signals no longer end the process by themselves.
    pub(crate) fn listen() -> Result<Self> {
        let stop = Self { asked: CancellationToken::new(), forced: CancellationToken::new() };
        let mut signals = Signals::listen()?;
        let told = stop.clone();
        tokio::spawn(async move {
            signals.next().await;
            systemd::stopping();
            tracing::info!(
                "stopping: what runs is finished first, a second signal ends it at once"
            );
            told.asked.cancel();
            signals.next().await;
            told.forced.cancel();
        });
        Ok(stop)
    }

    /// Lets a worker run until it is asked to end, then end what it runs; its jobs are released if
    /// they take too long, or if a second signal comes.
    pub(crate) async fn run_until(&self, worker: &RunningWorker) -> Result<RunSummary> {
        tokio::select! {
            () = self.asked.cancelled() => {}
            ended = worker.ended() => return Ok(ended?),
        }
        tokio::select! {
            summary = worker.drain(DRAIN) => Ok(summary),
            () = self.forced.cancelled() => Ok(worker.stop().await),
        }
    }
}

/// SIGHUP, from when this is made on: it no longer ends the process.
#[cfg(unix)]
pub(crate) struct Hangups(tokio::signal::unix::Signal);

#[cfg(unix)]
impl Hangups {
    pub(crate) fn listen() -> Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        signal(SignalKind::hangup()).map(Self).context("signals cannot be listened for")
    }

    pub(crate) async fn next(&mut self) {
        // None is the end of the runtime.
        if self.0.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}

/// There is no such signal.
#[cfg(not(unix))]
pub(crate) struct Hangups;

#[cfg(not(unix))]
impl Hangups {
    pub(crate) fn listen() -> Result<Self> {
        Ok(Self)
    }

    pub(crate) async fn next(&mut self) {
        std::future::pending::<()>().await;
    }
}

/// SIGTERM and SIGINT (Ctrl-C), from when this is made on.
#[cfg(unix)]
pub(crate) struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    pub(crate) fn listen() -> Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let listen = |kind| signal(kind).context("signals cannot be listened for");
        let interrupt = listen(SignalKind::interrupt())?;
        Ok(Self { interrupt, terminate: listen(SignalKind::terminate())? })
    }

    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Ctrl-C.
#[cfg(not(unix))]
pub(crate) struct Signals;

#[cfg(not(unix))]
impl Signals {
    pub(crate) fn listen() -> Result<Self> {
        Ok(Self)
    }

    pub(crate) async fn next(&mut self) {
        if let Err(error) = tokio::signal::ctrl_c().await {
            tracing::error!(%error, "Ctrl-C cannot be listened for");
            std::future::pending::<()>().await;
        }
    }
}
