//! The memory store in lock-step with the plain state machine.

use queuekit_core::lifecycle::Transition;
use queuekit_integration_tests::MemoryHarness;
use queuekit_integration_tests::model::{self, Plan};

#[tokio::test]
async fn memory_and_the_machine_answer_and_hold_the_same() {
    let coverage = model::run(&MemoryHarness, Plan::default()).await;
    for transition in Transition::ALL {
        let taken = coverage.of(transition);
        println!("{transition:?}: {taken}");
        assert!(taken >= 100, "{transition:?} was taken {taken} times; the sequences miss it");
    }
}
