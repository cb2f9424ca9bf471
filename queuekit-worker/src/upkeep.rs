//! Keeps the store small.

use std::sync::Arc;
use std::time::Duration;

use queuekit_core::Result;
use queuekit_core::capability::Upkeep;
use queuekit_core::retry::jittered;
use tokio_util::sync::CancellationToken;

use crate::shared::{Shared, chance};

const EVERY: Duration = Duration::from_secs(10);

/// Prunes and repairs in short steps until it is stopped; any number of workers may at once.
pub(crate) async fn upkeep(shared: Arc<Shared>, stop: CancellationToken) {
    tokio::select! {
        () = stop.cancelled() => {}
        () = keep_for_ever(&shared) => {}
    }
}

async fn keep_for_ever(shared: &Shared) {
    loop {
        tokio::time::sleep(jittered(EVERY, chance())).await;
        let Some(upkeep) = shared.backend.capabilities().upkeep else {
            return;
        };
        if let Err(error) = keep_up(upkeep).await {
            shared.store_error(&error);
        }
    }
}

/// Prunes as long as there is more to prune, then repairs one step's worth.
async fn keep_up(upkeep: &dyn Upkeep) -> Result<()> {
    while upkeep.prune().await?.more {
        tokio::task::yield_now().await;
    }
    upkeep.repair().await.map(drop)
}
