//! Enqueues what schedules say is due.

use std::time::Duration;

use queuekit_core::retry::jittered;
use queuekit_core::schedule::tick;
use queuekit_core::{Backend, Error, Result};

use crate::shared::chance;

/// How soon a worker sees that somebody has made a schedule.
const EVERY: Duration = Duration::from_secs(5);

/// Ticks until it is dropped; any number of processes may at once (contract R15.2). Ends by itself
/// if the store keeps no schedules.
pub(crate) async fn schedules(store: &dyn Backend, failed: impl Fn(&Error)) {
    loop {
        let wait = match tick_all(store).await {
            Ok(Some(next_in)) => next_in.min(jittered(EVERY, chance())),
            Ok(None) => return,
            Err(error) => {
                failed(&error);
                jittered(EVERY, chance())
            }
        };
        tokio::time::sleep(wait).await;
    }
}

/// The time to the next occurrence; none if the store keeps no schedules.
async fn tick_all(store: &dyn Backend) -> Result<Option<Duration>> {
    loop {
        let Some(ticked) = tick(store).await? else { return Ok(None) };
        for (schedule, error) in &ticked.failed {
            tracing::warn!(%schedule, %error, "a schedule that is due enqueued nothing");
        }
        if !ticked.more {
            return Ok(Some(ticked.next_in.unwrap_or(EVERY)));
        }
        tokio::task::yield_now().await;
    }
}
