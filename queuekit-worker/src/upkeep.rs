//! Keeps the store small.

use std::sync::Arc;
use std::time::Duration;

use queuekit_core::retry::jittered;
use tokio_util::sync::CancellationToken;

use crate::shared::{Shared, chance};

const EVERY: Duration = Duration::from_secs(10);

/// Prunes in short steps until it is stopped; any number of workers may at once.
pub(crate) async fn upkeep(shared: Arc<Shared>, stop: CancellationToken) {
    tokio::select! {
        () = stop.cancelled() => {}
        () = prune_for_ever(&shared) => {}
    }
}

async fn prune_for_ever(shared: &Shared) {
    loop {
        tokio::time::sleep(jittered(EVERY, chance())).await;
        let Some(upkeep) = shared.backend.capabilities().upkeep else {
            return;
        };
        loop {
            match upkeep.prune().await {
                Ok(step) if step.more => tokio::task::yield_now().await,
                Ok(_) => break,
                Err(error) => {
                    shared.store_error(&error);
                    break;
                }
            }
        }
    }
}
