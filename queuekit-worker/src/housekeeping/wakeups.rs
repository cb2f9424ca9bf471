//! Hands the store's wake-ups on to the pump.

use std::sync::Arc;

use queuekit_core::Result;
use queuekit_core::capability::Wakeup;
use tokio_util::sync::CancellationToken;

use crate::state::shared::Shared;

/// The store's notifications about the worker's queues.
pub(crate) struct Subscribed {
    pub(crate) work: Wakeup,
    pub(crate) cancels: Wakeup,
}

/// Subscribes to the worker's queues, where the store notifies of them.
///
/// # Errors
/// `Closed`.
pub(crate) fn subscribe(shared: &Shared) -> Result<Option<Subscribed>> {
    let Some(wakeups) = shared.backend().capabilities().wakeups else { return Ok(None) };
    let queues = &shared.settings.queues;
    let (work, cancels) = (wakeups.subscribe(queues)?, wakeups.subscribe_cancels(queues)?);
    Ok(Some(Subscribed { work, cancels }))
}

/// In a task of its own: a wake-up often comes from a handler that enqueues, and the task it wakes
/// is next on the handler's thread and cannot leave it. If the handler then blocks that thread,
/// only the hint waits, not the pump.
pub(crate) async fn relay(shared: Arc<Shared>, wakeup: Wakeup, stop: CancellationToken) {
    let relay = async {
        loop {
            wakeup.rung().await;
            shared.inbox().ring();
        }
    };
    tokio::select! {
        () = stop.cancelled() => {}
        () = relay => {}
    }
}
