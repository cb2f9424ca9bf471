//! Keeps the store small.

use std::time::Duration;

use queuekit_core::capability::Upkeep;
use queuekit_core::retry::{chance, jittered};
use queuekit_core::{Backend, Error, Result};

/// Prunes and repairs in short steps until it is dropped; any number of processes may at once.
/// Ends by itself if the store keeps itself small.
pub(crate) async fn upkeep(store: &dyn Backend, every: Duration, failed: impl Fn(&Error)) {
    loop {
        tokio::time::sleep(jittered(every, chance())).await;
        let Some(upkeep) = store.capabilities().upkeep else {
            return;
        };
        if let Err(error) = keep_up(upkeep).await {
            failed(&error);
        }
    }
}

/// Prunes as long as there is more to prune, then repairs one step's worth. What open transactions
/// hold waits for the next time.
async fn keep_up(upkeep: &dyn Upkeep) -> Result<()> {
    while upkeep.prune().await?.more {
        tokio::task::yield_now().await;
    }
    upkeep.repair().await.map(drop)
}
