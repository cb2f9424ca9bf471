//! Says that the worker is there.

use std::sync::Arc;
use std::time::Duration;

use queuekit_core::LeaseTtl;
use queuekit_core::capability::{Beat, BeatTtl, Served};

use super::beat_every;
use crate::shared::Shared;

/// How long an ended worker may take to say so.
const FAREWELL: Duration = Duration::from_millis(500);

pub(super) async fn beat(shared: &Arc<Shared>) {
    // Listed for three of it, however long the leases are.
    let ttl = BeatTtl::from(shared.ttl);
    loop {
        if let Some(leases) = shared.leases() {
            // Nothing depends on presence: the next beat is soon enough.
            if let Err(error) = leases.beat(&present(shared, ttl)).await {
                shared.store_error(&error);
            }
        }
        tokio::time::sleep(beat_every(ttl.get())).await;
    }
}

/// The last beat lets the worker go from the list soon, rather than after three leases: who looks
/// for queues that nobody serves must not find one that has ended.
pub(super) async fn farewell(shared: &Arc<Shared>) {
    let (Some(leases), Ok(soon)) = (shared.leases(), LeaseTtl::new(Duration::from_secs(1))) else {
        return;
    };
    let last = present(shared, soon.min(shared.ttl).into());
    // Whoever is not heard is listed a while longer.
    let _ = tokio::time::timeout(FAREWELL, leases.beat(&last)).await;
}

fn present(shared: &Arc<Shared>, ttl: BeatTtl) -> Beat {
    Beat {
        id: shared.id.clone(),
        name: shared.name.clone(),
        queues: Served::first(shared.queues.iter().cloned()),
        kinds: Served::first(shared.kinds.names()),
        slots: u32::try_from(shared.slots).unwrap_or(u32::MAX),
        running: u32::try_from(shared.registry.busy()).unwrap_or(u32::MAX),
        ttl,
    }
}
