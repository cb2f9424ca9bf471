//! The store in lock-step with the plain state machine.

use queuekit_conformance::model::{self, Plan};

use crate::common::sqlite::SqliteHarness;

#[tokio::test]
async fn the_store_and_the_machine_answer_and_hold_the_same() {
    model::run(&SqliteHarness, Plan::rotated().share(20)).await;
}
