//! Keeps leases alive from a thread of its own, which no handler can starve.

mod about;
mod beat;
mod extend;
mod orders;
mod report;
mod watch;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use queuekit_core::capability::Wakeup;
use queuekit_core::limits::BEAT_EVERY;
use queuekit_core::{Error, ErrorKind, LeaseTtl, Result};
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::state::shared::Shared;

/// How often leases and timeouts are looked at, at least.
pub(crate) const LOOK: Duration = Duration::from_millis(250);

/// Leases of tests may be of any length.
const SHORTEST: Duration = Duration::from_millis(5);

/// The thread; it ends when this is stopped or dropped.
pub(crate) struct Heartbeat {
    stop: CancellationToken,
    ended: Option<oneshot::Receiver<()>>,
}

impl Heartbeat {
    /// Starts the thread.
    ///
    /// # Errors
    /// `Unavailable` if the system gives no thread.
    pub(crate) fn start(shared: Arc<Shared>, cancels: Option<Wakeup>) -> Result<Self> {
        let stop = CancellationToken::new();
        let (ending, ended) = oneshot::channel();
        let unavailable = |error: std::io::Error| {
            let message = format!("cannot start the thread for heartbeats: {error}");
            Error::new(ErrorKind::Unavailable, message).during("start")
        };
        // Built here and not in the thread, so that a failure reaches the caller.
        let runtime = Builder::new_current_thread().enable_all().build().map_err(unavailable)?;
        let stopped = stop.clone();
        let body = move || {
            while !stopped.is_cancelled() {
                let beating = async {
                    tokio::join!(
                        stopped.run_until_cancelled(keep(&shared, cancels.as_ref())),
                        // It sees the stop itself, because it has a farewell to send.
                        beat::beat(&shared, &stopped),
                    )
                };
                let beating = catch_unwind(AssertUnwindSafe(|| runtime.block_on(beating)));
                // Without heartbeats every lease would be lost, so the loop begins again.
                if beating.is_err() {
                    tracing::error!(
                        "a heartbeat panicked, most likely in the store; heartbeats \
                                     continue"
                    );
                    // A store that panics every time must not keep a core busy.
                    std::thread::sleep(LOOK);
                }
            }
            drop(ending);
        };
        let thread = std::thread::Builder::new().name("queuekit-beat".to_owned());
        thread.spawn(body).map_err(unavailable)?;
        let ended = Some(ended);
        Ok(Self { stop, ended })
    }

    /// Ends the thread and waits for its end.
    pub(crate) async fn stop(mut self) {
        self.stop.cancel();
        if let Some(ended) = self.ended.take() {
            // The sender is dropped at the end; nothing is ever sent. A call of the store that
            // blocks the thread is not waited for.
            let _ = tokio::time::timeout(beat::FAREWELL + LOOK, ended).await;
        }
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

async fn keep(shared: &Arc<Shared>, cancels: Option<&Wakeup>) {
    let extend = extend::extend(shared, cancels);
    tokio::join!(watch::watch(shared), extend, report::report(shared));
}

/// How often to look at leases of this length.
fn look_every(ttl: Duration) -> Duration {
    // A lease is extended at a third of its time, so this looks four times before.
    (ttl / 12).clamp(SHORTEST, LOOK)
}

/// How often a worker with leases of this length beats: often enough that an order reaches it soon
/// (contract R3.9).
pub(crate) fn beat_interval(ttl: LeaseTtl) -> Duration {
    beat_every(ttl.get()).min(BEAT_EVERY)
}

/// Three times per lease.
fn beat_every(ttl: Duration) -> Duration {
    (ttl / 3).max(SHORTEST)
}
