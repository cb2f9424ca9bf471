//! Upkeep and schedules, for processes that run no jobs.

use std::sync::Arc;
use std::time::Duration;

use queuekit_core::{Backend, Client, Error, ErrorKind, Result};
use tokio::runtime::Handle;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::schedules::schedules;
use super::upkeep::upkeep;
use crate::state::rest::Rest;
use crate::state::settings::UPKEEP_EVERY;

/// Runs upkeep and enqueues the jobs of due schedules, until it is dropped (contract R13.7).
///
/// Every [`Worker`](crate::Worker) does this too, and any number of processes may do it at the same
/// time. Use a caretaker in a process that only enqueues, such as a server, so that schedules run
/// even without a worker.
///
/// ```
/// # use queuekit::{Client, memory::MemoryStore};
/// # use queuekit::workers::Caretaker;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> queuekit::Result<()> {
/// let client = Client::new(MemoryStore::new());
/// let caretaker = Caretaker::start(&client)?;
/// // .. serve ..
/// drop(caretaker);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "it ends when it is dropped"]
pub struct Caretaker {
    _stop: DropGuard,
}

impl Caretaker {
    /// Starts immediately, in a task.
    ///
    /// # Errors
    /// `Unsupported` outside a tokio runtime.
    pub fn start(client: &Client) -> Result<Self> {
        let runtime = Handle::try_current().map_err(|error| {
            let message = "a caretaker needs a tokio runtime; call it inside `#[tokio::main]`";
            Error::new(ErrorKind::Unsupported, message).caused_by(error)
        })?;
        let stop = CancellationToken::new();
        let failed = |error: &Error| tracing::warn!(%error, "a call of the store failed");
        let store = Arc::clone(client.backend());
        // It never rests.
        let rest = Arc::new(Rest::default());
        runtime.spawn(take_care(store, UPKEEP_EVERY, rest, stop.clone(), failed));
        Ok(Self { _stop: stop.drop_guard() })
    }
}

/// Does both until it is stopped; calls `failed` for each call that will be repeated.
pub(crate) async fn take_care(
    store: Arc<dyn Backend>,
    upkeep_every: Duration,
    rest: Arc<Rest>,
    stop: CancellationToken,
    failed: impl Fn(&Error) + Send + Sync,
) {
    let upkeep = upkeep(&*store, upkeep_every, &rest, &failed);
    let care = async { tokio::join!(upkeep, schedules(&*store, &rest, &failed)) };
    tokio::select! {
        () = stop.cancelled() => {}
        _ = care => {}
    }
}

#[cfg(test)]
mod tests {
    use queuekit_core::memory::MemoryStore;
    use queuekit_core::{JobDraft, ScheduleDraft};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn r13_7_schedules_run_though_no_worker_does_until_it_is_dropped() {
        let clock = queuekit_core::ManualClock::default();
        let client = Client::new(MemoryStore::with_clock(clock.clone()));
        let every = ScheduleDraft::every("beat", Duration::from_secs(60), JobDraft::new("b", "1"));
        client.schedule(every).await.unwrap();
        let jobs = async || client.backend().list_jobs(&Default::default()).await.unwrap().items;
        let caretaker = Caretaker::start(&client).unwrap();
        clock.advance(Duration::from_secs(61));
        while jobs().await.is_empty() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        drop(caretaker);
        clock.advance(Duration::from_secs(60));
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(jobs().await.len(), 1);
    }
}
