//! The thread on which the store's connections live.
//!
//! Connections are read and written by a runtime of the store's own, so that they survive whatever
//! happens to the application's: handlers that block it, heartbeats on another runtime, its end.

use std::future::Future;
use std::thread;

use queuekit_core::{Error, ErrorKind, Result};
use tokio::runtime::{Builder, Handle};
use tokio::sync::watch;

/// Ends the thread when the last clone of the store is dropped, or on request.
#[derive(Debug)]
pub(crate) struct Io {
    handle: Handle,
    stop: watch::Sender<bool>,
    stopped: watch::Receiver<()>,
}

impl Io {
    pub(crate) fn start() -> Result<Self> {
        let runtime = Builder::new_current_thread().enable_io().enable_time().build();
        let runtime = runtime.map_err(unavailable)?;
        let handle = runtime.handle().clone();
        let (stop, mut stopping) = watch::channel(false);
        let (ends, stopped) = watch::channel(());
        let run = move || {
            // Returns when the sender asks it to stop, and also when the sender is gone.
            runtime.block_on(async { drop(stopping.wait_for(|stop| *stop).await) });
            runtime.shutdown_background();
            drop(ends);
        };
        let thread = thread::Builder::new().name("queuekit-redis".to_owned()).spawn(run);
        thread.map_err(unavailable)?;
        Ok(Self { handle, stop, stopped })
    }

    pub(crate) fn handle(&self) -> &Handle {
        &self.handle
    }

    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.handle.spawn(task);
    }

    /// Ends the thread, with its tasks and sockets.
    pub(crate) async fn stop(&self) {
        self.stop.send_replace(true);
        // Nothing is ever sent: the channel closes when the thread ends.
        drop(self.stopped.clone().changed().await);
    }
}

impl Drop for Io {
    fn drop(&mut self) {
        self.stop.send_replace(true);
    }
}

fn unavailable(error: std::io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, "cannot start a thread").caused_by(error)
}
