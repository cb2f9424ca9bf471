//! The in-memory store on a clock that runs.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use queuekit_core::capability::Durability;
use queuekit_core::memory::MemoryStore;
use queuekit_core::{Backend, JobId, OffsetClock};

use crate::kit::limits;
use crate::{Capability, Expect, Harness, World};

/// Opens in-memory stores whose time passes by itself, as workers need it.
#[derive(Clone, Copy, Debug, Default)]
pub struct LiveMemoryHarness;

#[async_trait]
impl Harness for LiveMemoryHarness {
    async fn open(&self) -> Arc<dyn World> {
        let clock = OffsetClock::default();
        let store = MemoryStore::with_clock_and_limits(clock.clone(), limits());
        let backend = Arc::new(store.clone());
        Arc::new(LiveMemory { backend, store, clock })
    }
}

struct LiveMemory {
    backend: Arc<dyn Backend>,
    store: MemoryStore,
    clock: OffsetClock,
}

#[async_trait]
impl World for LiveMemory {
    fn expect(&self) -> Expect {
        Expect {
            capabilities: &Capability::ALL,
            can_corrupt: true,
            can_rewind: true,
            clock_stands: false,
            atomic_across_queues: true,
            durability: Some(Durability::Nothing),
            ..Expect::TEN_OPERATIONS
        }
    }

    fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }

    async fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    async fn rewind(&self, by: Duration) -> bool {
        self.clock.rewind(by);
        true
    }

    async fn corrupt(&self, id: JobId) -> bool {
        self.store.corrupt(id)
    }
}
