//! Signals that stop the process.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use queuekit::workers::RunSummary;
use queuekit::{CancellationToken, RunningWorker};

use super::exit::Exit;
use super::systemd;

/// How long running jobs have to finish after the first signal.
const DRAIN: Duration = Duration::from_secs(30);
/// How long the process may still run after the second signal, to release jobs and close the store.
const FORCED: Duration = Duration::from_secs(5);

/// SIGTERM and SIGINT (Ctrl-C): the first stops the process in order, the second at once.
#[derive(Clone, Debug)]
pub(crate) struct Stop {
    pub(crate) asked: CancellationToken,
    pub(crate) forced: CancellationToken,
}

impl Stop {
    /// Starts to handle the signals, which otherwise end the process. A thread of their own waits
    /// for them: a task would never run while others block all threads of the runtime.
    pub(crate) fn listen() -> Result<Self> {
        let stop = Self { asked: CancellationToken::new(), forced: CancellationToken::new() };
        let told = stop.clone();
        let (listening, listens) = mpsc::sync_channel(1);
        let listen = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let listen = runtime.context("cannot listen for signals").and_then(|runtime| {
                let signals = runtime.block_on(async { Signals::listen() })?;
                Ok((runtime, signals))
            });
            match listen {
                Ok((runtime, signals)) => {
                    let _ = listening.send(Ok(()));
                    runtime.block_on(told.obey(signals));
                    std::process::exit(Exit::Failed as i32);
                }
                Err(error) => drop(listening.send(Err(error))),
            }
        };
        let thread = thread::Builder::new().name("signals".to_owned()).spawn(listen);
        thread.context("cannot start a thread for signals")?;
        listens.recv().context("the thread for signals has ended")??;
        Ok(stop)
    }

    /// Completes when the process must end although it has not.
    async fn obey(self, mut signals: Signals) {
        signals.next().await;
        systemd::stopping();
        tracing::info!(
            "stopping: work in progress is finished first; a second signal stops immediately"
        );
        self.asked.cancel();
        signals.next().await;
        self.forced.cancel();
        tokio::time::sleep(FORCED).await;
        tracing::error!("the process did not end within {FORCED:?} of a second signal: it exits");
    }

    /// Lets a worker run until it is asked to stop, then drains it. Jobs that take too long are
    /// released, and so are all after a second signal.
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

/// SIGHUP. Once this exists, the signal no longer ends the process.
#[cfg(unix)]
pub(crate) struct Hangups(tokio::signal::unix::Signal);

#[cfg(unix)]
impl Hangups {
    pub(crate) fn listen() -> Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        signal(SignalKind::hangup()).map(Self).context("cannot listen for signals")
    }

    pub(crate) async fn next(&mut self) {
        // `None` means that the runtime has ended.
        if self.0.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}

/// This system has no SIGHUP.
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

/// SIGTERM and SIGINT (Ctrl-C). Once this exists, they no longer end the process.
#[cfg(unix)]
pub(crate) struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    pub(crate) fn listen() -> Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let listen = |kind| signal(kind).context("cannot listen for signals");
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
            tracing::error!(%error, "cannot listen for Ctrl-C");
            std::future::pending::<()>().await;
        }
    }
}
