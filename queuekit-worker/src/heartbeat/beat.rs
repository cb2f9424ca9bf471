//! Says that the worker is there.

use std::sync::Arc;

use queuekit_core::capability::Beat;

use super::beat_every;
use crate::shared::Shared;

pub(super) async fn beat(shared: &Arc<Shared>) {
    loop {
        if let Some(leases) = shared.leases() {
            let beat = Beat {
                id: shared.id.clone(),
                name: shared.name.clone(),
                queues: shared.queues.clone(),
                kinds: shared.kinds.names().into_iter().cloned().collect(),
                slots: u32::try_from(shared.slots).unwrap_or(u32::MAX),
                running: u32::try_from(shared.registry.busy()).unwrap_or(u32::MAX),
                ttl: shared.ttl,
            };
            // Nothing depends on presence: the next beat is soon enough.
            if let Err(error) = leases.beat(&beat).await {
                shared.store_error(&error);
            }
        }
        tokio::time::sleep(beat_every(shared.ttl.get())).await;
    }
}
