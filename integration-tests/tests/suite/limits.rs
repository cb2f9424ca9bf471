//! Limits that the suite's store does not have.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use queuekit_conformance::kit::{assert_keeps_the_largest_payload, limits};
use queuekit_conformance::{Capability, Expect, Harness, World, conformance};
use queuekit_core::capability::Durability;
use queuekit_core::limits::PAYLOAD_BYTES_HARD;
use queuekit_core::memory::MemoryStore;
use queuekit_core::{Backend, Limits, ManualClock};

/// A store that allows less of everything than most do.
struct LowHarness;

struct LowWorld {
    backend: Arc<dyn Backend>,
    clock: ManualClock,
}

#[async_trait]
impl Harness for LowHarness {
    async fn open(&self) -> Arc<dyn World> {
        let clock = ManualClock::default();
        let low = limits().with_enqueue_jobs(200).with_reserve_jobs(300).with_queues(50);
        let low = low.with_workers(10).with_schedules(100);
        let backend = Arc::new(MemoryStore::with_clock_and_limits(clock.clone(), low));
        Arc::new(LowWorld { backend, clock })
    }
}

#[async_trait]
impl World for LowWorld {
    fn expect(&self) -> Expect {
        Expect {
            capabilities: &Capability::ALL,
            atomic_across_queues: true,
            clock_stands: true,
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
}

conformance!(low, LowHarness);

#[tokio::test]
async fn r12_a_payload_of_16_mib_is_stored_whole() {
    let limits = Limits::default().with_payload_bytes(PAYLOAD_BYTES_HARD);
    let store = MemoryStore::with_clock_and_limits(ManualClock::default(), limits);
    assert_keeps_the_largest_payload(&store).await;
}
