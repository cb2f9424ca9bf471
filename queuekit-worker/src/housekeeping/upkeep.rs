//! Keeps the store small, and its history going.

use std::time::Duration;

use queuekit_core::capability::Upkeep;
use queuekit_core::history::Resolution;
use queuekit_core::retry::{chance, jittered};
use queuekit_core::{Backend, Clock, Error, Result, SystemClock};

use crate::state::rest::Rest;

/// Prunes and repairs in short steps until it is dropped; any number of processes may at once.
/// Ends by itself if the store keeps itself small.
pub(crate) async fn upkeep(
    store: &dyn Backend,
    every: Duration,
    rest: &Rest,
    failed: impl Fn(&Error),
) {
    let (clock, mut recorded) = (SystemClock::default(), None);
    loop {
        tokio::time::sleep(jittered(every, chance())).await;
        let _call = rest.call().await;
        // Each process asks once a minute; the first in the store's minute records it.
        let minute = Some(Resolution::Minute.start_of(clock.now()));
        if let Some(history) = store.capabilities().history.filter(|_| recorded != minute) {
            recorded = minute;
            if let Err(error) = history.record_totals().await {
                failed(&error);
            }
        }
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
        // A store that answers without waiting must leave other tasks their turn.
        tokio::task::yield_now().await;
    }
    upkeep.repair().await.map(drop)
}
