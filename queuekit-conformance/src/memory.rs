//! The in-memory store under the suite.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use queuekit_core::capability::Durability;
use queuekit_core::memory::MemoryStore;
use queuekit_core::{Backend, Clock, JobId, Limits, ManualClock};

use crate::kit::limits;
use crate::{Capability, Expect, Harness, World};

/// Opens in-memory stores on clocks that only the suite moves.
#[derive(Clone, Copy, Debug, Default)]
pub struct MemoryHarness;

#[async_trait]
impl Harness for MemoryHarness {
    async fn open(&self) -> Arc<dyn World> {
        let clock = ManualClock::default();
        // It is fast enough to make as many queues as stores allow.
        let limits = limits().with_queues(Limits::default().queues());
        let store = MemoryStore::with_clock_and_limits(clock.clone(), limits);
        Arc::new(MemoryWorld { backend: Arc::new(store.clone()), store, clock })
    }
}

#[derive(Debug)]
struct MemoryWorld {
    backend: Arc<dyn Backend>,
    store: MemoryStore,
    clock: ManualClock,
}

#[async_trait]
impl World for MemoryWorld {
    fn expect(&self) -> Expect {
        Expect {
            capabilities: &Capability::ALL,
            can_corrupt: true,
            can_rewind: true,
            clock_stands: true,
            // Clones share everything, also their close, so they are no second handle.
            second_handle: false,
            raw_dump: true,
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
        self.clock.set(self.clock.now().minus(by));
        true
    }

    async fn raw_dump(&self) -> Option<Vec<String>> {
        Some(self.store.raw_dump())
    }

    async fn corrupt(&self, id: JobId) -> bool {
        self.store.corrupt(id)
    }
}
