//! The store in memory in lock-step with the plain state machine.

use queuekit_conformance::MemoryHarness;
use queuekit_conformance::model::{self, Beside, Plan};
use queuekit_core::lifecycle::Transition;

#[tokio::test]
async fn the_store_and_the_machine_agree_on_the_sequences_of_this_commit() {
    model::run(&MemoryHarness, Plan::rotated().share(4)).await;
}

/// The same sequences in every run: how often each transition is taken is asserted.
#[tokio::test]
async fn the_store_and_the_machine_answer_and_hold_the_same() {
    let coverage = model::run(&MemoryHarness, Plan::default()).await;
    for transition in Transition::ALL {
        let taken = coverage.of(transition);
        println!("{transition:?}: {taken}");
        assert!(taken >= 100, "{transition:?} was taken {taken} times; the sequences miss it");
    }
    for beside in Beside::ALL {
        let times = coverage.times(beside);
        println!("{beside:?}: {times}");
        assert!(times >= 100, "{beside:?} happened {times} times; the sequences miss it");
    }
}
