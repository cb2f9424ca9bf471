//! The store in lock-step with the plain state machine.

use queuekit_integration_tests::model::{self, Plan};

use crate::common::sqlite::SqliteHarness;

/// A share of the sequences of the store in memory, so that the stores are in lock-step with each
/// other too.
#[tokio::test]
async fn the_store_and_the_machine_answer_and_hold_the_same() {
    model::run(&SqliteHarness, Plan::default().share(7)).await;
}
