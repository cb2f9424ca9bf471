//! The signals that end a worker.

use queuekit_core::{Error, ErrorKind, Result};

/// SIGINT and SIGTERM; Ctrl-C where there are no signals.
pub(crate) struct Signals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
}

impl Signals {
    /// From now on the signals no longer end the process by themselves.
    #[cfg(unix)]
    pub(crate) fn listen() -> Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt()).map_err(deaf)?,
            terminate: signal(SignalKind::terminate()).map_err(deaf)?,
        })
    }

    #[cfg(not(unix))]
    pub(crate) fn listen() -> Result<Self> {
        Ok(Self {})
    }

    /// Waits for the next one.
    #[cfg(unix)]
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    #[cfg(not(unix))]
    pub(crate) async fn next(&mut self) {
        if let Err(error) = tokio::signal::ctrl_c().await {
            tracing::error!(error = %deaf(error), "Ctrl-C");
            std::future::pending::<()>().await;
        }
    }
}

fn deaf(error: std::io::Error) -> Error {
    let message = format!("cannot listen for signals: {error}");
    Error::new(ErrorKind::Unsupported, message)
}
