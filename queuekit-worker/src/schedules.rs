//! Enqueues what schedules say is due.

use std::sync::Arc;
use std::time::Duration;

use queuekit_core::Result;
use queuekit_core::retry::jittered;
use queuekit_core::schedule::tick;
use tokio_util::sync::CancellationToken;

use crate::shared::{Shared, chance};

/// How soon a worker sees that somebody has made a schedule.
const EVERY: Duration = Duration::from_secs(5);

/// Ticks until it is stopped; any number of workers may at once (contract R15.2).
pub(crate) async fn schedules(shared: Arc<Shared>, stop: CancellationToken) {
    tokio::select! {
        () = stop.cancelled() => {}
        () = tick_for_ever(&shared) => {}
    }
}

async fn tick_for_ever(shared: &Shared) {
    loop {
        let wait = match tick_all(shared).await {
            Ok(Some(next_in)) => next_in.min(jittered(EVERY, chance())),
            Ok(None) => return,
            Err(error) => {
                shared.store_error(&error);
                jittered(EVERY, chance())
            }
        };
        tokio::time::sleep(wait).await;
    }
}

/// The time to the next occurrence; none if the store keeps no schedules.
async fn tick_all(shared: &Shared) -> Result<Option<Duration>> {
    loop {
        let Some(ticked) = tick(&*shared.backend).await? else { return Ok(None) };
        for (schedule, error) in &ticked.failed {
            tracing::warn!(%schedule, %error, "a schedule that is due enqueued nothing");
        }
        if !ticked.more {
            return Ok(Some(ticked.next_in.unwrap_or(EVERY)));
        }
        tokio::task::yield_now().await;
    }
}
