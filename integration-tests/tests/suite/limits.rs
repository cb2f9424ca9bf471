//! Limits that the suite's store does not have.

use queuekit_core::limits::PAYLOAD_BYTES_HARD;
use queuekit_core::memory::MemoryStore;
use queuekit_core::{Limits, ManualClock};
use queuekit_integration_tests::kit::assert_keeps_the_largest_payload;

#[tokio::test]
async fn r12_a_payload_of_16_mib_is_stored_whole() {
    let limits = Limits::default().with_payload_bytes(PAYLOAD_BYTES_HARD);
    let store = MemoryStore::with_clock_and_limits(ManualClock::default(), limits);
    assert_keeps_the_largest_payload(&store).await;
}
