//! Hands the store's wake-ups on to the pump.

use std::sync::Arc;

use queuekit_core::Result;
use queuekit_core::capability::Wakeup;
use tokio_util::sync::CancellationToken;

use crate::shared::Shared;

/// Subscribes to the worker's queues, where the store tells of work.
///
/// # Errors
/// `Closed`.
pub(crate) fn subscribe(shared: &Shared) -> Result<Option<Wakeup>> {
    let wakeups = shared.backend.capabilities().wakeups;
    wakeups.map(|wakeups| wakeups.subscribe(&shared.queues)).transpose()
}

/// In a task of its own: a wake-up often comes from a handler that enqueues, and the task it wakes
/// is next on the handler's thread and cannot leave it. Should the handler go on to block that
/// thread, only the hint waits, not the pump.
pub(crate) async fn relay(shared: Arc<Shared>, wakeup: Wakeup, stop: CancellationToken) {
    let relay = async {
        loop {
            wakeup.rung().await;
            shared.inbox.ring();
        }
    };
    tokio::select! {
        () = stop.cancelled() => {}
        () = relay => {}
    }
}
